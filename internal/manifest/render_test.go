package manifest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldens are computes whose objects are kept whole in testdata/golden.
func goldens(tb testing.TB) map[string]manifest.Compute {
	tb.Helper()
	return map[string]manifest.Compute{
		"smallest":                {Name: "svc", Namespace: "ml", Replicas: 1},
		"everything":              everything(tb),
		"suspended":               minimal(func(c *manifest.Compute) { c.Replicas = 3; c.Suspend = true }),
		"scaled-to-zero":          minimal(func(c *manifest.Compute) { c.Replicas = 0 }),
		"shared-gpu-in-kai-queue": sharedGPU(tb),
		"kueue-queue":             minimal(func(c *manifest.Compute) { c.QueueName = "gpu-queue" }),
		"defaults-of-provider": minimal(func(c *manifest.Compute) {
			c.DefaultLabels = map[string]string{"team": "platform", "tier": "batch", "app": "fleet", "empty": ""}
			c.DefaultAnnotations = map[string]string{"owner": "platform", "cost": "a"}
			c.Labels = map[string]string{"team": "ml"}
			c.Annotations = map[string]string{"cost": "b"}
		}),
		"log-level-in-env": minimal(func(c *manifest.Compute) {
			c.EnvVars = map[string]string{"KT_LOG_LEVEL": "TRACE", "EMPTY": "", "PATH": "$PATH:/custom/bin"}
			c.LogLevel = "debug"
		}),
		"awkward-volumes":  awkwardVolumes(),
		"service-template": templated(tb),
		"service-template-suspended": minimal(func(c *manifest.Compute) {
			c.Suspend = true
			c.ServiceTemplate = fromJSON(tb, `{"spec": {"replicas": 5, "revisionHistoryLimit": 2.0}}`)
		}),
		"endpoint-url": minimal(func(c *manifest.Compute) { c.Endpoint = &manifest.Endpoint{URL: "http://gateway.example"} }),
		"endpoint-selector": minimal(func(c *manifest.Compute) {
			c.Endpoint = &manifest.Endpoint{Selector: map[string]string{"app": "ray", "role": "head"}}
		}),
		"gpus-despite-anti-affinity": minimal(func(c *manifest.Compute) { c.GPUs = 8; c.GPUAntiAffinity = true }),
	}
}

func everything(tb testing.TB) manifest.Compute {
	tb.Helper()
	return manifest.Compute{
		Name: "trainer", Namespace: "ml", Username: "alice", InstallNamespace: "kt-system",
		DefaultLabels: map[string]string{"org": "research"}, DefaultAnnotations: map[string]string{"org": "research"},
		CPUs: quantity(tb, "1500m"), Memory: quantity(tb, "4096Mi"), DiskSize: quantity(tb, "0.5Ti"),
		SharedMemoryLimit: quantity(tb, "2Gi"),
		GPUs:              2, GPUType: "NVIDIA-H100-80GB-HBM3", Replicas: 4,
		Labels: map[string]string{"team": "ml"}, Annotations: map[string]string{"note": "keep"},
		NodeSelector: map[string]string{"pool": "spot"},
		Tolerations: []manifest.Toleration{
			{Key: "spot", Operator: "Exists", Effect: "NoExecute", TolerationSeconds: new(int64(60))},
			{Key: "dedicated", Value: "gpu", Effect: "NoSchedule"},
		},
		ServiceAccountName: "builder", PriorityClassName: "critical", QueueName: "gpus", QueueScheduler: "kueue",
		Image: "registry.example/train:1", ImagePullPolicy: "Always", WorkingDir: "/app",
		ImagePullSecrets: []string{"registry", "mirror"},
		EnvVars:          map[string]string{"B": "2", "A": "1"},
		Secrets: []manifest.SecretRef{
			{Name: "hf", EnvVars: []string{"HF_TOKEN", "HF_HOME"}},
			{Name: "aws", MountPath: "/root/.aws", EnvVars: []string{"AWS_REGION"}},
		},
		Volumes: []manifest.VolumeRef{
			{ClaimName: "data", MountPath: "/data", ReadOnly: true},
			{ClaimName: "scratch", MountPath: "/scratch"},
		},
		LaunchTimeout: 32 * time.Minute, LogLevel: "warning", InactivityTTL: "4h",
		AllowedSerialization: []string{"json", "pickle"},
		ServiceTemplate:      map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"hostNetwork": true}}}},
	}
}

