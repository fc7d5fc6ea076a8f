package manifest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// manifestGoldens returns computes with the manifests of testdata/manifests.
func manifestGoldens(tb testing.TB) map[string]manifest.Compute {
	tb.Helper()
	all := map[string]manifest.Compute{}
	for name, change := range map[string]func(*manifest.Compute){
		"deployment": func(c *manifest.Compute) {
			c.GPUAntiAffinity = true
			c.CPUs, c.Memory = quantity(tb, "4"), quantity(tb, "4Gi")
			c.NodeSelector = map[string]string{"pool": "spot", "zone": "b"}
			c.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: "Equal", Value: "ml"},
				{Key: "spot", Operator: "Exists"}}
			c.Volumes = []manifest.VolumeRef{{ClaimName: "data", MountPath: "/data"}}
			c.EnvVars = map[string]string{"A": "1"}
		},
		"own-command": func(c *manifest.Compute) {
			c.GPUs, c.Replicas, c.ReplicasGiven, c.Registered = 1, 2, true, true
		},
		"statefulset": func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Workers: 2}
			c.Registered = true
		},
		"daemonset":  func(c *manifest.Compute) { c.Suspend = true },
		"replicaset": func(c *manifest.Compute) { c.Suspend = true },
		"pod":        func(c *manifest.Compute) { c.Labels = map[string]string{"team": "ml"} },
		"job":        func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven, c.Suspend = 3, true, true },
		"cronjob":    func(c *manifest.Compute) { c.Suspend = true },
		"jobset":     func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven, c.QueueName = 5, true, "research" },
		"leaderworkerset": func(c *manifest.Compute) {
			c.Distribute, c.GPUs, c.Registered = &manifest.Distribute{Workers: 8}, 8, true
		},
		"leaderworkerset-suspended": func(c *manifest.Compute) { c.Suspend = true },
		"knative": func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{MinScale: new(int64(1))}
			c.Registered = true
		},
		"raycluster": func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven = 6, true; c.GPUs = 1 },
		"rayjob": func(c *manifest.Compute) {
			c.Replicas, c.ReplicasGiven, c.GPUs = 3, true, 1
			c.QueueName, c.HeldByQueue = "research", true
		},
		"pytorchjob": func(c *manifest.Compute) {
			c.Replicas, c.ReplicasGiven, c.GPUs = 4, true, 1
			c.QueueName, c.HeldByQueue, c.Registered = "research", true, true
		},
		"tfjob":      func(c *manifest.Compute) { c.Suspend, c.Registered = true, true },
		"mxjob":      func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven = 4, true },
		"xgboostjob": func(c *manifest.Compute) { c.QueueName = "research" },
		"workflow":   func(c *manifest.Compute) { c.PodTemplatePath = []string{"spec", "templates", "0", "pod"} },
	} {
		c := minimal(change)
		c.Manifest = manifestFile(tb, name)
		all["manifest-"+name] = c
	}
	return all
}

func manifestFile(tb testing.TB, name string) map[string]any {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "manifests", name+".yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	return fromYAML(tb, string(text))
}

func fromYAML(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return m
}

func TestManifestOfTheUserTakesPrecedence(t *testing.T) {
	t.Parallel()
	for name, c := range manifestGoldens(t) {
		if c.Suspend {
			continue // which overrules the manifest
		}
		got := leaves(render(t, c)[0].Object)
		for pointer, want := range leaves(manifest.Normalize(&unstructured.Unstructured{Object: c.Manifest})) {
			if diff := cmp.Diff(want, got[pointer]); diff != "" {
				t.Errorf("%s: %s (-manifest +rendered):\n%s", name, pointer, diff)
			}
		}
	}
}

func TestRenderingARenderedManifestChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range manifestGoldens(t) {
		once := render(t, c)
		c.Manifest = once[0].Object
		if diff := cmp.Diff(once, render(t, c)); diff != "" {
			t.Errorf("%s: -once +twice:\n%s", name, diff)
		}
	}
}

