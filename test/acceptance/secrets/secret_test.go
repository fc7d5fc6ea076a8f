package secrets_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// fromVariables returns the secret x and the ephemeral variable token. Terraform stores neither ephemeral variables nor
// write-only attributes.
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

// secretX returns the configuration of the secret x.
func secretX(attributes string) string {
	return fmt.Sprintf("resource \"kt_secret\" \"x\" {\n  name = \"x\"\n  %s\n}", attributes)
}

// patch edits the Secret as another client.
func (r *secretRun) patch(t *testing.T, patch string) {
	t.Helper()
	cluster.Kubectl(t, "patch", "secret", "x", "-n", r.ns, "--type=merge", "-p", patch)
}

// expectEmptyPlan fails the test unless the plan is empty.
func (r *secretRun) expectEmptyPlan(t *testing.T) {
	t.Helper()
	if out, err := r.try(t, "plan", "-detailed-exitcode"); err != nil {
		t.Errorf("the plan is not empty:\n%s", out)
	}
}

func TestAccSecretWithWriteOnlyValuesIsRotatedByVersion(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	first, second := r.canary(), r.canary()
	r.Setenv("TF_VAR_token", first)
	r.write(t, fromVariables("values_wo = { TOKEN = var.token, USER = \"me\" }\n values_wo_version = 1"))
	acctest.ExpectText(t, r.apply(t), `+ "TOKEN" = "revision 1"`, `+ "USER" = "revision 1"`,
		"values_wo = (write-only attribute)")
	r.expectValue(t, "x", "TOKEN", first)

	// Without a new version, the new value is not applied, not even together with another change.
	r.Setenv("TF_VAR_token", second)
	r.expectEmptyPlan(t)
	r.write(t, fromVariables("values_wo = { TOKEN = var.token, USER = \"me\" }\n values_wo_version = 1\n "+
		"labels = { team = \"ml\" }"))
	r.apply(t)
	r.expectValue(t, "x", "TOKEN", first)

	r.write(t, fromVariables("values_wo = { TOKEN = var.token, USER = \"me\" }\n values_wo_version = 2\n "+
		"labels = { team = \"ml\" }"))
	acctest.ExpectText(t, r.apply(t), `~ "TOKEN" = "revision 1" -> "revision 2"`, "~ values_wo_version = 1 -> 2")
	r.expectValue(t, "x", "TOKEN", second)

	r.patch(t, `{"data":{"TOKEN":"aGFja2Vk"}}`)
	acctest.ExpectText(t, r.apply(t), `~ "TOKEN" = "changed in the cluster" -> "revision 2"`,
		"data.TOKEN: changed by kubectl-patch at 20")
	r.expectValue(t, "x", "TOKEN", second)

	r.write(t, fromVariables("values_wo = { TOKEN = var.token }\n labels = { team = \"ml\" }"))
	acctest.ExpectText(t, r.apply(t), `- "USER" = "revision 2" -> null`)
	third := r.canary()
	r.Setenv("TF_VAR_token", third) // without a version, a changed value is applied
	acctest.ExpectText(t, r.apply(t), `~ "TOKEN" = `, `-> "revision 3"`)
	r.expectValue(t, "x", "TOKEN", third)
	r.must(t, "destroy", "-auto-approve")
}

// The plan keeps the value. To send it again, the update must read it.
func TestAccSecretThatCannotBeReadKeepsItsValue(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
		return request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/secrets/x")
	})
	proxy.Forbidden = true
	proxy.Repaired.Store(true)
	write := func(attributes string) {
		r.Write(t, proxy.Config(r.ns, fromVariables("values_wo = { TOKEN = var.token }\n "+attributes)))
	}
	first := r.canary()
	r.Setenv("TF_VAR_token", first)
	write("values_wo_version = 1")
	r.apply(t)
	proxy.Repaired.Store(false)
	write("values_wo_version = 1\n labels = { team = \"ml\" }")
	r.apply(t)
	r.Setenv("TF_VAR_token", r.canary())
	write("values_wo_version = 1\n labels = { team = \"web\" }")
	out, err := r.try(t, "apply", "-auto-approve")
	if err == nil {
		t.Errorf("the update replaced the value:\n%s", out)
	}
	acctest.ExpectText(t, out, "cannot be kept", "change values_wo_version")
	r.expectValue(t, "x", "TOKEN", first)
	proxy.Repaired.Store(true)
	r.must(t, "destroy", "-auto-approve")
}

