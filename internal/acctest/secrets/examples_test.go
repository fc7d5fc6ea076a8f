package secrets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

func TestAccSecretExamplesApplyWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	token, key, file := v.canary(), v.canary(), v.canary()
	v.Setenv("TF_VAR_wandb_api_key", token)
	v.Setenv("CI_AWS_KEY_ID", key)
	v.Setenv("CI_AWS_SECRET", key)
	v.Setenv("HF_TOKEN", key)
	v.file(t, ".config/team/client.pem", file)
	v.file(t, ".config/team/client.key", file)
	v.write(t, "")
	for _, name := range []string{"resource", "write-only", "path", "env-vars", "values"} {
		text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", "resources", "kt_secret", name+".tf"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(v.Dir, name+".tf"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v.apply(t)
	v.has(t, "wandb", "WANDB_API_KEY", token)
	v.has(t, "team", "client.pem", file)
	v.has(t, "ci", "AWS_SECRET_ACCESS_KEY", key)
	v.has(t, "huggingface", "HF_TOKEN", key)
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretIsPlannedBeforeItsValuesOrTheClusterAreKnown(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.Setenv("LOCAL_TOKEN", v.canary())
	v.write(t, `
resource "terraform_data" "later" { input = "not-secret" }
resource "kt_secret" "x" {
  name   = "x"
  values = { A = terraform_data.later.output, B = "b" }
}
output "ref" { value = kt_secret.x.ref }`)
	out := v.apply(t)
	acctest.ExpectText(t, out, `+ "A" = "revision 1"`, `+ "B" = "revision 1"`)
	if strings.Contains(out, "ref  = (known after apply)") {
		t.Errorf("ref is not known at plan:\n%s", out)
	}
	v.must(t, "destroy", "-auto-approve")

	v.Write(t, fmt.Sprintf(`
resource "terraform_data" "cluster" { input = %q }
provider "kt" {
  config_path = terraform_data.cluster.output
  namespace   = %q
  username    = "alice"
}
resource "kt_secret" "x" {
  name     = "x"
  env_vars = { TOKEN = "LOCAL_TOKEN" }
}`, cluster.Kubeconfig(), v.ns))
	acctest.ExpectText(t, v.apply(t), "+ keys = (known after apply)")
	v.must(t, "destroy", "-auto-approve", "-target=kt_secret.x")
}

func TestAccSecretKeepsTheUserOfCreation(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.Setenv("LOCAL_TOKEN", v.canary())
	as := func(more, attributes string) {
		v.Write(t,
			fmt.Sprintf("provider \"kt\" {\n config_path = %q\n namespace = %q\n %s\n}\n%s", cluster.Kubeconfig(), v.ns,
				more,
				secretX(`env_vars = { TOKEN = "LOCAL_TOKEN" }`+"\n"+attributes)))
	}
	as(`username = "alice"`, `labels = { team = "ml" }`)
	v.apply(t)
	as("", `labels = { team = "ml" }`)
	v.same(t)
	as("default_labels = { org = \"x\" }\n default_annotations = { note = \"y\" }", "")
	acctest.ExpectText(t, v.apply(t), `+ org = "x"`, `- team = "ml"`, `+ note = "y"`)
	v.patch(t, `{"metadata":{"annotations":{"note":"z"}}}`)
	acctest.ExpectText(t, v.apply(t), `~ note = "z" -> "y"`, `metadata.annotations.note: changed by kubectl-patch`)
	labels := cluster.Kubectl(t, "get", "secret", "x", "-n", v.ns, "-o",
		`jsonpath={.metadata.labels.kubetorch\.com/username} {.metadata.labels.team} {.metadata.labels.org}`)
	if labels != "alice  x" {
		t.Errorf("the labels are %q", labels)
	}
	v.must(t, "destroy", "-auto-approve")
}