func TestRenderRejectsInvalidManifests(t *testing.T) {
	t.Parallel()
	const deployment = "{apiVersion: apps/v1, kind: Deployment"
	asked := func(n int64) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven = n, true }
	}
	distributed := func(way string, n int64) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{Type: way, Workers: n} }
	}
	nothing := func(*manifest.Compute) {}
	for name, tc := range map[string]struct {
		manifest  string
		change    func(*manifest.Compute)
		attribute string
		says      string
	}{
		"nothing": {"{}", nothing, "manifest", "no apiVersion or no kind"},
		"an unknown kind": {"{apiVersion: example.com/v1, kind: Workflow}", nothing, "manifest",
			"set pod_template_path"},
		"another version": {"{apiVersion: ray.io/v1alpha1, kind: RayCluster}", nothing, "manifest",
			"is a RayCluster of ray.io/v1alpha1: use the one of ray.io/v1"},
		"a path that is known": {deployment + "}",
			func(c *manifest.Compute) { c.PodTemplatePath = []string{"spec", "pod"} }, "pod_template_path",
			"is spec.pod"},
		"a path that leads nowhere": {"{apiVersion: a/v1, kind: B, spec: {list: []}}",
			func(c *manifest.Compute) { c.PodTemplatePath = []string{"spec", "list", "0"} }, "pod_template_path",
			"manifest has no object at spec.list.0"},
		"another name": {deployment + ", metadata: {name: other}}", nothing, "manifest",
			"sets metadata.name to other, but it must be svc here"},
		"another namespace": {deployment + ", metadata: {namespace: other}}", nothing, "manifest",
			"metadata.namespace"},
		"another service": {deployment + ", metadata: {labels: {kubetorch.com/service: x}}}", nothing, "manifest",
			"it contains the name of the compute"},
		"another service in its pods": {deployment +
			", spec: {template: {metadata: {labels: {kubetorch.com/service: x}}}}}", nothing, "manifest",
			"spec.template.metadata.labels.kubetorch.com/service"},
		"another manager": {deployment + ", metadata: {labels: {app.kubernetes.io/managed-by: helm}}}", nothing,
			"manifest", "the provider finds its objects with it"},
		"another user": {deployment + ", metadata: {labels: {kubetorch.com/username: bob}}}", nothing, "manifest",
			"it is set from username of the provider"},
		"another queue": {deployment + ", metadata: {labels: {kueue.x-k8s.io/queue-name: b}}}",
			func(c *manifest.Compute) { c.QueueName = "a" }, "manifest", "it is set from queue_name"},
		"a selector of other pods": {deployment + ", spec: {selector: {matchLabels: {app: x}}}}", nothing, "manifest",
			"spec.selector selects the pods with it"},
		"a selector of another": {deployment + ", spec: {selector: {matchLabels: {kubetorch.com/service: x}}}}",
			nothing, "manifest", "spec.selector.matchLabels.kubetorch.com/service"},
		"a status": {deployment + ", status: {replicas: 1}}", nothing, "manifest", "sets status"},
		"a live object": {deployment + ", metadata: {uid: a, creationTimestamp: null}}", nothing, "manifest",
			"sets metadata.uid"},
		"a spec that is a list": {deployment + ", spec: []}", nothing, "manifest", "a value that is not a map at spec"},
		"containers that are text": {deployment + ", spec: {template: {spec: {containers: x}}}}", nothing, "manifest",
			"no list at spec.template.spec.containers"},
		"a job without pods": {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob}", nothing, "manifest",
			"is a PyTorchJob without pods"},
		"groups that are uneven": {"{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: " +
			"{replicas: 2}}", asked(3), "replicas", "2 at a time"},
		"a JobSet without jobs": {"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet}", asked(2), "manifest",
			"is a JobSet without pods"},
		"another number": {deployment + ", spec: {replicas: 3}}", asked(2), "replicas",
			"requests 2 pods, but manifest runs 3 (spec.replicas)"},
		"another number of workers": {deployment + ", spec: {replicas: 3}}", distributed("spmd", 2),
			"distribute.workers", "requests 2 pods, but manifest runs 3"},
		"another number of Ray nodes": {"{apiVersion: ray.io/v1, kind: RayCluster, spec: {workerGroupSpecs: " +
			"[{replicas: 3}]}}", distributed("ray", 3), "distribute.workers", "requests 3 pods, but manifest runs 4"},
		"another number of completion": {"{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, completions: 4}}",
			asked(2), "replicas", "requests 2 pods, but manifest runs 2 (spec.parallelism)"},
		"fewer than others there are": {"{apiVersion: kubeflow.org/v1, kind: TFJob, spec: {tfReplicaSpecs: {PS: " +
			"{replicas: 3}, Worker: {}}}}", asked(2), "replicas",
			"has 3 in addition to those at spec.tfReplicaSpecs.Worker.replicas"},
		"a part of a host group": {"{apiVersion: ray.io/v1, kind: RayCluster, spec: {workerGroupSpecs: [{numOfHosts: " +
			"4}]}}", asked(4), "replicas", "which are added 4 at a time"},
		"a number of Pods": {"{apiVersion: v1, kind: Pod}", asked(2), "replicas",
			"the provider cannot set the number of pods of a Pod"},
		"a number of daemons": {"{apiVersion: apps/v1, kind: DaemonSet}", asked(2), "replicas",
			"of a DaemonSet"},
		"a number of scheduled pods": {"{apiVersion: batch/v1, kind: CronJob}", asked(2), "replicas", "of a CronJob"},
		"a number of Knative's pods": {"{apiVersion: serving.knative.dev/v1, kind: Service}", asked(2), "replicas",
			"of a Service"},
		"no pods of a Ray cluster": {"{apiVersion: ray.io/v1, kind: RayCluster}", asked(0), "replicas",
			"has no workers in addition to its 1"},
		"a suspended Pod": {"{apiVersion: v1, kind: Pod}", func(c *manifest.Compute) { c.Suspend = true }, "suspend",
			"cannot suspend a Pod"},
		"a scaled Deployment": {deployment + "}", func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} },
			"manifest", "manifest and autoscale cannot both be set"},
		"Ray in a Deployment": {deployment + "}", distributed("ray", 2), "distribute.type",
			"but manifest has the mode deployment"},
		"workers of Knative": {"{apiVersion: serving.knative.dev/v1, kind: Service}", distributed("spmd", 2),
			"distribute", "distribute requires a fixed number of workers, but manifest is a Knative"},
		"a template that orphans workers": {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: " +
			"{pytorchReplicaSpecs: {Master: {}, Worker: {}}}}", func(c *manifest.Compute) {
			c.ServiceTemplate = fromJSON(t, `{"spec": {"pytorchReplicaSpecs": {"Worker": {"template": {"metadata": `+
				`{"labels": {"kubetorch.com/service": "x"}}}}}}}`)
		}, "service_template",
			"changes spec.pytorchReplicaSpecs.Worker.template.metadata.labels.kubetorch.com/service"},
		"a template that loses the container": {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: " +
			"{pytorchReplicaSpecs: {Master: {}}}}", func(c *manifest.Compute) {
			c.ServiceTemplate = fromJSON(t,
				`{"spec": {"pytorchReplicaSpecs": {"Master": {"template": {"spec": {"containers": []}}}}}}`)
		}, "service_template", "removes the container pytorch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal(tc.change)
			c.Manifest = fromYAML(t, tc.manifest)
			refused(t, c, tc.attribute, tc.says)
		})
	}
}

