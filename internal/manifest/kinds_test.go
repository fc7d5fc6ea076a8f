package manifest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// kindGoldens returns computes of all kinds except a plain Deployment. Their
// complete objects are in testdata/golden.
func kindGoldens(tb testing.TB) map[string]manifest.Compute {
	tb.Helper()
	all := map[string]manifest.Compute{
		"knative":           minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} }),
		"knative-every-way": autoscaled(tb),
		"knative-suspended": minimal(func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{MinScale: new(int64(2)), InitialScale: new(int64(4))}
			c.Suspend = true
		}),
		"knative-hpa": minimal(func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{
				AutoscalerClass: "hpa.autoscaling.knative.dev", Metric: "cpu", Target: new(int64(70)),
				ExtraAnnotations: map[string]string{"panic-window-percentage": "20",
					"queue.sidecar.serving.knative.dev/cpu-resource-request": "1"},
			}
		}),
		"job": minimal(func(c *manifest.Compute) { c.Command, c.Job = []string{"train"}, &manifest.Job{} }),
		"job-every-way": minimal(func(c *manifest.Compute) {
			c.Image, c.Command, c.Port, c.GPUs = "trainer:1", []string{"torchrun", "train.py"}, 8000, 8
			c.Replicas, c.ReplicasGiven, c.QueueName = 4, true, "research"
			c.Job = &manifest.Job{
				Completions: new(int32(8)), BackoffLimit: new(int32(0)), ActiveDeadline: new(12 * time.Hour),
				TTL: new(time.Duration(0)), PodFailurePolicy: []batchv1.PodFailurePolicyRule{
					{Action: "FailJob", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
						Operator: "In", Values: []int32{42}}},
					{Action: "Ignore", OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
						{Type: "DisruptionTarget"}}},
				},
			}
		}),
		"ray": minimal(func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{Type: "ray", Workers: 3} }),
		"ray-alone-suspended": minimal(func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Type: "ray", Workers: 1, Args: map[string]any{"rayVersion": "2.46.0"}}
			c.Suspend = true
		}),
		"ray-on-gpus-in-a-queue": minimal(func(c *manifest.Compute) {
			c.GPUs, c.GPUType, c.QueueName = 8, gpuProduct("H100"), "research"
			c.SharedMemoryLimit = quantity(tb, "64Gi")
			c.Volumes = []manifest.VolumeRef{{ClaimName: "data", MountPath: "/data"}}
			c.Secrets = []manifest.SecretRef{{Name: "hf", EnvVars: []string{"HF_TOKEN"}}}
			c.Labels = map[string]string{"team": "ml"}
			c.Distribute = &manifest.Distribute{Type: "ray", Workers: 5}
			c.Registered = true
		}),
		"distributed": minimal(func(c *manifest.Compute) {
			c.GPUs, c.QueueName, c.QueueScheduler = 1, "research", "kai"
			c.LaunchTimeout = 10 * time.Minute
			c.Distribute = &manifest.Distribute{
				Type: "pytorch", Workers: 4, QuorumWorkers: new(int64(3)), QuorumTimeout: "1m30s",
				MonitorMembers: new(false),
				Args:           map[string]any{"num_proc": 8.0, "port": 12345.0},
			}
			c.Registered = true
		}),
		"selected-pods": {
			Name: "svc", Namespace: "ml", Replicas: 1, Selector: map[string]string{"app": "workers", "team": "ml"},
			Registered: true,
		},
		"selected-pods-by-url": {
			Name: "svc", Namespace: "ml", Selector: map[string]string{"app": "workers"}, Registered: true,
			Endpoint: &manifest.Endpoint{URL: "http://gateway.example"},
		},
		"registered": minimal(func(c *manifest.Compute) {
			c.Registered = true
			c.LogLevel, c.InactivityTTL, c.AllowedSerialization = "warning", "4h", []string{"json", "pickle"}
			c.Logging = manifest.Logging{
				StreamLogs: new(false), IncludeSystemLogs: new(true), IncludeEvents: new(false), IncludeName: new(true),
				GracePeriod: new(2500 * time.Millisecond), PollTimeout: new(time.Second),
				ShutdownGracePeriod: new(time.Duration(0)),
			}
		}),
		"image-set-up": minimal(func(c *manifest.Compute) {
			c.ImageSetup = &manifest.ImageSetup{
				ConfigMap: "kt-image-train", Digest: "sha256:abc", PythonPath: "/opt/my venv/bin/python",
				InstallCmd: "uv pip install --system",
			}
			c.Volumes = []manifest.VolumeRef{{ClaimName: "image-setup", MountPath: "/data"}}
		}),
	}
	maps.Copy(all, manifestGoldens(tb))
	maps.Copy(all, tensorServerGoldens(tb))
	return all
}