func sharedGPU(tb testing.TB) manifest.Compute {
	tb.Helper()
	return minimal(func(c *manifest.Compute) {
		c.GPUMemory = quantity(tb, "4G") // 3814.7 MiB
		c.GPUAntiAffinity = true
		c.QueueName, c.QueueScheduler = "research", "kai"
	})
}

func awkwardVolumes() manifest.Compute {
	long := strings.Repeat("long-", 20) + "name"
	return minimal(func(c *manifest.Compute) {
		c.Secrets = []manifest.SecretRef{
			{Name: "aws", MountPath: "/aws"},
			{Name: "aws", MountPath: "/aws-again"},
			{Name: "tls.example.com", MountPath: "/tls"},
			{Name: long, MountPath: "/long-secret"},
		}
		c.Volumes = []manifest.VolumeRef{
			{ClaimName: "dshm", MountPath: "/not-shm"},
			{ClaimName: "secrets-aws", MountPath: "/claim"},
			{ClaimName: "secrets-tls.example.com", MountPath: "/claim-tls"},
			{ClaimName: long, MountPath: "/long-claim"},
			{ClaimName: "data", MountPath: "/data", ReadOnly: true},
			{ClaimName: "data", MountPath: "/data-rw"},
		}
	})
}

func templated(tb testing.TB) manifest.Compute {
	tb.Helper()
	return minimal(func(c *manifest.Compute) {
		c.CPUs = quantity(tb, "1")
		c.Tolerations = []manifest.Toleration{{Key: "spot", Operator: "Exists"}}
		c.ServiceTemplate = fromJSON(tb, `{
			"metadata": {"labels": {"tier": "gold"}},
			"spec": {"template": {"spec": {
				"containers": [
					{"name": "kubetorch", "livenessProbe": null,
					 "resources": {"limits": {"cpu": 1.5, "memory": "1024Mi"}},
					 "env": [{"name": "EXTRA", "value": "1"}],
					 "volumeMounts": [{"name": "cache", "mountPath": "/cache"}, {"name": "cache",
					"mountPath": "/tmp"}]},
					{"name": "sidecar", "image": "busybox", "args": ["--flag", ""]}
				],
				"volumes": [{"name": "cache", "emptyDir": {}}],
				"tolerations": [{"operator": "Exists"}],
				"terminationGracePeriodSeconds": 120
			}}}
		}`)
	})
}

func TestRenderedObjectsAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	for name, c := range allGoldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var documents []string
			for _, o := range render(t, c) {
				document, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				documents = append(documents, string(document))
			}
			got := strings.Join(documents, "---\n")
			file := filepath.Join("testdata", "golden", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s differs (-want +got); -update writes it anew:\n%s", file, diff)
			}
		})
	}
}

func TestRenderedObjectsHaveOnlyFieldsOfTheAPI(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range allGoldens(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range render(t, c) {
				typed, err := scheme.New(o.GroupVersionKind())
				if err != nil {
					continue // of a CRD
				}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed,
					true); err != nil {
					t.Errorf("%s: %v", manifest.Key(o), err)
				}
			}
		})
	}
}

func TestRenderedObjectsAreNormalized(t *testing.T) {
	t.Parallel()
	for name, c := range allGoldens(t) {
		for _, o := range render(t, c) {
			if diff := cmp.Diff(o.Object, manifest.Normalize(o)); diff != "" {
				t.Errorf("%s: normalizing changes %s (-rendered +normalized):\n%s", name, manifest.Key(o), diff)
			}
		}
	}
}

func TestRenderKeepsItsInputApart(t *testing.T) {
	t.Parallel()
	c := templated(t)
	c.DefaultLabels = map[string]string{"a": "b"}
	before := toJSON(t, c)
	want := toJSON(t, render(t, c))
	for _, o := range render(t, c) {
		scribble(o.Object)
	}
	if got := toJSON(t, c); got != before {
		t.Errorf("writing into the objects changed the compute:\n%s\nwas\n%s", got, before)
	}
	if got := toJSON(t, render(t, c)); got != want {
		t.Errorf("writing into the objects changed the next ones:\n%s\nwere\n%s", got, want)
	}
}