// The end of a creation removes an annotation, which changes the version of the Secret.
func TestAccSecretIsReadAfterItsCreationOnlyIfItWasChanged(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	var reads atomic.Int32
	proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
		if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/secrets/x") {
			reads.Add(1)
		}
		return false
	})
	r.Setenv("TF_VAR_token", r.canary())
	r.Write(t, proxy.Config(r.ns, fromVariables("values_wo = { TOKEN = var.token }\n values_wo_version = 1")))
	r.apply(t)
	annotations := cluster.Kubectl(t, "get", "secret", "x", "-n", r.ns, "-o", "jsonpath={.metadata.annotations}")
	if strings.Contains(annotations, "kt.dev/unfinished") {
		t.Fatalf("the creation is unfinished: %s", annotations)
	}
	reads.Store(0)
	r.must(t, "plan", "-detailed-exitcode")
	if got := reads.Load(); got != 0 {
		t.Errorf("the plan read the values %d times", got)
	}
	r.patch(t, `{"data":{"TOKEN":"aGFja2Vk"}}`)
	out, _ := r.try(t, "plan", "-detailed-exitcode") // the exit status of changes
	acctest.ExpectText(t, out, `~ "TOKEN" = "changed in the cluster" -> "revision 1"`)
	r.apply(t)
	r.must(t, "destroy", "-auto-approve")
}

func TestAccSecretFromFilesShowsChangesOfTheFilesAndInTheCluster(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	first, second, other := r.canary(), r.canary(), r.canary()
	r.file(t, "creds/config", first)
	r.file(t, "creds/my key.pem", other)
	r.write(t, secretX(`path = "~/creds"`)+`
output "ref" { value = kt_secret.x.ref }`)
	acctest.ExpectText(t, r.apply(t), `+ "config" = "revision 1"`, `+ "my-key.pem" = "revision 1"`,
		`+ mount_path = "/root/creds"`)
	r.expectValue(t, "x", "config", first)
	r.expectValue(t, "x", "my-key.pem", other)

	r.file(t, "creds/config", second)
	acctest.ExpectText(t, r.apply(t), `~ "config" = "revision 1" -> "revision 2 (`)
	r.expectValue(t, "x", "config", second)

	edited := r.canary()
	r.patch(t,
		fmt.Sprintf(
			`{"data":{"config":%q,"my-key.pem":null,"extra":%q},`+
				`"metadata":{"labels":{"kubetorch.com/username":"mallory"}}}`,
			base64.StdEncoding.EncodeToString([]byte(edited)), base64.StdEncoding.EncodeToString([]byte(edited))))
	acctest.ExpectText(t, r.apply(t),
		`~ "config" = "changed in the cluster" -> "revision 2 (`,
		`- "extra" = "added in the cluster" -> null`,
		`~ "my-key.pem" = "missing in the cluster" -> "revision 1"`,
		`~ "kubetorch.com/username" = "mallory" -> "alice"`,
		`data["my-key.pem"]: removed (Kubernetes does not record who removes a field)`,
	)
	r.expectValue(t, "x", "config", second)
	r.expectValue(t, "x", "extra", "")

	r.write(t, secretX("path = \"~/creds\"\n filenames = [\"config\"]\n mount_path = \"/etc/creds\""))
	acctest.ExpectText(t, r.apply(t), `- "my-key.pem" = "revision 1" -> null`, `-> "/etc/creds"`)
	r.write(t, secretX(`path = "~/none"`))
	r.mustFail(t, []string{"plan"}, "path: ~/none does not exist on the machine that runs Terraform")
	r.write(t, secretX("path = \"~/creds\"\n filenames = [\"config\"]\n mount_path = \"/etc/creds\""))
	r.must(t, "destroy", "-auto-approve")
}