func autoscaled(tb testing.TB) manifest.Compute {
	tb.Helper()
	return minimal(func(c *manifest.Compute) {
		c.CPUs, c.LaunchTimeout, c.Registered = quantity(tb, "2"), time.Hour, true
		c.Annotations = map[string]string{"owner": "ml"}
		c.Autoscale = &manifest.Autoscale{
			MinScale: new(int64(0)), MaxScale: new(int64(10)), InitialScale: new(int64(2)),
			Target: new(int64(5)), TargetUtilization: new(int64(70)), Metric: "rps", Window: "90s",
			Concurrency: new(int64(20)), ScaleDownDelay: "900", ScaleToZeroPodRetentionPeriod: "1m5s",
			AutoscalerClass: "kpa.autoscaling.knative.dev", ProgressDeadline: "0.5d",
			ExtraAnnotations: map[string]string{"activation-scale": "2"},
		}
	})
}

func TestProgressDeadlineOutlastsTheLaunch(t *testing.T) {
	t.Parallel()
	for launch, want := range map[time.Duration]string{
		0:                                 "18m", // of the default, 15 minutes
		time.Minute:                       "10m",
		9 * time.Minute:                   "10m48s",
		10 * time.Minute:                  "12m",
		3 * time.Minute:                   "10m",
		500 * time.Hour:                   "600h",
		1234567 * time.Millisecond * 1000: "411h31m21s",
	} {
		c := minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{}; c.LaunchTimeout = launch })
		got := leaves(render(t,
			c)[0].Object)["/spec/template/metadata/annotations/serving.knative.dev~1progress-deadline"]
		if got != want {
			t.Errorf("launch timeout %s: progress deadline %v, want %s", launch, got, want)
		}
	}
}

// The label must also be in templates of the user.
func TestEveryPodTemplateHasTheServiceLabel(t *testing.T) {
	t.Parallel()
	for name, c := range allGoldens(t) {
		objects, found := render(t, c), 0
		for _, o := range objects {
			for pointer, template := range templates(o) {
				found++
				labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
				if labels[kind.ServiceLabel] != c.Name {
					t.Errorf("%s: the template at %s of %s has labels %v", name, pointer, manifest.Key(o), labels)
				}
			}
		}
		// The operator of a runtime has its own format, and selected pods are those of another client.
		if found == 0 && c.Runtime == "" && len(c.Selector) == 0 {
			t.Errorf("%s has no pod template", name)
		}
	}
}

// templates returns all pod templates of a workload, which it finds by their containers.
func templates(o *unstructured.Unstructured) map[string]map[string]any {
	found := map[string]map[string]any{}
	var walk func(pointer string, value any)
	walk = func(pointer string, value any) {
		switch value := value.(type) {
		case map[string]any:
			if spec, ok := value["spec"].(map[string]any); ok && spec["containers"] != nil {
				found[pointer] = value
			}
			for key, v := range value {
				walk(pointer+"/"+key, v)
			}
		case []any:
			for _, v := range value {
				walk(pointer+"/*", v)
			}
		}
	}
	walk("", o.Object)
	return found
}

func allGoldens(tb testing.TB) map[string]manifest.Compute {
	tb.Helper()
	all := goldens(tb)
	maps.Copy(all, kindGoldens(tb))
	return all
}

