package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// tensorServer returns a compute that an operator runs.
func tensorServer(runtime string, change ...func(*manifest.Compute)) manifest.Compute {
	return minimal(append([]func(*manifest.Compute){func(c *manifest.Compute) { c.Runtime, c.Replicas = runtime, 0 }},
		change...)...)
}

// allAttributes sets all attributes that a tensor server supports.
func allAttributes(tb testing.TB) func(*manifest.Compute) {
	tb.Helper()
	seconds := int64(60)
	return func(c *manifest.Compute) {
		c.Image, c.Command, c.Args = "ghcr.io/example/server:1", []string{"/server"}, []string{"--limit", ""}
		c.CPUs, c.Memory, c.DiskSize, c.GPUs = quantity(tb, "4"), quantity(tb, "16Gi"), quantity(tb, "50Gi"), 2
		c.GPUType, c.NodeSelector = gpuProduct("NVIDIA-H100-80GB-HBM3"), map[string]string{"zone": "a"}
		c.Tolerations = []corev1.Toleration{{Key: "spot", Operator: "Exists", Effect: "NoExecute",
			TolerationSeconds: &seconds}}
		c.ServiceAccountName, c.ImagePullSecrets = "tensors", []string{"registry"}
		c.Labels, c.Annotations = map[string]string{"team": "ml"}, map[string]string{"owner": "alice"}
		c.EnvVars = map[string]string{"MODE": "fast", "EMPTY": "", "KT_LOG_LEVEL": "Debug"}
		c.Secrets = []manifest.SecretRef{{Name: "hf", MountPath: "/hf"}}
		c.Volumes = []manifest.VolumeRef{
			{ClaimName: "weights", MountPath: "/weights", ReadOnly: true}, {ClaimName: "weights", MountPath: "/more"},
			{ClaimName: "scratch", MountPath: "/shared"},
		}
		c.VolumeClaimTemplates = []manifest.VolumeClaimTemplate{
			{Name: "scratch", Size: quantity(tb, "100Gi"), MountPath: "/scratch"},
			{Name: "cache", Size: quantity(tb, "10Gi"), MountPath: "/cache", StorageClass: "fast",
				AccessMode: "ReadWriteOncePod"},
		}
	}
}

func tensorServerGoldens(tb testing.TB) map[string]manifest.Compute {
	tb.Helper()
	return map[string]manifest.Compute{
		"skytorch":           tensorServer(kind.RuntimeSkyTorch),
		"skytorch-every-way": tensorServer(kind.RuntimeSkyTorch, allAttributes(tb)),
		"skytorch-template": tensorServer(kind.RuntimeSkyTorch, func(c *manifest.Compute) {
			c.EnvVars, c.Volumes = map[string]string{"A": "1"},
				[]manifest.VolumeRef{{ClaimName: "data", MountPath: "/data"}}
			c.ServiceTemplate = fromJSON(tb, `{"spec": {"override": {"schedulingGates": [{"name": "example.com/hold"}],
				"containers": [{"name": "server", "volumeMounts": [{"name": "data", "mountPath": "/data",
				  "subPath": "a"}]}]}, "env": [{"name": "B", "value": "2"}]}}`)
		}),
		"kpu-suspended": tensorServer(kind.RuntimeKPU, func(c *manifest.Compute) {
			c.Suspend, c.GPUAntiAffinity, c.Registered = true, true, true
			c.DefaultLabels, c.DefaultAnnotations = map[string]string{"org": "x"}, map[string]string{"cost": "1"}
		}),
	}
}

func TestObserveIsTheInverseOfRenderForTensorServers(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*manifest.Compute){
		"nothing set":        func(*manifest.Compute) {},
		"all that can be":    allAttributes(t),
		"suspended":          func(c *manifest.Compute) { c.Suspend = true },
		"kept off GPU nodes": func(c *manifest.Compute) { c.GPUAntiAffinity = true },
	} {
		for _, runtime := range []string{kind.RuntimeSkyTorch, kind.RuntimeKPU} {
			if runtime == kind.RuntimeKPU && (name == "all that can be" || name == "kept off GPU nodes") {
				continue // it has no fields for these
			}
			t.Run(runtime+" "+name, func(t *testing.T) {
				t.Parallel()
				c := tensorServer(runtime, set)
				got := manifest.Observe(render(t, c)[0])
				if diff := cmp.Diff(c, got, sameQuantities(), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("-rendered +observed:\n%s", diff)
				}
			})
		}
	}
}

func TestTensorServerIsOneObject(t *testing.T) {
	t.Parallel()
	for name, c := range tensorServerGoldens(t) {
		c.Registered = true
		if objects := render(t, c); len(objects) != 1 || objects[0].GetKind() != "Compute" {
			t.Errorf("%s: %d objects", name, len(objects))
		}
	}
}