// refused checks that a compute has a problem at an attribute, and that it has none while the attribute is unknown.
func refused(t *testing.T, c manifest.Compute, attribute, says string) {
	t.Helper()
	errs := manifest.Validate(c, func(manifest.Path) bool { return false })
	if !slices.ContainsFunc(errs, func(e *manifest.AttributeError) bool {
		return e.Path.String() == attribute && strings.Contains(e.Detail, says)
	}) {
		t.Errorf("says\n%v\nwant %s to say %q", errs, attribute, says)
	}
	unknown := func(at manifest.Path) bool { return at.String() == attribute }
	for _, e := range manifest.Validate(c, unknown) {
		if e.Path.String() == attribute {
			t.Errorf("%s is unknown, but is said to be wrong: %v", attribute, e)
		}
	}
}

func FuzzManifest(f *testing.F) {
	files, err := filepath.Glob("testdata/manifests/*.yaml")
	if err != nil || len(files) == 0 {
		f.Fatalf("no manifests to begin with: %v", err)
	}
	for _, file := range files {
		f.Add(toJSON(f, manifestFile(f, strings.TrimSuffix(filepath.Base(file), ".yaml"))))
	}
	for _, seed := range []string{
		`{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"containers": [null, 1,
			{"name": "kubetorch", "env": [[], {"name": 1}], "ports": [{"containerPort": "x"}]}]}}}}`,
		`{"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"serviceName": 1,
			"template": {"spec": {"tolerations": {}, "volumes": [{"name": "dshm"}, {"name": "dshm"}]}}}}`,
		`{"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"workerGroupSpecs": [null, {"template": 1}]}}`,
		`{"apiVersion": "batch/v1", "kind": "Job",
			"spec": {"template": {"spec": {"affinity": {"nodeAffinity": {
				"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [null, {}]}}}}}}}`,
		`{"apiVersion": "v1", "kind": "Pod", "metadata": null, "spec": null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := minimal(func(c *manifest.Compute) {
			c.GPUs = 1
			c.Volumes = []manifest.VolumeRef{{ClaimName: "data", MountPath: "/data"}}
		})
		if yaml.Unmarshal([]byte(text), &c.Manifest) != nil || c.Manifest == nil {
			return
		}
		before := toJSON(t, c.Manifest)
		manifest.Observe(&unstructured.Unstructured{Object: c.Manifest})
		once, err := manifest.Render(c)
		if err != nil {
			return
		}
		got := leaves(once[0].Object)
		for pointer, want := range leaves(manifest.Normalize(&unstructured.Unstructured{Object: c.Manifest})) {
			if !cmp.Equal(want, got[pointer]) {
				t.Errorf("%s\n%s is %v, want %v", text, pointer, got[pointer], want)
			}
		}
		if strings.Contains(before, "null") {
			return // it removes what is a default again where it is gone
		}
		again := c
		again.Manifest = once[0].Object
		if diff := cmp.Diff(once, render(t, again)); diff != "" {
			t.Errorf("%s\n-once +twice:\n%s", text, diff)
		}
		for _, o := range once {
			scribble(o.Object)
		}
		if toJSON(t, c.Manifest) != before {
			t.Errorf("what is rendered of %s shares a part with it", text)
		}
	})
}
