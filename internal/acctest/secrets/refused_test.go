package secrets_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// quoting refuses Secrets, or only warns, and quotes what they hold: the new
// object and the old one, in base64, as policies see them.
const quoting = `
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
      ('the policy of this namespace says no to ' +
      (object == null || !has(object.data) ? 'nothing' : object.data.map(k, string(object.data[k])).join(', ')) + ' and ' +
      (oldObject == null || !has(oldObject.data) ? 'nothing' : oldObject.data.map(k, string(oldObject.data[k])).join(', ')))
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: secrets-%[1]s}
spec: {policyName: secrets-%[1]s, validationActions: [%[2]s]}
`

// quote has the cluster refuse Secrets of the namespace, or warn of them, and
// returns how to end that.
func (v *vault) quote(t *testing.T, action string) (end func()) {
	t.Helper()
	cluster.Apply(t, fmt.Sprintf(quoting, v.ns, action))
	ended := false
	remove := func() {
		if !ended {
			cluster.Kubectl(t, "delete", "validatingadmissionpolicy/secrets-"+v.ns,
				"validatingadmissionpolicybinding/secrets-"+v.ns)
		}
		ended = true
	}
	t.Cleanup(remove)
	v.until(t, func(out string) bool { return strings.Contains(out, "says no to cHJvYmU") })
	return func() {
		remove()
		v.until(t, func(out string) bool { return !strings.Contains(out, "says no") })
	}
}

// until waits for what the API server says to a new Secret, since it learns of
// policies by a watch.
func (v *vault) until(t *testing.T, says func(string) bool) {
	t.Helper()
	out := ""
	for range 300 {
		out, _ = cluster.TryKubectl(t, "create", "secret", "generic", "probe", "--from-literal=k=probe-value",
			"--dry-run=server", "-n", v.ns)
		if says(out) {
			return
		}
	}
	t.Fatalf("the policy does not take effect: %s", out)
}

