package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestObserveReadsEveryKind(t *testing.T) {
	t.Parallel()
	type seen struct {
		Replicas  int64
		GPUs      int64
		Suspend   bool
		Image     string
		Queue     string
		Autoscale *manifest.Autoscale
		Ray       *manifest.Distribute
	}
	const ours = manifest.DefaultImage
	for name, want := range map[string]seen{
		"distributed": {Replicas: 4, GPUs: 1, Image: ours, Queue: "research"},
		"ray": {Replicas: 3, Image: ours, Ray: &manifest.Distribute{Type: "ray", Workers: 3,
			Args: map[string]any{"rayVersion": "2.8.0"}}},
		"ray-alone-suspended": {Replicas: 1, Suspend: true, Image: ours,
			Ray: &manifest.Distribute{Type: "ray", Workers: 1, Args: map[string]any{"rayVersion": "2.46.0"}}},
		"ray-on-gpus-in-a-queue": {Replicas: 5, GPUs: 8, Image: ours, Queue: "research",
			Ray: &manifest.Distribute{Type: "ray", Workers: 5, Args: map[string]any{"rayVersion": "2.8.0"}}},
		"knative-every-way": {Image: ours, Autoscale: &manifest.Autoscale{
			MinScale: new(int64(0)), MaxScale: new(int64(10)), InitialScale: new(int64(2)),
			Target: new(int64(5)), TargetUtilization: new(int64(70)), Metric: "rps", Window: "90s",
			Concurrency: new(int64(20)), ScaleDownDelay: "15m", ScaleToZeroPodRetentionPeriod: "1m5s",
			AutoscalerClass: "kpa.autoscaling.knative.dev", ProgressDeadline: "12h",
			ExtraAnnotations: map[string]string{"activation-scale": "2"},
		}},
		"knative-suspended": {Image: ours, Suspend: true, Autoscale: &manifest.Autoscale{
			MinScale: new(int64(0)), ScaleDownDelay: "0s", ScaleToZeroPodRetentionPeriod: "0s",
			AutoscalerClass: "kpa.autoscaling.knative.dev", ProgressDeadline: "18m",
		}},
		"manifest-deployment":                {Replicas: 3, Image: "registry.example/mine:1"},
		"manifest-own-command":               {Replicas: 2, GPUs: 4, Image: ours},
		"manifest-statefulset":               {Replicas: 2, Image: ours},
		"manifest-replicaset":                {Replicas: 0, Image: ours},
		"manifest-daemonset":                 {Suspend: true, Image: ours},
		"manifest-pod":                       {Image: ours},
		"manifest-job":                       {Replicas: 3, Suspend: true, Image: ours},
		"manifest-cronjob":                   {Suspend: true, Image: ours},
		"manifest-jobset":                    {Replicas: 5, Image: ours, Queue: "research"},
		"manifest-leaderworkerset":           {Replicas: 8, GPUs: 8, Image: ours},
		"manifest-leaderworkerset-suspended": {Replicas: 0, Image: ours},
		"manifest-raycluster": {Replicas: 6, GPUs: 1, Image: "rayproject/ray:2.46.0",
			Ray: &manifest.Distribute{Type: "ray", Workers: 6, Args: map[string]any{"rayVersion": "2.46.0"}}},
		"manifest-pytorchjob": {Replicas: 4, GPUs: 1, Suspend: true, Image: "pytorch/pytorch:2.7.1", Queue: "research"},
		"manifest-tfjob":      {Replicas: 5, Suspend: true, Image: ours},
		"manifest-mxjob":      {Replicas: 4, Image: ours},
		"manifest-xgboostjob": {Replicas: 3, Image: ours, Queue: "research"},
		"manifest-workflow":   {Image: ours},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ok := kindGoldens(t)[name]
			if !ok {
				t.Fatal("there is no such golden compute")
			}
			got := manifest.Observe(render(t, c)[0], c.PodTemplatePath...)
			if diff := cmp.Diff(want, seen{
				Replicas: got.Replicas, GPUs: got.GPUs, Suspend: got.Suspend, Image: got.Image,
				Queue: got.QueueName, Autoscale: got.Autoscale, Ray: got.Distribute,
			}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.Name != c.Name || got.ServiceAccountName != manifest.DefaultServiceAccount ||
				got.Username != c.Username {
				t.Errorf("observed %+v", got)
			}
		})
	}
}

func TestObserveReadsTheImageSetup(t *testing.T) {
	t.Parallel()
	got := manifest.Observe(render(t, kindGoldens(t)["image-set-up"])[0])
	want := &manifest.ImageSetup{ConfigMap: "kt-image-train", Digest: "sha256:abc"}
	if diff := cmp.Diff(want, got.ImageSetup); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if want := []manifest.VolumeRef{{ClaimName: "image-setup", MountPath: "/data"}}; !cmp.Equal(got.Volumes, want) {
		t.Errorf("volumes are %v, want %v", got.Volumes, want)
	}
}

// The selectors of routes are not an endpoint.
func TestObserveEndpointOfEveryKind(t *testing.T) {
	t.Parallel()
	services := 0
	for name, c := range kindGoldens(t) {
		for _, o := range render(t, c) {
			if manifest.RoleOf(o.GroupVersionKind()) != manifest.RoleService {
				continue
			}
			services++
			var want *manifest.Endpoint
			if c.Manifest == nil && len(c.Selector) > 0 {
				want = &manifest.Endpoint{Selector: c.Selector}
			}
			if diff := cmp.Diff(want, manifest.ObserveEndpoint(o)); diff != "" {
				t.Errorf("%s, %s: -want +got:\n%s", name, manifest.Key(o), diff)
			}
		}
	}
	if services == 0 {
		t.Error("no kind has a Service")
	}
	if got := manifest.ObserveEndpoint(nil); got != nil {
		t.Errorf("no Service selects %v", got)
	}
	if got := manifest.ObserveEndpoint(&unstructured.Unstructured{}); got != nil {
		t.Errorf("an empty Service selects %v", got)
	}
}

// No attribute can set them, because Knative has probes of its own.
func TestProbesOfAKnativeServiceAreNotObserved(t *testing.T) {
	t.Parallel()
	service := render(t, minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} }))[0]
	containers := []any{map[string]any{
		"name": "kubetorch", "image": "a:1",
		"ports":          []any{map[string]any{"name": "metrics", "containerPort": int64(9090)}},
		"readinessProbe": map[string]any{"tcpSocket": map[string]any{"port": int64(1)}},
		"lifecycle":      map[string]any{"preStop": map[string]any{"sleep": map[string]any{"seconds": int64(5)}}},
	}}
	kind.SetAt(service.Object, []string{"spec", "template", "spec", "containers"}, containers)
	if got := manifest.Observe(service); got.Probes != nil || got.PreStop != nil || got.Ports != nil {
		t.Errorf("observed %+v, %+v and %+v", got.Probes, got.PreStop, got.Ports)
	}
}
