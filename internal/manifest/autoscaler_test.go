package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func target(change func(*autoscalingv2.MetricTarget)) autoscalingv2.MetricTarget {
	var t autoscalingv2.MetricTarget
	change(&t)
	return t
}

// utilization is a metric of a resource, without the types that the renderer adds.
func utilization(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
		Target: target(func(t *autoscalingv2.MetricTarget) { t.AverageUtilization = &percent })}}
}

func horizontal(tb testing.TB) *manifest.Autoscale {
	tb.Helper()
	average := target(func(t *autoscalingv2.MetricTarget) { t.AverageValue = quantity(tb, "0.5") })
	total := target(func(t *autoscalingv2.MetricTarget) { t.Value = quantity(tb, "10") })
	waiting := autoscalingv2.MetricIdentifier{Name: "waiting",
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"model": "a"}}}
	return &manifest.Autoscale{
		Scaler: manifest.ScalerHPA, MinScale: new(int64(0)), MaxScale: new(int64(8)),
		Metrics: []autoscalingv2.MetricSpec{
			utilization(70),
			{Pods: &autoscalingv2.PodsMetricSource{Metric: waiting, Target: average}},
			{Object: &autoscalingv2.ObjectMetricSource{Metric: waiting, Target: total,
				DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service",
					Name: "a"}}},
			{External: &autoscalingv2.ExternalMetricSource{Metric: waiting, Target: average}},
		},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0)),
				SelectPolicy: new(autoscalingv2.MinChangePolicySelect),
				Policies:     []autoscalingv2.HPAScalingPolicy{{Type: "Pods", Value: 1, PeriodSeconds: 60}}},
		},
	}
}

func ofKEDA() *manifest.Autoscale {
	return &manifest.Autoscale{
		Scaler: manifest.ScalerKEDA, MinScale: new(int64(0)), MaxScale: new(int64(4)),
		PollingInterval: new(10 * time.Second), CooldownPeriod: new(10 * time.Minute),
		Triggers: []manifest.Trigger{{Type: "prometheus", Name: "waiting", MetricType: "AverageValue",
			Metadata:          map[string]string{"query": "sum(waiting)", "threshold": "5", "empty": ""},
			AuthenticationRef: &manifest.AuthenticationRef{Name: "prometheus", Kind: "ClusterTriggerAuthentication"}}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			SelectPolicy: new(autoscalingv2.DisabledPolicySelect)}},
	}
}

// autoscaler returns the object that scales a compute, or nil.
func autoscaler(t *testing.T, c manifest.Compute) *unstructured.Unstructured {
	t.Helper()
	for _, object := range render(t, c) {
		if manifest.RoleOf(object.GroupVersionKind()) == manifest.RoleAutoscaler {
			return object
		}
	}
	return nil
}

func TestObserveAutoscalerIsTheInverseOfRender(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]*manifest.Autoscale{
		"by metrics": horizontal(t), "KEDA": ofKEDA(),
		"bare KEDA": {Scaler: manifest.ScalerKEDA, Triggers: []manifest.Trigger{{Type: "cron",
			Metadata: map[string]string{"timezone": "Etc/UTC"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal(func(c *manifest.Compute) { c.Autoscale = want })
			got := manifest.ObserveRelated(autoscaler(t, c)).Autoscale
			if len(got.Metrics) > 0 && got.Metrics[0].Type != autoscalingv2.ResourceMetricSourceType {
				t.Errorf("the type is %q", got.Metrics[0].Type)
			}
			// The types follow from the other fields, so that the objects are the same.
			again := minimal(func(c *manifest.Compute) { c.Autoscale = got })
			if diff := cmp.Diff(render(t, c), render(t, again)); diff != "" {
				t.Errorf("-rendered +rendered from the observation:\n%s", diff)
			}
			if got.Scaler != want.Scaler {
				t.Errorf("the scaler is %q", got.Scaler)
			}
		})
	}
}

func TestObserveAutoscalerIgnoresFieldsOfOtherTypes(t *testing.T) {
	t.Parallel()
	for _, of := range []kind.Kind{kind.HorizontalPodAutoscaler(), kind.ScaledObject()} {
		object := of.Named("ml", "a")
		object.Object["spec"] = map[string]any{"scaleTargetRef": "a"}
		if got := manifest.ObserveRelated(object).Autoscale; got != nil {
			t.Errorf("%s: observed %+v", of.Kind, got)
		}
	}
}

// ofGroups is a LeaderWorkerSet of groups of a size. The subresource scale sets the number of groups
// (config/crd/bases of sigs.k8s.io/lws, release 0.9).
func ofGroups(size int64) map[string]any {
	return map[string]any{"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
		"spec": map[string]any{"leaderWorkerTemplate": map[string]any{"size": size}}}
}

// An absent number is that of the autoscaler. A suspended workload has zero pods, and nothing that starts some.
func TestAutoscaledWorkloadHasNoNumberOfPods(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*manifest.Compute)
		want   any
		scaled bool
	}{
		"a Deployment": {func(*manifest.Compute) {}, nil, true},
		"a StatefulSet": {func(c *manifest.Compute) {
			c.Manifest = map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet",
				"spec": map[string]any{"template": map[string]any{}}}
		}, nil, true},
		"a LeaderWorkerSet": {func(c *manifest.Compute) { c.Manifest = ofGroups(4) }, nil, true},
		"suspended":         {func(c *manifest.Compute) { c.Suspend = true }, int64(0), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal(func(c *manifest.Compute) { c.Autoscale = horizontal(t) }, tc.change)
			if got, _ := kind.Find(render(t, c)[0].Object, []string{"spec", "replicas"}); got != tc.want {
				t.Errorf("replicas is %v, want %v", got, tc.want)
			}
			object := autoscaler(t, c)
			if (object != nil) != tc.scaled {
				t.Fatalf("the autoscaler is %v", object)
			}
			if object == nil {
				return
			}
			target := kind.TextAt(object.Object, "spec", "scaleTargetRef", "kind")
			if want := render(t, c)[0].GetKind(); target != want {
				t.Errorf("it scales a %s instead of a %s", target, want)
			}
		})
	}
}