func TestKindsDescribeTheirWorkloads(t *testing.T) {
	t.Parallel()
	modes := map[string]bool{}
	for _, k := range kind.Workloads() {
		apiVersion, name := k.ToAPIVersionAndKind()
		mode := manifest.Compute{Manifest: map[string]any{"apiVersion": apiVersion, "kind": name}}.Mode()
		if modes[mode] && mode != kind.ModeCompute { // of two operators
			t.Errorf("two kinds have the mode %s", mode)
		}
		modes[mode] = true
		if manifest.RoleOf(k.GroupVersionKind) != manifest.RoleWorkload {
			t.Errorf("%s is no workload", k.Word())
		}
	}
	want := []string{
		"compute", "cronjob", "daemonset", "deployment", "job", "jobset", "knative", "leaderworkerset", "mxjob", "pod",
		"pytorchjob", "raycluster", "rayjob", "replicaset", "statefulset", "tfjob", "xgboostjob",
	}
	if got := slices.Sorted(maps.Keys(modes)); !slices.Equal(got, want) {
		t.Errorf("modes are %v, want %v", got, want)
	}
	for mode, want := range map[string]struct{ replicas, manifest bool }{
		"deployment": {true, false}, "raycluster": {true, false}, "knative": {false, false}, "selector": {false, false},
		"compute":     {false, false},
		"statefulset": {true, true}, "job": {true, false}, "jobset": {true, true}, "leaderworkerset": {true, true},
		"tfjob": {true, true},
		"pod":   {false, true}, "daemonset": {false, true}, "cronjob": {false, true}, "workflow": {false, true},
	} {
		if w := kind.OfMode(mode); w.Scales != want.replicas || (w.Picks == nil) != want.manifest {
			t.Errorf("%s: has replicas %v, needs a manifest %v", mode, w.Scales, w.Picks == nil)
		}
	}
	if got := manifest.RoleOf(schema.GroupVersionKind{Version: "v1", Kind: "Service"}); got != manifest.RoleService {
		t.Errorf("a Service is a %s", got)
	}
	if got := manifest.RoleOf(kind.KubetorchWorkload().GroupVersionKind); got != manifest.RoleRegistration {
		t.Errorf("a KubetorchWorkload is a %s", got)
	}
}

func TestModeIsDeterminedByTheAttributes(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*manifest.Compute){
		"deployment": func(*manifest.Compute) {},
		"knative":    func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} },
		"raycluster": func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{Type: "ray"} },
		"job":        func(c *manifest.Compute) { c.Job = &manifest.Job{} },
		"selector":   func(c *manifest.Compute) { c.Selector = map[string]string{"a": "b"} },
		"compute":    func(c *manifest.Compute) { c.Runtime = kind.RuntimeKPU },
		"pytorchjob": func(c *manifest.Compute) {
			c.Manifest = map[string]any{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
			c.Selector = map[string]string{"a": "b"}
		},
		"workflow": func(c *manifest.Compute) {
			c.Manifest = map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
		},
	} {
		if got := minimal(change).Mode(); got != want {
			t.Errorf("mode is %q, want %q", got, want)
		}
	}
	if got := minimal(func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{} }).Mode(); got != "deployment" {
		t.Errorf("workers run in mode %q", got)
	}
}

