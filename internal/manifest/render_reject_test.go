package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestRenderRejects(t *testing.T) {
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
		"an exposed server without a port": {func(c *manifest.Compute) {
			c.Command, c.Expose = []string{"/app/server"}, &manifest.Expose{Hosts: []string{"chat.example.com"}}
		}, "expose", "set port too"},
		"a share beside GPUs": {func(c *manifest.Compute) { c.GPUs = 1; c.GPUMemory = quantity(t, "4Gi") },
			"gpu_memory", "KAI rejects"},
		"a share of nothing": {func(c *manifest.Compute) { c.GPUMemory = quantity(t, "0") }, "gpu_memory",
			"more than zero"},
		"two GPU products": {func(c *manifest.Compute) {
			c.GPUType = gpuProduct("L4")
			c.NodeSelector = map[string]string{"nvidia.com/gpu.product": "T4"}
		}, "gpu_type", "node_selector selects nvidia.com/gpu.product=T4"},
		"the service label": {func(c *manifest.Compute) { c.Labels = map[string]string{"kubetorch.com/service": "x"} },
			"labels", "labels sets kubetorch.com/service"},
		"a template label": {func(c *manifest.Compute) {
			c.Labels = map[string]string{"kubetorch.com/template": "ksvc"}
		}, "labels", "kubetorch.com/template"},
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
		"a port of Kubetorch's server": {func(c *manifest.Compute) {
			c.Port, c.Settings = 8000, []manifest.Setting{{Attribute: "port", Runners: kind.Kubetorch}}
		}, "port", "set command or args too"},
		"a health path without a port": {func(c *manifest.Compute) {
			c.Command, c.HealthPath = []string{"serve"}, "/health"
		}, "health_path", "set port too"},
		"a frozen server of one's own": {func(c *manifest.Compute) {
			c.Command = []string{"serve"}
			c.Settings = []manifest.Setting{{Attribute: "freeze", Runners: kind.Kubetorch}}
		}, "freeze", "which command and args replace"},
		"an image setup of a Job": {func(c *manifest.Compute) {
			c.Command, c.Job = []string{"tune"}, &manifest.Job{}
			c.Settings = []manifest.Setting{{Attribute: "image_ref", Runners: kind.Kubetorch}}
		}, "image_ref", "replace: remove it (image replaces image_ref)"},
		"a server of one's own on Ray": {func(c *manifest.Compute) {
			c.Command, c.Distribute = []string{"serve"}, &manifest.Distribute{Type: "ray", Workers: 2}
		}, "command", "KubeRay starts"},
		"a variable that extends itself without a script": {func(c *manifest.Compute) {
			c.Command, c.EnvVars = []string{"serve"}, map[string]string{"PATH": "$PATH:/x"}
		}, "env_vars[\"PATH\"]", "set the complete value"},
		"an idle secret": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "hf"}}
		}, "secrets[0]", "set env_vars, env_keys or mount_path"},
		"a variable twice": {func(c *manifest.Compute) {
			c.EnvVars = map[string]string{"A": "1"}
			c.Secrets = []manifest.SecretRef{{Name: "s", EnvVars: []string{"A"}}}
		}, "secrets[0].env_vars[0]", "env_vars also sets"},
		"a variable from two secrets": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "s", EnvVars: []string{"A"}}, {Name: "t", EnvVars: []string{"A"}}}
		}, "secrets[1].env_vars[0]", "secrets[0] also sets"},
		"a variable from a key of another name twice": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "s", EnvVars: []string{"A"}, EnvKeys: map[string]string{"A": "b"}}}
		}, `secrets[0].env_keys["A"]`, "secrets[0] also sets"},
		"a path twice": {func(c *manifest.Compute) {
			c.Volumes = []manifest.VolumeRef{{ClaimName: "a", MountPath: "/x"}, {ClaimName: "b", MountPath: "/x/"}}
		}, "volumes[1].mount_path", "volumes[0] is already mounted"},
		"a secret over a claim": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "s", MountPath: "/x"}}
			c.Volumes = []manifest.VolumeRef{{ClaimName: "b", MountPath: "/x"}}
		}, "volumes[0].mount_path", "secrets[0] is already mounted"},
		"a claim over shared memory": {func(c *manifest.Compute) {
			c.Volumes = []manifest.VolumeRef{{ClaimName: "a", MountPath: "/dev/shm"}}
		}, "volumes[0].mount_path", "shared memory"},
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

func TestRenderReportsAllProblems(t *testing.T) {
	t.Parallel()
	_, err := manifest.Render(minimal(func(c *manifest.Compute) { c.Name, c.Namespace = "", "" }))
	want := "name is empty: set the name of the compute.\nnamespace is empty: set the namespace of the compute."
	if err == nil || err.Error() != want {
		t.Errorf("says %q, want %q", err, want)
	}
}

func TestLabelsEqualToOursAreNotAConflict(t *testing.T) {
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