func TestUtilizationsWithoutARequestAreReported(t *testing.T) {
	t.Parallel()
	ofMemory := utilization(80)
	ofMemory.Resource.Name = corev1.ResourceMemory
	average := utilization(80)
	average.Resource.Target = target(func(m *autoscalingv2.MetricTarget) { m.AverageValue = quantity(t, "1") })
	metrics := func(metrics ...autoscalingv2.MetricSpec) func(*manifest.Compute) {
		return func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{Scaler: manifest.ScalerHPA, MaxScale: new(int64(2)), Metrics: metrics}
		}
	}
	cpus := func(c *manifest.Compute) { c.CPUs = quantity(t, "1") }
	proxy := func(requests *resource.Quantity) func(*manifest.Compute) {
		return func(c *manifest.Compute) {
			c.Sidecars = []manifest.Container{{Name: "proxy", Image: "proxy:1", CPUs: requests}}
		}
	}
	for name, tc := range map[string]struct {
		change []func(*manifest.Compute)
		want   []string // paths, each followed by a part of the detail
	}{
		"no request": {[]func(*manifest.Compute){metrics(average, utilization(80))}, []string{
			"autoscale.metrics[1].resource.target.average_utilization",
			`The container "kubetorch" does not request cpu`}},
		"a request": {[]func(*manifest.Compute){metrics(utilization(80)), cpus}, nil},
		"a limit": {[]func(*manifest.Compute){metrics(utilization(80)), func(c *manifest.Compute) {
			c.Limits = map[string]resource.Quantity{"cpu": *quantity(t, "1")}
		}}, nil},
		"a request of another resource": {[]func(*manifest.Compute){metrics(utilization(80), ofMemory), cpus}, []string{
			"autoscale.metrics[1].resource.target.average_utilization", "does not request memory"}},
		"a sidecar without a request": {[]func(*manifest.Compute){metrics(utilization(80)), cpus, proxy(nil)}, []string{
			"autoscale.metrics[0].resource.target.average_utilization", `The container "proxy" does not request cpu`}},
		"a sidecar with a request": {[]func(*manifest.Compute){metrics(utilization(80)), cpus,
			proxy(quantity(t, "100m"))}, nil},
		"an init container": {[]func(*manifest.Compute){metrics(utilization(80)), cpus, func(c *manifest.Compute) {
			c.InitContainers = []manifest.Container{{Name: "fetch", Image: "fetch:1"}}
		}}, nil},
		"requests of the pod": {[]func(*manifest.Compute){metrics(utilization(80)), func(c *manifest.Compute) {
			c.ServiceTemplate = map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"resources": map[string]any{"requests": map[string]any{"cpu": "1"}}}}}}
		}}, nil},
		"no utilization": {[]func(*manifest.Compute){metrics(average)}, nil},
		"leaders with a request": {[]func(*manifest.Compute){metrics(utilization(80)), cpus,
			func(c *manifest.Compute) { c.Manifest = ofGroups(4) }}, nil},
		"KEDA": {[]func(*manifest.Compute){func(c *manifest.Compute) { c.Autoscale = ofKEDA() }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal(tc.change...)
			var got []string
			for _, problem := range manifest.MissingRequests(autoscaler(t, c), render(t, c)[0]) {
				got = append(got, problem.Path.String(), problem.Detail)
			}
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, text := range tc.want {
				if !strings.Contains(got[i], text) {
					t.Errorf("got %q, want %q", got[i], text)
				}
			}
		})
	}
}