// A server-side apply rejects two mounts with the same name.
func TestMountsOfTensorServersHaveUniqueNames(t *testing.T) {
	t.Parallel()
	mounts := 0
	for name, c := range tensorServerGoldens(t) {
		for _, o := range render(t, c) {
			names := map[any]bool{}
			for pointer, value := range leaves(o.Object) {
				if !strings.HasPrefix(pointer, "/spec/override/containers/0/volumeMounts/") ||
					!strings.HasSuffix(pointer, "/name") {
					continue
				}
				mounts++
				if names[value] {
					t.Errorf("%s: two mounts are named %v", name, value)
				}
				names[value] = true
			}
		}
	}
	if mounts == 0 {
		t.Error("no tensor server has a mount")
	}
}

func TestRenderRejectsAttributesThatNoTensorServerSupports(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change    func(*manifest.Compute)
		attribute string
		says      string
	}{
		"two pods": {func(c *manifest.Compute) { c.Replicas, c.ReplicasGiven = 2, true }, "replicas",
			"runs one pod"},
		"no pods": {func(c *manifest.Compute) { c.ReplicasGiven = true }, "replicas",
			"set suspend = true to run none"},
		"a variable of the operator": {func(c *manifest.Compute) {
			c.EnvVars = map[string]string{"SKYTORCH_HOST": "::"}
		}, `env_vars["SKYTORCH_HOST"]`, "sets SKYTORCH_HOST, which the operator sets"},
		"a secret as variables": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "a", EnvVars: []string{"A"}}}
		}, "secrets[0].env_vars", "does not support"},
		"a secret as variables of other names": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "a", EnvKeys: map[string]string{"A": "a"}}}
		}, "secrets[0].env_keys", "does not support"},
		"a long name": {func(c *manifest.Compute) { c.Name = strings.Repeat("x", 53) }, "name",
			"use a name of at most 52"},
		"a label of the operator's": {func(c *manifest.Compute) {
			c.Labels = map[string]string{"app.kubernetes.io/name": "mine"}
		}, "labels",
			`it must be "skytorch-server" here: the operator selects the pods with it`},
		"a default label of the operator's": {
			func(c *manifest.Compute) { c.DefaultLabels = map[string]string{"app.kubernetes.io/instance": "mine"} },
			"labels",
			`the provider's default_labels sets app.kubernetes.io/instance to "mine", but it must be "svc" here`},
		"a claim twice": {func(c *manifest.Compute) {
			c.VolumeClaimTemplates = []manifest.VolumeClaimTemplate{{Name: "a", Size: quantity(t, "1"),
				MountPath: "/a"}, {Name: "a", Size: quantity(t, "1"), MountPath: "/b"}}
		}, "volume_claim_templates[1].name", "is a, which is already the name of volume_claim_templates[0]"},
		"two claims at one place": {func(c *manifest.Compute) {
			c.Volumes = []manifest.VolumeRef{{ClaimName: "x", MountPath: "/a"}}
			c.VolumeClaimTemplates = []manifest.VolumeClaimTemplate{{Name: "a", Size: quantity(t, "1"),
				MountPath: "/a/"}}
		}, "volume_claim_templates[0].mount_path", "where volumes[0] is already mounted"},
		"a template without the label": {func(c *manifest.Compute) {
			c.ServiceTemplate = fromJSON(t, `{"spec": {"labels": {"kubetorch.com/service": "x"}}}`)
		}, "service_template", "changes spec.labels.kubetorch.com/service"},
		"a Compute as a manifest": {func(c *manifest.Compute) {
			c.Runtime, c.Manifest = "", map[string]any{"apiVersion": "compute.kpu.dev/v1alpha1", "kind": "Compute"}
		}, "manifest", "is a Compute of compute.kpu.dev: set runtime instead"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, tensorServer(kind.RuntimeSkyTorch, tc.change), tc.attribute, tc.says)
		})
	}
}

func TestChangedClaimTemplatesReplaceTensorServers(t *testing.T) {
	t.Parallel()
	for _, o := range render(t, tensorServer(kind.RuntimeSkyTorch)) {
		if diff := cmp.Diff([][]string{{"spec", "volumeClaimTemplates"}},
			kind.WorkloadOf(o.GroupVersionKind().GroupKind()).CreationOnly); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	for _, o := range render(t, minimal()) {
		if fields := kind.WorkloadOf(o.GroupVersionKind().GroupKind()).CreationOnly; len(fields) > 0 {
			t.Errorf("%s: %v", o.GetKind(), fields)
		}
	}
}

// Fields that follow from other attributes, such as the tolerations of GPUs or the default of gpu_anti_affinity, are
// omitted if the CRD has no field for them.
func TestTensorServersWithoutAnOverrideOmitImpliedFields(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*manifest.Compute){
		"KPU":            func(c *manifest.Compute) { c.Runtime = kind.RuntimeKPU },
		"SkyTorch 0.1.0": func(c *manifest.Compute) { c.NoOverride = true },
	} {
		for _, of := range []func(*manifest.Compute){func(c *manifest.Compute) { c.GPUs = 1 },
			func(c *manifest.Compute) { c.GPUAntiAffinity = true }} {
			for _, o := range render(t, tensorServer(kind.RuntimeSkyTorch, of, change)) {
				spec, _ := o.Object["spec"].(map[string]any)
				if spec["override"] != nil || spec["volumeClaimTemplates"] != nil {
					t.Errorf("%s: %v", name, spec)
				}
			}
		}
	}
}
