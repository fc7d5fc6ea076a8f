package secrets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccSecretExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	token, key, file := r.canary(), r.canary(), r.canary()
	r.Setenv("TF_VAR_wandb_api_key", token)
	r.Setenv("CI_AWS_KEY_ID", key)
	r.Setenv("CI_AWS_SECRET", key)
	r.Setenv("HF_TOKEN", key)
	r.file(t, ".config/team/client.pem", file)
	r.file(t, ".config/team/client.key", file)
	r.write(t, "")
	for _, name := range []string{"resource", "write-only", "path", "from-env", "values"} {
		text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", "resources", "kt_secret", name+".tf"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.Dir, name+".tf"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.apply(t)
	r.expectValue(t, "wandb", "WANDB_API_KEY", token)
	r.expectValue(t, "team", "client.pem", file)
	r.expectValue(t, "ci", "AWS_SECRET_ACCESS_KEY", key)
	r.expectValue(t, "huggingface", "HF_TOKEN", key)
	r.must(t, "destroy", "-auto-approve")
}

func TestAccSecretIsPlannedWithUnknownValuesOrAnUnknownCluster(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.Setenv("LOCAL_TOKEN", r.canary())
	r.write(t, `
resource "terraform_data" "later" { input = "not-secret" }
resource "kt_secret" "x" {
  name   = "x"
  values = { A = terraform_data.later.output, B = "b" }
}
output "ref" { value = kt_secret.x.ref }`)
	out := r.apply(t)
	acctest.ExpectText(t, out, `+ "A" = "revision 1"`, `+ "B" = "revision 1"`)
	if strings.Contains(acctest.Unwrap(out), "ref = (known after apply)") {
		t.Errorf("ref is unknown in the plan:\n%s", out)
	}
	r.must(t, "destroy", "-auto-approve")

	r.Write(t, fmt.Sprintf(`
resource "terraform_data" "cluster" { input = %q }
provider "kt" {
  config_path = terraform_data.cluster.output
  namespace   = %q
  username    = "alice"
}
resource "kt_secret" "x" {
  name     = "x"
  from_env = { TOKEN = "LOCAL_TOKEN" }
}`, cluster.Kubeconfig(), r.ns))
	acctest.ExpectText(t, r.apply(t), "+ keys = (known after apply)")
	r.must(t, "destroy", "-auto-approve", "-target=kt_secret.x")
}

func TestAccUsernameOfASecretIsKept(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.Setenv("LOCAL_TOKEN", r.canary())
	write := func(providerAttributes, attributes string) {
		r.Write(t, fmt.Sprintf("provider \"kt\" {\n config_path = %q\n namespace = %q\n %s\n}\n%s",
			cluster.Kubeconfig(), r.ns, providerAttributes,
			secretX(`from_env = { TOKEN = "LOCAL_TOKEN" }`+"\n"+attributes)))
	}
	write(`username = "alice"`, `labels = { team = "ml" }`)
	r.apply(t)
	write("", `labels = { team = "ml" }`)
	r.expectEmptyPlan(t)
	write("default_labels = { org = \"x\" }\n default_annotations = { note = \"y\" }", "")
	acctest.ExpectText(t, r.apply(t), `+ org = "x"`, `- team = "ml"`, `+ note = "y"`)
	r.patch(t, `{"metadata":{"annotations":{"note":"z"}}}`)
	acctest.ExpectText(t, r.apply(t), `~ note = "z" -> "y"`, `metadata.annotations.note: changed by kubectl-patch`)
	labels := cluster.Kubectl(t, "get", "secret", "x", "-n", r.ns, "-o",
		`jsonpath={.metadata.labels.kubetorch\.com/username} {.metadata.labels.team} {.metadata.labels.org}`)
	if labels != "alice  x" {
		t.Errorf("the labels of the Secret are %q", labels)
	}
	r.must(t, "destroy", "-auto-approve")
}