func TestRenderRejectsCombinations(t *testing.T) {
	t.Parallel()
	scaled := func(a manifest.Autoscale) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.Autoscale = &a }
	}
	spread := func(d manifest.Distribute) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.Distribute = &d }
	}
	for name, tc := range map[string]struct {
		change    func(*manifest.Compute)
		attribute string
		says      string
	}{
		"more at least than at most": {scaled(manifest.Autoscale{MinScale: new(int64(3)), MaxScale: new(int64(2))}),
			"autoscale.min_scale", "is 3, more than autoscale.max_scale, 2"},
		"CPU without the HPA": {scaled(manifest.Autoscale{Metric: "cpu"}), "autoscale.metric",
			`set autoscaler_class = "hpa.autoscaling.knative.dev"`},
		"a delay of the HPA": {scaled(manifest.Autoscale{AutoscalerClass: "hpa.autoscaling.knative.dev",
			ScaleDownDelay: "1m"}), "autoscale.scale_down_delay", "scale_down_delay"},
		"a short window": {scaled(manifest.Autoscale{Window: "5s"}), "autoscale.window",
			`window is "5s", but Knative accepts 6s to 1h`},
		"a long window":      {scaled(manifest.Autoscale{Window: "61m"}), "autoscale.window", "6s to 1h"},
		"a part of a second": {scaled(manifest.Autoscale{Window: "6.5s"}), "autoscale.window", "use 7s"},
		"a deadline of nothing": {scaled(manifest.Autoscale{ProgressDeadline: "0s"}), "autoscale.progress_deadline",
			"no less than 1s"},
		"an annotation twice": {scaled(manifest.Autoscale{MinScale: new(int64(1)),
			ExtraAnnotations: map[string]string{"min-scale": "2"}}), `autoscale.extra_annotations["min-scale"]`,
			`autoscale.min_scale sets this annotation to "1"`},
		"an annotation beside": {func(c *manifest.Compute) {
			c.Autoscale = &manifest.Autoscale{MinScale: new(int64(1))}
			c.Annotations = map[string]string{"autoscaling.knative.dev/min-scale": "2"}
		}, "annotations", "autoscaling.knative.dev/min-scale"},
		"replicas of Knative": {func(c *manifest.Compute) {
			c.Autoscale, c.ReplicasGiven = &manifest.Autoscale{}, true
		}, "replicas", "Knative controls the number of pods"},
		"pods of Knative by a selector": {func(c *manifest.Compute) {
			c.Autoscale, c.Endpoint = &manifest.Autoscale{}, &manifest.Endpoint{Selector: map[string]string{"a": "b"}}
		}, "endpoint.selector", "Knative creates the Service"},
		"scaled workers": {func(c *manifest.Compute) {
			c.Autoscale, c.Distribute = &manifest.Autoscale{}, &manifest.Distribute{}
		}, "distribute", "distribute and autoscale cannot both be set"},
		"more than there are": {spread(manifest.Distribute{Workers: 2, QuorumWorkers: new(int64(3))}),
			"distribute.quorum_workers", "is 3, but there are 2 workers"},
		"a number for a version": {spread(manifest.Distribute{Type: "ray", Args: map[string]any{"rayVersion": 2.8}}),
			"distribute.args", "has 2.8 as rayVersion"},
		"workers and replicas": {func(c *manifest.Compute) {
			c.Distribute, c.Replicas, c.ReplicasGiven = &manifest.Distribute{Workers: 4}, 3, true
		}, "replicas", "their number is distribute.workers"},
		"a name too long for a Service": {
			func(c *manifest.Compute) { c.Name = strings.Repeat("x", 55); c.Distribute = &manifest.Distribute{} },
			"name", "use a name of at most 54"},
		"a volume over the set-up": {func(c *manifest.Compute) {
			c.ImageSetup = &manifest.ImageSetup{ConfigMap: "x"}
			c.Volumes = []manifest.VolumeRef{{ClaimName: "a", MountPath: "/etc/kubetorch/image"}}
		}, "volumes[0].mount_path", "where the setup of the image is already mounted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, minimal(tc.change), tc.attribute, tc.says)
		})
	}
}

func TestImagePullSecretsAreInEveryPodTemplate(t *testing.T) {
	t.Parallel()
	computes := manifestGoldens(t)
	computes["deployment"] = minimal()
	computes["knative"] = minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} })
	computes["raycluster"] = minimal(func(c *manifest.Compute) {
		c.Distribute = &manifest.Distribute{Type: "ray", Workers: 3}
	})
	for name, c := range computes {
		c.ImagePullSecrets = []string{"registry"}
		templates, missing := 0, 0
		for pointer, value := range leaves(render(t, c)[0].Object) {
			if strings.HasSuffix(pointer, "/containers/0/name") {
				templates++
				missing++
			}
			if strings.HasSuffix(pointer, "/imagePullSecrets/0/name") && value == "registry" {
				missing--
			}
		}
		if templates == 0 || missing != 0 {
			t.Errorf("%s: %d of %d pod templates have no pull secret", name, missing, templates)
		}
	}
}

// A StatefulSet of another group is none of Kubernetes: its number of pods cannot be set, and a change to it replaces
// the compute.
func TestKindsOfOtherGroupsHaveModesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for apiVersion, want := range map[string]string{"apps/v1": "statefulset",
		"apps.kruise.io/v1beta1": "statefulset.apps.kruise.io"} {
		c := manifest.Compute{Name: "a", PodTemplatePath: []string{"spec", "template"},
			Manifest: map[string]any{"apiVersion": apiVersion, "kind": "StatefulSet"}}
		if got := c.Mode(); got != want {
			t.Errorf("%s: %s, want %s", apiVersion, got, want)
		}
	}
}
