package secrets_test

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// quotingPolicy denies Secrets, or warns about them. Its message contains the values of the new and the old object,
// encoded in base64.
const quotingPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: secrets-%[1]s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: [CREATE, UPDATE, DELETE]}
  failurePolicy: Fail
  validations:
  - expression: "false"
    messageExpression: >
      ('the policy of this namespace denies ' +
      (object == null || !has(object.data) ? 'nothing' :
      object.data.map(k, string(object.data[k])).join(', ')) + ' and ' +
      (oldObject == null || !has(oldObject.data) ? 'nothing' :
      oldObject.data.map(k, string(oldObject.data[k])).join(', ')))
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: secrets-%[1]s}
spec: {policyName: secrets-%[1]s, validationActions: [%[2]s]}
`

// enforcePolicy applies quotingPolicy to the namespace until the returned function is called. The action is Deny or
// Warn.
func (r *secretRun) enforcePolicy(t *testing.T, action string) (remove func()) {
	t.Helper()
	cluster.Apply(t, fmt.Sprintf(quotingPolicy, r.ns, action))
	removed := false
	deletePolicy := func() {
		if !removed {
			cluster.Kubectl(t, "delete", "validatingadmissionpolicy/secrets-"+r.ns,
				"validatingadmissionpolicybinding/secrets-"+r.ns)
		}
		removed = true
	}
	t.Cleanup(deletePolicy)
	r.waitForSecret(t, "denies cHJvYmU", true)
	return func() {
		deletePolicy()
		r.waitForSecret(t, "denies", false)
	}
}

// waitForSecret waits until the response of the API server to a new Secret contains a text, or until it does not.
func (r *secretRun) waitForSecret(t *testing.T, text string, want bool) {
	t.Helper()
	cluster.WaitForOutput(t, text, want,
		"create", "secret", "generic", "probe", "--from-literal=k=probe-value", "--dry-run=server", "-n", r.ns)
}

func TestAccSecretValuesInPolicyMessagesAreMasked(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	removePolicy := r.enforcePolicy(t, "Deny")
	r.Setenv("TF_VAR_token", r.canary())
	r.write(t, fromVariables("values_wo = { TOKEN = var.token }"))
	r.mustFail(t, []string{"plan"}, "The API server rejected Secret "+r.ns+"/x",
		"the policy of this namespace denies (hidden)")
	removePolicy()
	r.plan(t)
	removePolicy = r.enforcePolicy(t, "Deny")
	r.mustFail(t, []string{"apply", r.saved}, "The API server rejected Secret "+r.ns+"/x", "denies (hidden)")
	removePolicy()
	r.apply(t)

	removePolicy = r.enforcePolicy(t, "Deny") // the message now also contains the values of the existing object
	r.Setenv("TF_VAR_token", r.canary())
	r.mustFail(t, []string{"plan"}, "denies (hidden)", "and (hidden)")
	r.mustFail(t, []string{"destroy", "-auto-approve", "-refresh=false"}, "denies nothing and (hidden)")
	removePolicy()

	removePolicy = r.enforcePolicy(t, "Warn") // client-go logs warnings by default
	r.apply(t)
	removePolicy()
	r.must(t, "destroy", "-auto-approve")
}

func TestAccErrorsOfASecretDoNotContainItsValues(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.Setenv("TF_VAR_token", r.canary())
	config := fromVariables("values_wo = { TOKEN = var.token }")

	r.Write(t, fmt.Sprintf("provider \"kt\" {\n host = \"https://127.0.0.1:1\"\n namespace = %q\n}\n%s", r.ns, config))
	r.plan(t)
	r.mustFail(t, []string{"apply", "-auto-approve"}, "The Kubernetes API server cannot be reached")

	r.write(t, strings.Replace(config, `name = "x"`, "name = \"x\"\n  namespace = \"none-such\"", 1))
	acctest.ExpectText(t, r.plan(t), `Namespace "none-such" does not exist`)
	r.mustFail(t, []string{"apply", "-auto-approve"}, `Namespace "none-such" does not exist`)

	cluster.Kubectl(t, "create", "quota", "few", "--hard=count/secrets=0", "-n", r.ns)
	r.write(t, config)
	r.waitForSecret(t, "exceeded quota", true)
	r.mustFail(t, []string{"plan"}, "exceeded quota: few")
	cluster.Kubectl(t, "delete", "quota", "few", "-n", r.ns)
	r.waitForSecret(t, "exceeded quota", false)

	large := r.canary()
	r.file(t, "creds/big", large+strings.Repeat("x", 1<<20))
	r.write(t, secretX(`path = "~/creds"`))
	r.mustFail(t, []string{"plan"}, "a Secret can contain at most 1048576 (1 MiB). The largest is big")

	r.Setenv("TF_VAR_token", "")
	r.write(t, fromVariables("values_wo = { \"not a key\" = var.token }"))
	r.mustFail(t, []string{"plan"}, `the key "not a key" must have`)
	literal := r.canary()
	r.write(t, secretX(fmt.Sprintf("values = { TOKEN = %q }\n path = \"~/creds\"", literal)))
	r.mustFail(t, []string{"plan"}, "Only one of values and path can be set")
	r.write(t, secretX(fmt.Sprintf("values = { TOKEN = %q, \"no key\" = %[1]q }", literal)))
	r.mustFail(t, []string{"plan"}, `values: the key "no key" must have`)

	for text, want := range map[string]string{ // a value instead of the name of a variable
		literal:                "For a value, use values_wo.",
		"sk-" + rand.Text():    "For a value, use values_wo.",
		"token_" + rand.Text(): `the variable named in from_env["TOKEN"] is not set`,
	} {
		for _, attributes := range []string{"", "provider_name = \"huggingface\"\n ", "path = \"~/creds\"\n "} {
			r.write(t, secretX(fmt.Sprintf("%sfrom_env = { TOKEN = %q }", attributes, text)))
			out := r.mustFail(t, []string{"plan"})
			if strings.Contains(out, text) {
				t.Errorf("the error contains the text of from_env:\n%s", out)
			}
			if attributes == "" {
				acctest.ExpectText(t, out, want)
			}
		}
	}
}

func TestAccSecretIsWrittenWithoutPermissionToReadIt(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.file(t, "creds/a", r.canary())
	cluster.Kubectl(t, "create", "role", "writer", "--verb=patch,create,delete", "--resource=secrets", "-n", r.ns)
	cluster.Kubectl(t, "create", "serviceaccount", "writer", "-n", r.ns)
	cluster.Kubectl(t, "create", "rolebinding", "writer", "--role=writer", "--serviceaccount="+r.ns+":writer", "-n",
		r.ns)
	token := cluster.Kubectl(t, "create", "token", "writer", "-n", r.ns)
	writeAs := func(token, config string) {
		r.Write(t, "provider \"kt\" {\n"+cluster.TokenAttributes(t, r.ns, token)+"\n}\n"+config)
	}

	writeAs(token, secretX(`path = "~/creds"`))
	r.plan(t)
	r.must(t, "apply", r.saved)
	acctest.ExpectText(t, r.must(t, "plan", "-detailed-exitcode"), "No permission to read Secret "+r.ns+"/x",
		"The state is kept unchanged")
	value := r.canary()
	r.file(t, "creds/a", value)
	r.plan(t)
	r.must(t, "apply", r.saved)
	r.expectValue(t, "x", "a", value)

	cluster.Kubectl(t, "create", "secret", "generic", "y", "-n", r.ns, "--from-literal=other="+r.canary())
	writeAs(token, strings.ReplaceAll(secretX(`path = "~/creds"`), `"x"`, `"y"`))
	r.mustFail(t, []string{"plan", "-target=kt_secret.y"}, "Secret "+r.ns+"/y was not created by this provider",
		"managed by kubectl-create")

	viewer := cluster.ServiceAccount(t, r.ns, "viewer", "view")
	r.file(t, "creds/a", r.canary())
	writeAs(viewer, secretX(`path = "~/creds"`))
	r.plan(t)
	r.mustFail(t, []string{"apply", r.saved}, "No permission to apply Secret "+r.ns+"/x")
	r.mustFail(t, []string{"destroy", "-auto-approve"}, "No permission to delete Secret "+r.ns+"/x")
	writeAs(token, secretX(`path = "~/creds"`))
	r.must(t, "destroy", "-auto-approve")
}

func TestAccSecretDeletionWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.file(t, "creds/a", r.canary())
	r.write(t, secretX(`path = "~/creds"`))
	r.apply(t)
	r.patch(t, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	cluster.Kubectl(t, "delete", "secret", "x", "-n", r.ns, "--wait=false")
	acctest.ExpectText(t, r.plan(t), "Secret "+r.ns+"/x is being deleted", "1 to add, 0 to change, 1 to destroy")
	done := make(chan string)
	go func() {
		out, err := r.Run(t, "apply", r.saved)
		done <- fmt.Sprint(out, err)
	}()
	r.patch(t, `{"metadata":{"finalizers":null}}`)
	if out := <-done; !strings.Contains(out, "1 added, 0 changed, 1 destroyed") {
		t.Errorf("the apply did not create the Secret again:\n%s", out)
	}
	r.expectEmptyPlan(t)
	r.write(t, secretX("path = \"~/creds\"\n timeouts = { delete = \""+acctest.ShortTimeout+"\" }"))
	acctest.ExpectText(t, r.apply(t), "+ timeouts", "0 to add, 1 to change, 0 to destroy")
	r.patch(t, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	r.mustFail(t, []string{"destroy", "-auto-approve"}, "example.com/hold",
		"after "+acctest.ShortTimeout+" (`timeouts.delete`)")
	r.patch(t, `{"metadata":{"finalizers":null}}`)
	r.must(t, "destroy", "-auto-approve")
}

// Without this test, a policy that does not work would make the tests of the error messages pass.
func TestAccSecretPolicyMessageContainsTheValues(t *testing.T) {
	t.Parallel()
	r := newSecretRun(t)
	r.enforcePolicy(t, "Deny")
	value := "canary-of-the-policy"
	out, err := cluster.TryKubectl(t, "create", "secret", "generic", "z", "--from-literal=k="+value, "-n", r.ns)
	if err == nil || !strings.Contains(out, "denies "+base64.StdEncoding.EncodeToString([]byte(value))) {
		t.Errorf("the message of the policy does not contain the value: %s", out)
	}
}
