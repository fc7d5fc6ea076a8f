package secrets_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// fromVariables are the blocks of a secret whose values come from an ephemeral
// variable, which Terraform keeps as little as a write-only attribute.
func fromVariables(attributes string) string {
	return fmt.Sprintf(`
variable "token" {
  type      = string
  ephemeral = true
}
resource "kt_secret" "x" {
  name = "x"
  %s
}`, attributes)
}

func secretX(attributes string) string {
	return fmt.Sprintf("resource \"kt_secret\" \"x\" {\n  name = \"x\"\n  %s\n}", attributes)
}

// patch edits the Secret as somebody else.
func (v *vault) patch(t *testing.T, patch string) {
	t.Helper()
	cluster.Kubectl(t, "patch", "secret", "x", "-n", v.ns, "--type=merge", "-p", patch)
}

// same fails the test unless there is nothing to do.
func (v *vault) same(t *testing.T) {
	t.Helper()
	if out, err := v.try(t, "plan", "-detailed-exitcode"); err != nil {
		t.Errorf("there is something to do:\n%s", out)
	}
}

func TestAccSecretOfWriteOnlyValuesIsRotatedByVersion(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	first, second := v.canary(), v.canary()
	v.Setenv("TF_VAR_token", first)
	v.write(t, fromVariables("values_wo = { TOKEN = var.token, USER = \"me\" }\n values_wo_version = 1"))
	acctest.ExpectText(t, v.apply(t), `+ "TOKEN" = "revision 1"`, `+ "USER" = "revision 1"`,
		"values_wo = (write-only attribute)")
	v.has(t, "x", "TOKEN", first)

	v.Setenv("TF_VAR_token", second) // without a new version nothing happens,
	v.same(t)
	v.write(t,
		fromVariables("values_wo = { TOKEN = var.token, USER = \"me\" }\n values_wo_version = 1\n labels = { team = "+
			"\"ml\" }"))
	v.apply(t) // not even along with another change
	v.has(t, "x", "TOKEN", first)

	v.write(t,
		fromVariables("values_wo = { TOKEN = var.token, USER = \"me\" }\n values_wo_version = 2\n labels = { team = "+
			"\"ml\" }"))
	acctest.ExpectText(t, v.apply(t), `~ "TOKEN" = "revision 1" -> "revision 2"`, "~ values_wo_version = 1 -> 2")
	v.has(t, "x", "TOKEN", second)

	v.patch(t, `{"data":{"TOKEN":"aGFja2Vk"}}`)
	acctest.ExpectText(t, v.apply(t), `~ "TOKEN" = "changed in the cluster" -> "revision 2"`,
		"data.TOKEN: changed by kubectl-patch at 20")
	v.has(t, "x", "TOKEN", second)

	v.write(t, fromVariables("values_wo = { TOKEN = var.token }\n labels = { team = \"ml\" }"))
	acctest.ExpectText(t, v.apply(t), `- "USER" = "revision 2" -> null`)
	third := v.canary()
	v.Setenv("TF_VAR_token", third) // without any version, the value itself counts
	acctest.ExpectText(t, v.apply(t), `~ "TOKEN" = `, `-> "revision 3"`)
	v.has(t, "x", "TOKEN", third)
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretOfFilesShowsWhatChangesInThemAndInTheCluster(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	first, second, other := v.canary(), v.canary(), v.canary()
	v.file(t, "creds/config", first)
	v.file(t, "creds/my key.pem", other)
	v.write(t, secretX(`path = "~/creds"`)+`
output "ref" { value = kt_secret.x.ref }`)
	acctest.ExpectText(t, v.apply(t), `+ "config" = "revision 1"`, `+ "my-key.pem" = "revision 1"`,
		`+ mount_path = "/root/creds"`)
	v.has(t, "x", "config", first)
	v.has(t, "x", "my-key.pem", other)

	v.file(t, "creds/config", second)
	acctest.ExpectText(t, v.apply(t), `~ "config" = "revision 1" -> "revision 2 (`)
	v.has(t, "x", "config", second)

	edited := v.canary()
	v.patch(t,
		fmt.Sprintf(
			`{"data":{"config":%q,"my-key.pem":null,"extra":%q},"metadata":{"labels":{"kubetorch.com/username":"mallory"}}}`,
			base64.StdEncoding.EncodeToString([]byte(edited)), base64.StdEncoding.EncodeToString([]byte(edited))))
	acctest.ExpectText(t, v.apply(t),
		`~ "config" = "changed in the cluster" -> "revision 2 (`,
		`- "extra" = "added in the cluster" -> null`,
		`~ "my-key.pem" = "missing in the cluster" -> "revision 1"`,
		`~ "kubetorch.com/username" = "mallory" -> "alice"`,
		`data["my-key.pem"]: removed (Kubernetes does not record who removes a field)`,
	)
	v.has(t, "x", "config", second)
	if keys := cluster.Kubectl(t, "get", "secret", "x", "-n", v.ns, "-o", "jsonpath={.data.extra}"); keys != "" {
		t.Errorf("the key of somebody else is still there: %s", keys)
	}

	v.write(t, secretX("path = \"~/creds\"\n filenames = [\"config\"]\n mount_path = \"/etc/creds\""))
	acctest.ExpectText(t, v.apply(t), `- "my-key.pem" = "revision 1" -> null`, `-> "/etc/creds"`)
	v.write(t, secretX(`path = "~/none"`))
	v.refused(t, []string{"plan"}, "path: ~/none does not exist on the machine that runs Terraform")
	v.write(t, secretX("path = \"~/creds\"\n filenames = [\"config\"]\n mount_path = \"/etc/creds\""))
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretOfVariablesIsRotated(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	first, second := v.canary(), v.canary()
	v.Setenv("LOCAL_TOKEN", first)
	v.write(t, secretX(`env_vars = { HF_TOKEN = "LOCAL_TOKEN" }`))
	acctest.ExpectText(t, v.apply(t), `+ "HF_TOKEN" = "revision 1"`)
	v.has(t, "x", "HF_TOKEN", first)
	v.Setenv("LOCAL_TOKEN", second)
	acctest.ExpectText(t, v.apply(t), `~ "HF_TOKEN" = "revision 1" -> "revision 2 (`)
	v.has(t, "x", "HF_TOKEN", second)
	v.Setenv("LOCAL_TOKEN", "")
	missing := "env_vars: not set, or empty, in the environment of Terraform: LOCAL_TOKEN."
	acctest.ExpectText(t, v.must(t, "plan", "-detailed-exitcode"), "Warning: Cannot read the source of the secret",
		missing)
	v.write(t, secretX(`env_vars = { HF_TOKEN = "LOCAL_TOKEN" }
  labels = { team = "ml" }`))
	v.refused(t, []string{"plan"}, "Error: Cannot read the source of the secret", missing)
	v.write(t, secretX(`env_vars = { HF_TOKEN = "LOCAL_TOKEN" }`))
	v.must(t, "destroy", "-auto-approve") // needs no variable
}

func TestAccSecretOfAnotherProviderIsUsedByACompute(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	token, aws := v.canary(), v.canary()
	v.file(t, ".cache/huggingface/token", token+"\n")
	v.file(t, ".aws/credentials", aws)
	v.write(t, `
resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}
resource "kt_secret" "aws" {
  name          = "aws"
  provider_name = "aws"
}`+acctest.Compute("secrets = [kt_secret.huggingface.ref, kt_secret.aws.ref]"))
	v.apply(t)
	v.has(t, "huggingface", "HF_TOKEN", token)
	v.has(t, "aws", "credentials", aws)
	pod := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", v.ns, "-o",
		`jsonpath={.spec.template.spec.containers[0].env[?(@.name=="HF_TOKEN")].valueFrom.secretKeyRef.name} `+
			`{.spec.template.spec.containers[0].volumeMounts[?(@.name=="secrets-aws")].mountPath}`)
	if pod != "huggingface /root/.aws" {
		t.Errorf("the pod has %q", pod)
	}
	labels := cluster.Kubectl(t, "get", "secret", "huggingface", "aws", "-n", v.ns, "-o",
		`jsonpath={range .items[*]}{.metadata.labels.kubetorch\.com/mount-type} `+
			`{.metadata.labels.kubetorch\.com/provider} {.metadata.annotations.kubetorch\.com/secret-path} `+
			`{.metadata.annotations.kubetorch\.com/secret-filenames};{end}`)
	if want := `env huggingface  ;volume aws ~/.aws ["credentials"];`; labels != want {
		t.Errorf("the Secrets have %q, want %q", labels, want)
	}
	v.must(t, "destroy", "-auto-approve")
}

// The mode of a key that ssh takes goes from the provider to the pods, and stays out of those of an earlier release.
func TestAccSecretOfSSHIsMountedWithTheModeThatSSHNeeds(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	key := v.canary()
	v.file(t, ".ssh/id_rsa", key)
	config := func(attributes, item string) {
		t.Helper()
		v.write(t,
			"resource \"kt_secret\" \"x\" {\n name = \"ssh\"\n "+attributes+"\n}\n"+
				acctest.Compute("secrets = ["+item+"]"))
	}
	const ref = "kt_secret.x.ref"
	mode := func(want string) {
		t.Helper()
		got := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", v.ns, "-o",
			`jsonpath={.spec.template.spec.containers[0].volumeMounts[?(@.name=="secrets-ssh")].mountPath} `+
				`{.spec.template.spec.volumes[?(@.name=="secrets-ssh")].secret.defaultMode}`)
		if got != "/root/.ssh "+want {
			t.Errorf("the key is mounted at %s, want mode %s", got, want)
		}
	}
	config(`provider_name = "ssh"`, ref)
	acctest.ExpectText(t, v.apply(t), `+ default_mode = "0400"`)
	mode("256")
	v.must(t, "plan", "-detailed-exitcode")

	config("provider_name = \"ssh\"\n default_mode = \"0444\"", ref)
	acctest.ExpectText(t, v.apply(t), `~ default_mode = "0400" -> "0444"`)
	mode("292")
	config("provider_name = \"ssh\"\n default_mode = \"0000\"", ref)
	acctest.ExpectText(t, v.apply(t), `~ default_mode = "0444" -> "0000"`)
	mode("0")
	v.must(t, "plan", "-detailed-exitcode")
	config(`provider_name = "ssh"`, ref)
	acctest.ExpectText(t, v.apply(t), `~ default_mode = "0000" -> "0400"`, `- default_mode = "0000" -> null`)
	mode("256")
	config(`provider_name = "ssh"`, `merge(kt_secret.x.ref, { default_mode = "0440" })`)
	acctest.ExpectText(t, v.apply(t), `~ default_mode = "0400" -> "0440"`)
	mode("288")
	config(`provider_name = "ssh"`, ref)
	v.apply(t)

	cluster.Kubectl(t, "annotate", "secret", "ssh", "-n", v.ns, "kubetorch.com/secret-default-mode-")
	acctest.ExpectText(t, v.apply(t), "kubetorch.com/secret-default-mode", "0 to add, 1 to change")
	v.must(t, "plan", "-detailed-exitcode")
	cluster.Kubectl(t, "patch", "deployment", "trainer", "-n", v.ns, "--type=strategic", "-p",
		`{"spec":{"template":{"spec":{"volumes":[{"name":"secrets-ssh","secret":{"defaultMode":420}}]}}}}`)
	acctest.ExpectText(t, v.apply(t), `~ default_mode = "0644" -> "0400"`)
	mode("256")

	v.must(t, "state", "rm", "kt_secret.x", "kt_compute.trainer")
	v.must(t, "import", "kt_secret.x", v.ns+"/ssh")
	v.must(t, "import", "kt_compute.trainer", v.ns+"/trainer")
	if out := v.apply(t); strings.Contains(out, "default_mode") {
		t.Errorf("the import of what is ours changes the mode:\n%s", out)
	}
	mode("256")
	config("path = \"~/.ssh\"\n default_mode = \"256\"", ref)
	v.refused(t, []string{"plan"}, "four octal digits")
	config(`path = "~/.ssh"`, ref)
	acctest.ExpectText(t, v.apply(t), `- default_mode = "0400" -> null`)
	mode("420")
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretRejectsValuesThatChangedSinceThePlan(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(t, "creds/a", v.canary())
	v.write(t, secretX(`path = "~/creds"`))
	v.apply(t)
	v.file(t, "creds/a", v.canary())
	v.plan(t)
	before := cluster.Kubectl(t, "get", "secret", "x", "-n", v.ns, "-o", "jsonpath={.metadata.resourceVersion}")
	v.file(t, "creds/a", v.canary())
	v.refused(t, []string{"apply", v.saved}, `keys["a"]`)
	if after := cluster.Kubectl(t, "get", "secret", "x", "-n", v.ns, "-o",
		"jsonpath={.metadata.resourceVersion}"); after != before {
		t.Error("the Secret was written")
	}
	v.apply(t)
	v.must(t, "destroy", "-auto-approve")
}

func TestAccDeletedOrReplacedSecretIsRecreated(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	value := v.canary()
	v.file(t, "creds/a", value)
	v.write(t, secretX("path = \"~/creds\"\n deletion_protection = true"))
	v.apply(t)
	v.refused(t, []string{"destroy", "-auto-approve"}, "deletion_protection = true")
	cluster.Kubectl(t, "delete", "secret", "x", "-n", v.ns)
	acctest.ExpectText(t, v.apply(t), "An object was deleted outside of Terraform", "1 to add")
	v.has(t, "x", "a", value)

	cluster.Kubectl(t, "delete", "secret", "x", "-n", v.ns)
	cluster.Kubectl(t, "create", "secret", "generic", "x", "-n", v.ns, "--from-literal=theirs="+v.canary())
	v.refused(t, []string{"plan"}, "Secret "+v.ns+"/x was not created by this provider", "managed by kubectl-create")
	v.write(t, secretX("path = \"~/creds\"\n adopt_existing = true"))
	acctest.ExpectText(t, v.apply(t), "Secret "+v.ns+"/x loses keys",
		"The apply removes its keys that are not in the source: theirs")
	v.has(t, "x", "a", value)
	v.has(t, "x", "theirs", "")

	v.patch(t, `{"immutable":true}`)
	v.same(t)
	v.file(t, "creds/a", v.canary())
	acctest.ExpectText(t, v.apply(t), "It has immutable: true", "must be replaced",
		"1 to add, 0 to change, 1 to destroy")
	v.must(t, "destroy", "-auto-approve")
	if left := cluster.Kubectl(t, "get", "secrets", "-n", v.ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func TestAccSecretIsImported(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	value := v.canary()
	v.file(t, "creds/a", value)
	v.write(t, secretX("path = \"~/creds\"\n labels = { team = \"ml\" }"))
	v.apply(t)
	v.must(t, "state", "rm", "kt_secret.x")
	v.must(t, "import", "kt_secret.x", v.ns+"/x")
	acctest.ExpectText(t, v.must(t, "plan"), `+ path = "~/creds"`, "0 to add, 1 to change, 0 to destroy")
	if out := v.apply(t); strings.Contains(out, "~ keys") || strings.Contains(out, "~ manifests") ||
		strings.Contains(out, "~ labels") {
		t.Errorf("the import of what is ours changes it:\n%s", out)
	}
	v.must(t, "destroy", "-auto-approve")

	cluster.Kubectl(t, "create", "secret", "generic", "x", "-n", v.ns, "--from-literal=theirs="+v.canary(),
		"--from-literal=a="+v.canary())
	v.must(t, "import", "kt_secret.x", v.ns+"/x")
	v.file(t, "creds/a", value)
	acctest.ExpectText(t, v.apply(t), `~ "a" = "imported" -> "revision`, `- "theirs" = "imported" -> null`,
		"0 to add, 1 to change, 0 to destroy")
	v.has(t, "x", "a", value)
	v.has(t, "x", "theirs", "")
	v.refused(t, []string{"import", "kt_secret.y", v.ns + "/none"})
	v.must(t, "destroy", "-auto-approve")
}