func TestRenderRejectsAnAutoscalerThatCannotWork(t *testing.T) {
	t.Parallel()
	scaled := func(change func(*manifest.Autoscale)) func(*manifest.Compute) {
		return func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{Scaler: manifest.ScalerHPA, MaxScale: new(int64(2)),
				Metrics: []autoscalingv2.MetricSpec{utilization(50)}}
			change(c.Autoscale)
		}
	}
	same := scaled(func(*manifest.Autoscale) {})
	for name, tc := range map[string]struct {
		change          func(*manifest.Compute)
		attribute, says string
	}{
		"no maximum": {scaled(func(a *manifest.Autoscale) { a.MaxScale = nil }), "autoscale.max_scale",
			`scaler = "hpa" requires it: set the maximum number of pods`},
		"a maximum of zero": {scaled(func(a *manifest.Autoscale) { a.MaxScale = new(int64(0)) }),
			"autoscale.max_scale", "means no limit only for Knative"},
		"a minimum above the maximum": {scaled(func(a *manifest.Autoscale) { a.MinScale = new(int64(3)) }),
			"autoscale.min_scale", "more than autoscale.max_scale"},
		"no metrics": {scaled(func(a *manifest.Autoscale) { a.Metrics = nil }), "autoscale.metrics",
			"set at least one metric"},
		"no triggers": {scaled(func(a *manifest.Autoscale) { *a = manifest.Autoscale{Scaler: "keda"} }),
			"autoscale.triggers", "set at least one trigger"},
		"no source": {scaled(func(a *manifest.Autoscale) { a.Metrics[0].Resource = nil }), "autoscale.metrics[0]",
			"exactly one of resource, pods, object, external, but has none"},
		"no target": {scaled(func(a *manifest.Autoscale) {
			a.Metrics[0] = utilization(1)
			a.Metrics[0].Resource.Target.AverageUtilization = nil
		}), "autoscale.metrics[0].resource.target",
			"exactly one of average_value, average_utilization, but has none"},
		"zero pods by their usage": {scaled(func(a *manifest.Autoscale) { a.MinScale = new(int64(0)) }),
			"autoscale.min_scale", "add an object or external metric"},
		"an attribute of Knative": {scaled(func(a *manifest.Autoscale) { a.Window = "60s" }), "autoscale.window",
			`requires scaler = "knative", but it is "hpa"`},
		"an attribute of KEDA": {scaled(func(a *manifest.Autoscale) { a.CooldownPeriod = new(time.Minute) }),
			"autoscale.cooldown_period", `requires scaler = "keda", but it is "hpa"`},
		"metrics of Knative": {scaled(func(a *manifest.Autoscale) { a.Scaler = "" }), "autoscale.metrics",
			`requires scaler = "hpa", but it is "knative"`},
		"behavior of Knative": {scaled(func(a *manifest.Autoscale) {
			*a = manifest.Autoscale{Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{}}
		}), "autoscale.behavior", `requires scaler = "hpa" or "keda"`},
		"a fraction of a second": {scaled(func(a *manifest.Autoscale) {
			*a = *ofKEDA()
			a.PollingInterval = new(1500 * time.Millisecond)
		}), "autoscale.polling_interval", "only has whole seconds"},
		"no interval": {scaled(func(a *manifest.Autoscale) {
			*a = *ofKEDA()
			a.PollingInterval = new(time.Duration(0))
		}), "autoscale.polling_interval", "is zero: set at least 1s"},
		"replicas": {func(c *manifest.Compute) {
			same(c)
			c.Replicas, c.ReplicasGiven = 2, true
		}, "replicas", "the HorizontalPodAutoscaler controls the number of pods"},
		"replicas in the manifest": {func(c *manifest.Compute) {
			same(c)
			c.Manifest = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
				"spec": map[string]any{"replicas": int64(2), "template": map[string]any{}}}
		}, "manifest", "sets spec.replicas, but the autoscaler sets the number of pods"},
		"replicas in the template": {func(c *manifest.Compute) {
			same(c)
			c.ServiceTemplate = map[string]any{"spec": map[string]any{"replicas": int64(2)}}
		}, "service_template", "sets spec.replicas"},
		"groups in the manifest": {func(c *manifest.Compute) {
			same(c)
			c.Manifest = ofGroups(2)
			kind.SetAt(c.Manifest, []string{"spec", "replicas"}, int64(2))
		}, "manifest", "sets spec.replicas, but the autoscaler sets the number of pods"},
		"a kind without a scale": {func(c *manifest.Compute) {
			same(c)
			c.Manifest = map[string]any{"apiVersion": "batch/v1", "kind": "Job",
				"spec": map[string]any{"template": map[string]any{}}}
		}, "autoscale", "or LeaderWorkerSet, but the workload is a Job"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, minimal(tc.change), tc.attribute, tc.says)
		})
	}
}