// scribble overwrites all that can be reached from value.
func scribble(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			scribble(v)
			value[key] = "scribbled"
		}
	case []any:
		for i, v := range value {
			scribble(v)
			value[i] = "scribbled"
		}
	}
}

func TestSuspendChangesOnlyTheReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range goldens(t) {
		if c.Suspend || c.Replicas == 0 {
			continue
		}
		want := leaves(render(t, c)[0].Object)
		want["/spec/replicas"] = int64(0)
		c.Suspend = true
		if diff := cmp.Diff(want, leaves(render(t, c)[0].Object)); diff != "" {
			t.Errorf("%s: suspending changes more than the replicas (-want +got):\n%s", name, diff)
		}
	}
}

func TestEveryVolumeNameIsItsOwnAndValid(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for pointer, leaf := range leaves(render(t, awkwardVolumes())[0].Object) {
		if ok, _ := path.Match("/spec/template/spec/volumes/*/name", pointer); !ok {
			continue
		}
		name := fmt.Sprint(leaf)
		if seen[name] {
			t.Errorf("volume %s is there twice", name)
		}
		if len(name) > 63 || strings.Contains(name, ".") {
			t.Errorf("volume %s is not named by a DNS label", name)
		}
		seen[name] = true
	}
	if len(seen) != 9 {
		t.Errorf("%d volumes, want 9: %v", len(seen), slices.Sorted(maps.Keys(seen)))
	}
}