func TestAccSecretFromEnvironmentVariablesIsRotated(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	first, second := r.canary(), r.canary()
	r.Setenv("LOCAL_TOKEN", first)
	r.write(t, secretX(`from_env = { HF_TOKEN = "LOCAL_TOKEN" }`))
	acctest.ExpectText(t, r.apply(t), `+ "HF_TOKEN" = "revision 1"`)
	r.expectValue(t, "x", "HF_TOKEN", first)
	r.Setenv("LOCAL_TOKEN", second)
	acctest.ExpectText(t, r.apply(t), `~ "HF_TOKEN" = "revision 1" -> "revision 2 (`)
	r.expectValue(t, "x", "HF_TOKEN", second)
	r.Setenv("LOCAL_TOKEN", "")
	missing := `from_env: the variable named in from_env["HF_TOKEN"] is not set, or is empty, in the environment of ` +
		"Terraform."
	acctest.ExpectText(t, r.must(t, "plan", "-detailed-exitcode"), "Warning: Cannot read the source of the secret",
		missing)
	r.write(t, secretX(`from_env = { HF_TOKEN = "LOCAL_TOKEN" }
  labels = { team = "ml" }`))
	r.mustFail(t, []string{"plan"}, "Error: Cannot read the source of the secret", missing)
	r.write(t, secretX(`from_env = { HF_TOKEN = "LOCAL_TOKEN" }`))
	r.must(t, "destroy", "-auto-approve") // does not require the variables
}

func TestAccSecretWithAProviderNameIsUsedByACompute(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	token, aws := r.canary(), r.canary()
	r.file(t, ".cache/huggingface/token", token+"\n")
	r.file(t, ".aws/credentials", aws)
	r.write(t, `
resource "kt_secret" "huggingface" {
  name          = "huggingface"
  provider_name = "huggingface"
}
resource "kt_secret" "aws" {
  name          = "aws"
  provider_name = "aws"
}`+acctest.Compute("secrets = [kt_secret.huggingface.ref, kt_secret.aws.ref]"))
	r.apply(t)
	r.expectValue(t, "huggingface", "HF_TOKEN", token)
	r.expectValue(t, "aws", "credentials", aws)
	pod := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", r.ns, "-o",
		`jsonpath={.spec.template.spec.containers[0].env[?(@.name=="HF_TOKEN")].valueFrom.secretKeyRef.name} `+
			`{.spec.template.spec.containers[0].volumeMounts[?(@.name=="secrets-aws")].mountPath}`)
	if pod != "huggingface /root/.aws" {
		t.Errorf("the pod contains %q", pod)
	}
	labels := cluster.Kubectl(t, "get", "secret", "huggingface", "aws", "-n", r.ns, "-o",
		`jsonpath={range .items[*]}{.metadata.labels.kubetorch\.com/mount-type} `+
			`{.metadata.labels.kubetorch\.com/provider} {.metadata.annotations.kubetorch\.com/secret-path} `+
			`{.metadata.annotations.kubetorch\.com/secret-filenames};{end}`)
	if want := `env huggingface  ;volume aws ~/.aws ["credentials"];`; labels != want {
		t.Errorf("the labels of the Secrets are %q, want %q", labels, want)
	}
	r.must(t, "destroy", "-auto-approve")
}