func TestAccSecretValuesThatAPolicyQuotesAreMasked(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	end := v.quote(t, "Deny")
	v.Setenv("TF_VAR_token", v.canary())
	v.write(t, fromVariables("values_wo = { TOKEN = var.token }"))
	v.refused(t, []string{"plan"}, "The API server rejected Secret "+v.ns+"/x",
		"the policy of this namespace says no to (hidden)")
	end()
	v.plan(t)
	end = v.quote(t, "Deny")
	v.refused(t, []string{"apply", v.saved}, "The API server rejected Secret "+v.ns+"/x", "says no to (hidden)")
	end()
	v.apply(t)

	end = v.quote(t, "Deny") // now the message quotes what is there, too
	v.Setenv("TF_VAR_token", v.canary())
	v.refused(t, []string{"plan"}, "says no to (hidden)", "and (hidden)")
	v.refused(t, []string{"destroy", "-auto-approve", "-refresh=false"}, "says no to nothing and (hidden)")
	end()

	end = v.quote(t, "Warn") // client-go would log it
	v.apply(t)
	end()
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretRejectionsDoNotContainItsValues(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.Setenv("TF_VAR_token", v.canary())
	config := fromVariables("values_wo = { TOKEN = var.token }")

	v.Write(t, fmt.Sprintf("provider \"kt\" {\n host = \"https://127.0.0.1:1\"\n namespace = %q\n}\n%s", v.ns, config))
	v.plan(t)
	v.refused(t, []string{"apply", "-auto-approve"}, "The Kubernetes API server cannot be reached")

	v.write(t, strings.Replace(config, `name = "x"`, "name = \"x\"\n  namespace = \"none-such\"", 1))
	acctest.ExpectText(t, v.plan(t), `Namespace "none-such" does not exist`)
	v.refused(t, []string{"apply", "-auto-approve"}, `Namespace "none-such" does not exist`)

	cluster.Kubectl(t, "create", "quota", "few", "--hard=count/secrets=0", "-n", v.ns)
	v.write(t, config)
	v.until(t, func(out string) bool { return strings.Contains(out, "exceeded quota") })
	v.refused(t, []string{"plan"}, "exceeded quota: few")
	cluster.Kubectl(t, "delete", "quota", "few", "-n", v.ns)
	v.until(t, func(out string) bool { return !strings.Contains(out, "exceeded quota") })

	large := v.canary()
	v.file(t, "creds/big", large+strings.Repeat("x", 1<<20))
	v.write(t, secretX(`path = "~/creds"`))
	v.refused(t, []string{"plan"}, "a Secret can contain at most 1048576 (1 MiB). The largest is big")

	v.Setenv("TF_VAR_token", "")
	v.write(t, fromVariables("values_wo = { \"not a key\" = var.token }"))
	v.refused(t, []string{"plan"}, `the key "not a key" must be`)
	literal := v.canary()
	v.write(t, secretX(fmt.Sprintf("values = { TOKEN = %q }\n path = \"~/creds\"", literal)))
	v.refused(t, []string{"plan"}, "Only one of values and path can be set")
	v.write(t, secretX(fmt.Sprintf("values = { TOKEN = %q, \"no key\" = %[1]q }", literal)))
	v.refused(t, []string{"plan"}, `values: the key "no key" must be`)
}

func TestAccSecretWorksWithFewPermissions(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(t, "creds/a", v.canary())
	cluster.Kubectl(t, "create", "role", "writer", "--verb=patch,create,delete", "--resource=secrets", "-n", v.ns)
	cluster.Kubectl(t, "create", "serviceaccount", "writer", "-n", v.ns)
	cluster.Kubectl(t, "create", "rolebinding", "writer", "--role=writer", "--serviceaccount="+v.ns+":writer", "-n",
		v.ns)
	token := cluster.Kubectl(t, "create", "token", "writer", "-n", v.ns)
	as := func(token, config string) {
		v.Write(t, "provider \"kt\" {\n"+cluster.TokenAttributes(t, v.ns, token)+"\n}\n"+config)
	}

	as(token, secretX(`path = "~/creds"`))
	v.plan(t)
	v.must(t, "apply", v.saved)
	acctest.ExpectText(t, v.must(t, "plan", "-detailed-exitcode"), "No permission to read Secret "+v.ns+"/x",
		"The state is kept unchanged")
	value := v.canary()
	v.file(t, "creds/a", value)
	v.plan(t)
	v.must(t, "apply", v.saved)
	v.has(t, "x", "a", value)

	cluster.Kubectl(t, "create", "secret", "generic", "y", "-n", v.ns, "--from-literal=theirs="+v.canary())
	as(token, strings.ReplaceAll(secretX(`path = "~/creds"`), `"x"`, `"y"`))
	v.refused(t, []string{"plan", "-target=kt_secret.y"}, "Secret "+v.ns+"/y was not created by this provider",
		"managed by kubectl-create")

	nobody := cluster.ServiceAccount(t, v.ns, "nobody", "view")
	v.file(t, "creds/a", v.canary())
	as(nobody, secretX(`path = "~/creds"`))
	v.plan(t)
	v.refused(t, []string{"apply", v.saved}, "No permission to apply Secret "+v.ns+"/x")
	v.refused(t, []string{"destroy", "-auto-approve"}, "No permission to delete Secret "+v.ns+"/x")
	as(token, secretX(`path = "~/creds"`))
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretDeletionWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.file(t, "creds/a", v.canary())
	v.write(t, secretX(`path = "~/creds"`))
	v.apply(t)
	v.patch(t, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	cluster.Kubectl(t, "delete", "secret", "x", "-n", v.ns, "--wait=false")
	acctest.ExpectText(t, v.plan(t), "Secret "+v.ns+"/x is being deleted", "1 to add, 0 to change, 1 to destroy")
	done := make(chan string)
	go func() {
		out, err := v.Run(t, "apply", v.saved)
		done <- fmt.Sprint(out, err)
	}()
	v.patch(t, `{"metadata":{"finalizers":null}}`)
	if out := <-done; !strings.Contains(out, "1 added, 0 changed, 1 destroyed") {
		t.Errorf("the apply did not make it again:\n%s", out)
	}
	v.same(t)
	v.write(t, secretX("path = \"~/creds\"\n timeouts = { delete = \"3s\" }"))
	acctest.ExpectText(t, v.apply(t), "+ timeouts", "0 to add, 1 to change, 0 to destroy")
	v.patch(t, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	v.refused(t, []string{"destroy", "-auto-approve"}, "example.com/hold", "after 3s (`timeouts.delete`)")
	v.patch(t, `{"metadata":{"finalizers":null}}`)
	v.must(t, "destroy", "-auto-approve")
}

func TestAccSecretPolicyQuotesValues(t *testing.T) {
	t.Parallel()
	v := newVault(t)
	v.quote(t, "Deny")
	value := "canary-of-the-policy"
	out, err := cluster.TryKubectl(t, "create", "secret", "generic", "z", "--from-literal=k="+value, "-n", v.ns)
	if err == nil || !strings.Contains(out, "says no to "+base64.StdEncoding.EncodeToString([]byte(value))) {
		t.Errorf("the policy quotes nothing: %s", out)
	}
}