func TestStartupProbeLastsAsLongAsTheLaunchTimeout(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]int64{
		0:                          180, // the default, 15 minutes
		time.Second:                1,
		7 * time.Second:            1,
		10 * time.Minute:           120,
		30 * time.Minute:           360,
		100 * 365 * 24 * time.Hour: 630720000,
	} {
		workload := render(t, minimal(func(c *manifest.Compute) { c.LaunchTimeout = timeout }))[0]
		if got := leaves(workload.Object)["/spec/template/spec/containers/0/startupProbe/failureThreshold"]; got != want {
			t.Errorf("launch timeout %s: %v failures allowed, want %d", timeout, got, want)
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	t.Parallel()
	template := func(text string) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.ServiceTemplate = fromJSON(t, text) }
	}
	for name, tc := range map[string]struct {
		change    func(*manifest.Compute)
		attribute string
		says      string
	}{
		"no name":      {func(c *manifest.Compute) { c.Name = "" }, "name", "is empty"},
		"no namespace": {func(c *manifest.Compute) { c.Namespace = "" }, "namespace", "is empty"},
		"a share beside GPUs": {func(c *manifest.Compute) { c.GPUs = 1; c.GPUMemory = quantity(t, "4Gi") },
			"gpu_memory", "KAI rejects"},
		"a share of nothing": {func(c *manifest.Compute) { c.GPUMemory = quantity(t, "0") }, "gpu_memory",
			"more than zero"},
		"two GPU products": {func(c *manifest.Compute) {
			c.GPUType = "L4"
			c.NodeSelector = map[string]string{"nvidia.com/gpu.product": "T4"}
		}, "gpu_type", "node_selector selects nvidia.com/gpu.product=T4"},
		"the service label": {func(c *manifest.Compute) { c.Labels = map[string]string{"kubetorch.com/service": "x"} },
			"labels", "labels sets kubetorch.com/service"},
		"a template label": {func(c *manifest.Compute) { c.Labels = map[string]string{"kubetorch.com/template": "ksvc"} }, "labels", "kubetorch.com/template"},
		"a default that is ours": {func(c *manifest.Compute) {
			c.DefaultLabels = map[string]string{"app.kubernetes.io/managed-by": "terraform"}
		}, "labels", "the provider's default_labels"},
		"a queue by label": {func(c *manifest.Compute) {
			c.QueueName = "a"
			c.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "b"}
		}, "labels", "queue_name"},
		"a TTL by annotation": {func(c *manifest.Compute) {
			c.InactivityTTL = "1h"
			c.Annotations = map[string]string{"kubetorch.com/inactivity-ttl": "2h"}
		}, "annotations", "inactivity_ttl"},
		"an idle secret": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "hf"}}
		}, "secrets[0]", "set env_vars, mount_path or both"},
		"a variable twice": {func(c *manifest.Compute) {
			c.EnvVars = map[string]string{"A": "1"}
			c.Secrets = []manifest.SecretRef{{Name: "s", EnvVars: []string{"A"}}}
		}, "secrets[0].env_vars[0]", "env_vars also sets"},
		"a variable from two secrets": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "s", EnvVars: []string{"A"}}, {Name: "t", EnvVars: []string{"A"}}}
		}, "secrets[1].env_vars[0]", "secrets[0] also sets"},
		"a path twice": {func(c *manifest.Compute) {
			c.Volumes = []manifest.VolumeRef{{ClaimName: "a", MountPath: "/x"}, {ClaimName: "b", MountPath: "/x/"}}
		}, "volumes[1].mount_path", "volumes[0] is already mounted"},
		"a secret over a claim": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "s", MountPath: "/x"}}
			c.Volumes = []manifest.VolumeRef{{ClaimName: "b", MountPath: "/x"}}
		}, "volumes[0].mount_path", "secrets[0] is already mounted"},
		"a claim over shared memory": {func(c *manifest.Compute) { c.Volumes = []manifest.VolumeRef{{ClaimName: "a", MountPath: "/dev/shm"}} }, "volumes[0].mount_path", "shared memory"},
		"an empty endpoint": {func(c *manifest.Compute) { c.Endpoint = &manifest.Endpoint{} }, "endpoint",
			"endpoint is empty"},
		"two endpoints": {func(c *manifest.Compute) {
			c.Endpoint = &manifest.Endpoint{URL: "u", Selector: map[string]string{"a": "b"}}
		}, "endpoint.url", "set only one of the two"},
		"a template of another kind": {template(`{"kind": "StatefulSet"}`), "service_template", "changes kind"},
		"a template that renames": {template(`{"metadata": {"name": "x"}}`), "service_template",
			"changes metadata.name"},
		"a template that moves": {template(`{"metadata": {"namespace": "x"}}`), "service_template",
			"changes metadata.namespace"},
		"a template without labels": {template(`{"metadata": {"labels": null}}`), "service_template",
			"changes metadata.labels.kubetorch.com/service"},
		"a template that orphans pods": {template(`{"spec": {"template": {"metadata": {"labels": ` +
			`{"kubetorch.com/service": "x"}}}}}`),
			"service_template", "changes spec.template.metadata.labels.kubetorch.com/service"},
		"a template that selects others": {template(`{"spec": {"selector": {"matchLabels": {"a": "b"}}}}`),
			"service_template", "changes spec.selector"},
		"a template that is no object": {template(`{"spec": "x"}`), "service_template", "changes spec.selector"},
		"a template with status":       {template(`{"status": {"replicas": 1}}`), "service_template", "sets status"},
		"a template that loses the container": {template(`{"spec": {"template": {"spec": {"containers": [{"image": ` +
			`"x"}]}}}}`),
			"service_template", "removes the container kubetorch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, minimal(tc.change), tc.attribute, tc.says)
		})
	}
}

func TestRenderReportsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	_, err := manifest.Render(minimal(func(c *manifest.Compute) { c.Name, c.Namespace = "", "" }))
	want := "name is empty: set the name of the compute.\nnamespace is empty: set the namespace of the compute."
	if err == nil || err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

func TestLabelsThatAgreeWithOursAreNoConflict(t *testing.T) {
	t.Parallel()
	plain := render(t, minimal())
	same := render(t, minimal(func(c *manifest.Compute) {
		c.Labels = map[string]string{
			"kubetorch.com/service": "svc", "kubetorch.com/template": "deployment", "kubetorch.com/username": "alice",
			"kubetorch.com/version": manifest.KubetorchVersion, "app.kubernetes.io/managed-by": "terraform-provider-kt",
		}
	}))
	if diff := cmp.Diff(plain, same); diff != "" {
		t.Errorf("they change the objects (-without +with):\n%s", diff)
	}
}