// The default mode depends on provider_name and is passed to the pods. It is not set for Secrets of an earlier release.
func TestAccSSHSecretIsMountedWithTheModeThatSSHRequires(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	key := r.canary()
	r.file(t, ".ssh/id_rsa", key)
	config := func(attributes, item string) {
		t.Helper()
		r.write(t,
			"resource \"kt_secret\" \"x\" {\n name = \"ssh\"\n "+attributes+"\n}\n"+
				acctest.Compute("secrets = ["+item+"]"))
	}
	const ref = "kt_secret.x.ref"
	expectMode := func(want string) {
		t.Helper()
		got := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", r.ns, "-o",
			`jsonpath={.spec.template.spec.containers[0].volumeMounts[?(@.name=="secrets-ssh")].mountPath} `+
				`{.spec.template.spec.volumes[?(@.name=="secrets-ssh")].secret.defaultMode}`)
		if got != "/root/.ssh "+want {
			t.Errorf("the key is mounted at %s, want mode %s", got, want)
		}
	}
	config(`provider_name = "ssh"`, ref)
	acctest.ExpectText(t, r.apply(t), `+ default_mode = "0400"`)
	expectMode("256")
	r.must(t, "plan", "-detailed-exitcode")

	config("provider_name = \"ssh\"\n default_mode = \"0444\"", ref)
	acctest.ExpectText(t, r.apply(t), `~ default_mode = "0400" -> "0444"`)
	expectMode("292")
	config("provider_name = \"ssh\"\n default_mode = \"0000\"", ref)
	acctest.ExpectText(t, r.apply(t), `~ default_mode = "0444" -> "0000"`)
	expectMode("0")
	r.must(t, "plan", "-detailed-exitcode")
	config(`provider_name = "ssh"`, ref)
	acctest.ExpectText(t, r.apply(t), `~ default_mode = "0000" -> "0400"`, `- default_mode = "0000" -> null`)
	expectMode("256")
	config(`provider_name = "ssh"`, `merge(kt_secret.x.ref, { default_mode = "0440" })`)
	acctest.ExpectText(t, r.apply(t), `~ default_mode = "0400" -> "0440"`)
	expectMode("288")
	config(`provider_name = "ssh"`, ref)
	r.apply(t)

	cluster.Kubectl(t, "annotate", "secret", "ssh", "-n", r.ns, "kubetorch.com/secret-default-mode-")
	acctest.ExpectText(t, r.apply(t), "kubetorch.com/secret-default-mode", "0 to add, 1 to change")
	r.must(t, "plan", "-detailed-exitcode")
	cluster.Kubectl(t, "patch", "deployment", "trainer", "-n", r.ns, "--type=strategic", "-p",
		`{"spec":{"template":{"spec":{"volumes":[{"name":"secrets-ssh","secret":{"defaultMode":420}}]}}}}`)
	acctest.ExpectText(t, r.apply(t), `~ default_mode = "0644" -> "0400"`)
	expectMode("256")

	r.must(t, "state", "rm", "kt_secret.x", "kt_compute.trainer")
	r.must(t, "import", "kt_secret.x", r.ns+"/ssh")
	r.must(t, "import", "kt_compute.trainer", r.ns+"/trainer")
	if out := r.apply(t); strings.Contains(out, "default_mode") {
		t.Errorf("the import of a managed Secret changes its mode:\n%s", out)
	}
	expectMode("256")
	config("path = \"~/.ssh\"\n default_mode = \"256\"", ref)
	r.mustFail(t, []string{"plan"}, "four octal digits")
	config(`path = "~/.ssh"`, ref)
	acctest.ExpectText(t, r.apply(t), `- default_mode = "0400" -> null`)
	expectMode("420")
	r.must(t, "destroy", "-auto-approve")
}

func TestAccSecretApplyRejectsValuesThatChangedSinceThePlan(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.file(t, "creds/a", r.canary())
	r.write(t, secretX(`path = "~/creds"`))
	r.apply(t)
	r.file(t, "creds/a", r.canary())
	r.plan(t)
	before := cluster.Kubectl(t, "get", "secret", "x", "-n", r.ns, "-o", "jsonpath={.metadata.resourceVersion}")
	r.file(t, "creds/a", r.canary())
	r.mustFail(t, []string{"apply", r.saved}, `keys["a"]`)
	if after := cluster.Kubectl(t, "get", "secret", "x", "-n", r.ns, "-o",
		"jsonpath={.metadata.resourceVersion}"); after != before {
		t.Error("the Secret was updated")
	}
	r.apply(t)
	r.must(t, "destroy", "-auto-approve")
}

