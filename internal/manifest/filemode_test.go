package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestFileModesAreFourOctalDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int32{"0000": 0, "0400": 0o400, "0644": 0o644, "0777": 0o777} {
		got, err := manifest.ParseFileMode(text)
		if err != nil || got != want || manifest.FileModeText(got) != text {
			t.Errorf("%s is %o, %v, and written %s", text, got, err, manifest.FileModeText(got))
		}
	}
	for _, text := range []string{"", "0", "400", "0800", "0o400", "1000", "00400", "-400", "0400 ", "rw-------"} {
		if got, err := manifest.ParseFileMode(text); err == nil {
			t.Errorf("%q is taken for %o", text, got)
		}
	}
}

// kindsWithSecrets returns computes of all kinds that mount secrets.
func kindsWithSecrets(t *testing.T, secrets ...manifest.SecretRef) map[string]manifest.Compute {
	t.Helper()
	own := func(text string) manifest.Compute {
		c := byo(t, text)
		c.Name, c.Namespace = "svc", "ml"
		return c
	}
	const template = "template: {spec: {containers: [{name: %s}]}}"
	in := func(container string) string { return strings.ReplaceAll(template, "%s", container) }
	computes := map[string]manifest.Compute{
		"Deployment": minimal(),
		"Knative":    minimal(func(c *manifest.Compute) { c.Autoscale = &manifest.Autoscale{} }),
		"RayCluster": minimal(func(c *manifest.Compute) {
			c.Distribute = &manifest.Distribute{Type: "ray", Workers: 3}
		}),
		"JAX": minimal(func(c *manifest.Compute) { c.Distribute = &manifest.Distribute{Type: "jax", Workers: 3} }),
		"Job": own("apiVersion: batch/v1\nkind: Job\nspec: {" + in("kubetorch") + "}"),
		"PyTorchJob": own("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {pytorchReplicaSpecs: {Master: {" +
			in("pytorch") + "}, Worker: {replicas: 2, " + in("pytorch") + "}}}"),
		"JobSet": own("apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nspec: {replicatedJobs: [{name: w, " +
			"template: {spec: {" + in("kubetorch") + "}}}]}"),
		"SkyTorch": tensorServer(kind.RuntimeSkyTorch),
	}
	for kind, c := range computes {
		c.Secrets = secrets
		computes[kind] = c
	}
	return computes
}

func TestVolumesOfSecretsHaveTheirDefaultMode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0400": `"defaultMode":256`, "0000": `"defaultMode":0`,
		"0644": `"defaultMode":420`, "": ""} {
		item := manifest.SecretRef{Name: "ssh", MountPath: "/root/.ssh"}
		if mode, err := manifest.ParseFileMode(text); err == nil {
			item.DefaultMode = &mode
		}
		for kind, c := range kindsWithSecrets(t, item) {
			object := render(t, c)[0]
			rendered, err := json.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			volumes := strings.Count(string(rendered), `"secretName":"ssh"`)
			if volumes == 0 || want == "" && strings.Contains(string(rendered), "defaultMode") ||
				want != "" && strings.Count(string(rendered), want) != volumes {
				t.Errorf("%s with mode %q renders %s", kind, text, rendered)
			}
			if diff := cmp.Diff([]manifest.SecretRef{item}, manifest.Observe(object).Secrets); diff != "" {
				t.Errorf("%s with mode %q is read back as (-want +got)\n%s", kind, text, diff)
			}
		}
	}
}

func TestSecretWithTwoModesHasTwoVolumes(t *testing.T) {
	t.Parallel()
	strict, open := int32(0o400), int32(0o444)
	secrets := []manifest.SecretRef{
		{Name: "ssh", MountPath: "/a", DefaultMode: &strict}, {Name: "ssh", MountPath: "/b", DefaultMode: &open},
		{Name: "ssh", MountPath: "/c", DefaultMode: &strict}, {Name: "ssh", MountPath: "/d"},
	}
	for kind, c := range kindsWithSecrets(t, secrets...) {
		if diff := cmp.Diff(secrets, manifest.Observe(render(t, c)[0]).Secrets); diff != "" {
			t.Errorf("%s is read back as (-want +got)\n%s", kind, diff)
		}
	}
}
