package manifest_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// These rules apply only to configurations.
func TestValidateRejectsConfigurations(t *testing.T) {
	t.Parallel()
	tolerates := func(of corev1.Toleration) func(*manifest.Compute) {
		return func(c *manifest.Compute) { c.Tolerations = []corev1.Toleration{of} }
	}
	seconds := int64(5)
	for name, tc := range map[string]struct {
		change    func(*manifest.Compute)
		attribute string
		says      string
	}{
		"a value of Exists": {tolerates(corev1.Toleration{Key: "a", Operator: "Exists", Value: "b"}),
			"tolerations[0].value", "remove value, or use Equal"},
		"Equal without a key": {tolerates(corev1.Toleration{Value: "b"}), "tolerations[0].key",
			"tolerations[0] has no key"},
		"seconds of NoSchedule": {tolerates(corev1.Toleration{Key: "a", Effect: "NoSchedule",
			TolerationSeconds: &seconds}), "tolerations[0].toleration_seconds", "requires the effect NoExecute"},
		"KAI without a queue": {func(c *manifest.Compute) { c.QueueScheduler = "kai" }, "queue_scheduler",
			"set queue_name too"},
		"GPUs off GPU nodes": {func(c *manifest.Compute) {
			c.GPUs, c.GPUAntiAffinity = 1, true
			c.Settings = []manifest.Setting{{Attribute: "gpu_anti_affinity", Runners: kind.Kubetorch}}
		}, "gpu_anti_affinity", "remove one of the two"},
		"args that are attributes": {func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Args: map[string]any{"quorum_timeout": "1s"}}
		}, "distribute.args", "which is distribute.quorum_timeout"},
		"replicas of workers": {func(c *manifest.Compute) {
			c.Distribute, c.Replicas, c.ReplicasGiven = &manifest.Distribute{}, 2, true
		}, "replicas", "their number is distribute.workers"},
		"a pod template of no manifest": {func(c *manifest.Compute) { c.PodTemplatePath = []string{"spec"} },
			"pod_template_path", "set manifest too"},
		"permissions of files not there": {func(c *manifest.Compute) {
			c.Secrets = []manifest.SecretRef{{Name: "a", EnvVars: []string{"A"}, DefaultMode: new(int32(0o400))}}
		}, "secrets[0].default_mode", "set mount_path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, minimal(tc.change), tc.attribute, tc.says)
		})
	}
}

// An unknown attribute is zero in the compute, and must not cause errors.
func TestValidateReportsNothingThatDependsOnAnUnknownAttribute(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*manifest.Compute)
		unknown string
	}{
		"path of a secret": {func(c *manifest.Compute) { c.Secrets = []manifest.SecretRef{{Name: "a"}} },
			"secrets[0].mount_path"},
		"a whole secret": {func(c *manifest.Compute) { c.Secrets = []manifest.SecretRef{{}} }, "secrets[0]"},
		"effect of a toleration": {func(c *manifest.Compute) {
			c.Tolerations = []corev1.Toleration{{Key: "a", TolerationSeconds: new(int64(1))}}
		}, "tolerations[0].effect"},
		"queue": {func(c *manifest.Compute) { c.QueueScheduler = "kai" }, "queue_name"},
		"workers": {func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{QuorumWorkers: new(int64(3))} },
			"distribute.workers"},
		"class of autoscaling": {func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{Metric: "cpu"} },
			"autoscale.autoscaler_class"},
		"mode of a label": {func(c *manifest.Compute) {
			c.Labels = map[string]string{"kubetorch.com/template": "ksvc"}
		}, "autoscale"},
		"name in a template": {func(c *manifest.Compute) {
			c.ServiceTemplate = fromJSON(t, `{"metadata": {"name": "x"}}`)
		}, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := minimal(tc.change)
			if len(manifest.Validate(c, func(manifest.Path) bool { return false })) == 0 {
				t.Fatal("nothing is wrong even if all is known")
			}
			hidden := func(at manifest.Path) bool { return strings.HasPrefix(at.String(), tc.unknown) }
			if errs := manifest.Validate(c, hidden); len(errs) > 0 {
				t.Errorf("says %v", errs)
			}
		})
	}
}

func TestNameIsThatOfAServiceUnlessNothingIsAdded(t *testing.T) {
	t.Parallel()
	known := func(manifest.Path) bool { return false }
	c := minimal(func(c *manifest.Compute) {
		c.Name, c.Manifest = "8b.web", fromJSON(t, `{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {`+
			`"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, `+
			`"spec": {"containers": [{"name": "web", "image": "a:1"}]}}}}`)
	})
	errs := manifest.Validate(c, known)
	if len(errs) != 1 || !strings.Contains(errs.Error(), "RFC 1035 label") {
		t.Errorf("got %v", errs)
	}
	c.ManifestOnly = true
	if errs := manifest.Validate(c, known); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
}

func TestPathsAreWrittenAsInConfigurations(t *testing.T) {
	t.Parallel()
	at := manifest.At("secrets", manifest.Index(1), manifest.Name("env_vars"), manifest.Entry("a b"))
	if got := at.String(); got != `secrets[1].env_vars["a b"]` {
		t.Errorf("%s", got)
	}
}