func TestAccDeletedOrReplacedSecretIsRecreated(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	value := r.canary()
	r.file(t, "creds/a", value)
	r.write(t, secretX("path = \"~/creds\"\n deletion_protection = true"))
	r.apply(t)
	r.mustFail(t, []string{"destroy", "-auto-approve"}, "deletion_protection = true")
	cluster.Kubectl(t, "delete", "secret", "x", "-n", r.ns)
	acctest.ExpectText(t, r.apply(t), "An object was deleted outside of Terraform", "1 to add")
	r.expectValue(t, "x", "a", value)

	cluster.Kubectl(t, "delete", "secret", "x", "-n", r.ns)
	cluster.Kubectl(t, "create", "secret", "generic", "x", "-n", r.ns, "--from-literal=other="+r.canary())
	r.mustFail(t, []string{"plan"}, "Secret "+r.ns+"/x was not created by this provider", "managed by kubectl-create")
	r.write(t, secretX("path = \"~/creds\"\n adopt_existing = true"))
	acctest.ExpectText(t, r.apply(t), "Secret "+r.ns+"/x loses keys",
		"The apply removes its keys that are not in the source: other")
	r.expectValue(t, "x", "a", value)
	r.expectValue(t, "x", "other", "")

	r.patch(t, `{"immutable":true}`)
	r.expectEmptyPlan(t)
	r.file(t, "creds/a", r.canary())
	acctest.ExpectText(t, r.apply(t), "It has immutable: true", "must be replaced",
		`~ "a" = "revision 1" -> (known after apply)`, "1 to add, 0 to change, 1 to destroy")
	acctest.ExpectText(t, r.must(t, "state", "show", "kt_secret.x"), `"a" = "revision 2"`)
	r.must(t, "taint", "kt_secret.x") // its plan does not receive the private state
	r.file(t, "creds/a", r.canary())
	acctest.ExpectText(t, r.apply(t), "is tainted", `-> "revision 1"`, "1 to add, 0 to change, 1 to destroy")
	r.patch(t, `{"immutable":true}`)
	r.file(t, "creds/a", r.canary())
	r.plan(t)
	r.file(t, "creds/a", r.canary()) // the text of the new value was unknown in the plan
	r.must(t, "apply", r.saved)
	acctest.ExpectText(t, r.must(t, "state", "show", "kt_secret.x"), `"a" = "revision 2"`)
	const createBefore = "\n lifecycle {\n create_before_destroy = true\n }"
	r.write(t, secretX("path = \"~/creds\"\n adopt_existing = true"+createBefore))
	r.file(t, "creds/a", r.canary())
	r.must(t, "apply", "-auto-approve", "-replace=kt_secret.x") // the creation knows nothing of the former Secret
	r.write(t, strings.Replace(secretX("path = \"~/creds\""+createBefore), `name = "x"`, `name = "y"`, 1))
	r.file(t, "creds/a", r.canary())
	acctest.ExpectText(t, r.apply(t), "forces replacement", "1 to add, 0 to change, 1 to destroy")
	r.must(t, "destroy", "-auto-approve")
	if left := cluster.Kubectl(t, "get", "secrets", "-n", r.ns, "-o", "name"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func TestAccSecretIsImported(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	value := r.canary()
	r.file(t, "creds/a", value)
	r.write(t, secretX("path = \"~/creds\"\n labels = { team = \"ml\" }"))
	r.apply(t)
	r.must(t, "state", "rm", "kt_secret.x")
	r.must(t, "import", "kt_secret.x", r.ns+"/x")
	acctest.ExpectText(t, r.must(t, "plan"), `+ path = "~/creds"`, "0 to add, 1 to change, 0 to destroy")
	if out := r.apply(t); strings.Contains(out, "~ keys") || strings.Contains(out, "~ manifests") ||
		strings.Contains(out, "~ labels") {
		t.Errorf("the import of a managed object changes it:\n%s", out)
	}
	r.must(t, "destroy", "-auto-approve")

	cluster.Kubectl(t, "create", "secret", "generic", "x", "-n", r.ns, "--from-literal=other="+r.canary(),
		"--from-literal=a="+r.canary())
	r.must(t, "import", "kt_secret.x", r.ns+"/x")
	r.file(t, "creds/a", value)
	acctest.ExpectText(t, r.apply(t), `~ "a" = "imported" -> "revision`, `- "other" = "imported" -> null`,
		"0 to add, 1 to change, 0 to destroy")
	r.expectValue(t, "x", "a", value)
	r.expectValue(t, "x", "other", "")
	r.mustFail(t, []string{"import", "kt_secret.y", r.ns + "/none"})
	r.must(t, "destroy", "-auto-approve")
}
