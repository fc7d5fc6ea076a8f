package ownership_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// TestAccOwnershipAnObjectCreatedDuringAnApplyIsNotAdopted creates
// the object at the moment when the provider sends the apply that would create it.
func TestAccOwnershipAnObjectCreatedDuringAnApplyIsNotAdopted(t *testing.T) {
	t.Parallel()
	const token = `resource "kt_secret" "token" {
  name   = "token"
  values = { TOKEN = "ours" }
}`
	for name, test := range map[string]struct {
		resources, object, kind, foreign string
		unrecorded                       bool // for stringData, server-side apply records no manager
	}{
		"other values of the same fields": {
			acctest.Compute(`image = "python:3.12"`), "/deployments/trainer", "deployment/trainer", `
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer, labels: {app: theirs}}
spec:
  replicas: 0
  selector: {matchLabels: {app: theirs}}
  template:
    metadata: {labels: {app: theirs}}
    spec: {containers: [{name: main, image: "by-hand:1"}]}`, false,
		},
		"other fields of a Secret": {
			token, "/secrets/token", "secret/token", `
apiVersion: v1
kind: Secret
metadata: {name: token}
data: {THEIRS: dGhlaXJz}`, false,
		},
		"fields without a manager": {
			token, "/secrets/token", "secret/token", `
apiVersion: v1
kind: Secret
metadata: {name: token}
stringData: {THEIRS: theirs}`, true,
		},
		"other fields of a ConfigMap": {
			`resource "kt_image" "base" {
  name  = "base"
  base  = "python:3.12"
  steps = [{ run_bash = "true" }]
}`, "/configmaps/kt-image-base", "configmap/kt-image-base", `
apiVersion: v1
kind: ConfigMap
metadata: {name: kt-image-base}
data: {theirs: theirs}`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			current := func() string {
				return cluster.Kubectl(t, "get", test.kind, "-n", ns, "-o",
					"jsonpath={.metadata.uid} {.metadata.labels} {.spec} {.data}")
			}
			var once sync.Once
			var before string
			proxy := acctest.NewLossyProxy(t, cluster, func(request *http.Request) bool {
				if acctest.Writes(request, test.object) {
					once.Do(func() {
						cluster.Apply(t, test.foreign, "-n", ns, "--server-side", "--field-manager=theirs")
						before = current()
					})
				}
				return false
			})
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, proxy.Config(ns, test.resources))
			out, err := cli.Run(t, "apply", "-auto-approve")
			if err == nil || before == "" {
				t.Errorf("the apply over an object of another client succeeded:\n%s", out)
			}
			acctest.ExpectText(t, out, "was not created by this provider", "managed by theirs")
			if test.unrecorded {
				acctest.ExpectText(t, out, "would also be removed")
				if !strings.Contains(current(), `"THEIRS":"dGhlaXJz"`) {
					t.Errorf("the object was\n%s\nand is\n%s", before, current())
				}
			} else if after := current(); after != before {
				t.Errorf("the object was\n%s\nand is\n%s", before, after)
			}
			if managers := cluster.Kubectl(t, "get", test.kind, "-n", ns, "--show-managed-fields", "-o",
				"jsonpath={.metadata.managedFields[*].manager}"); strings.Contains(managers, "terraform") {
				t.Errorf("its fields are managed by %s", managers)
			}
			if state := cli.MustRun(t, "state", "list"); strings.Contains(state, "kt_") {
				t.Errorf("the state contains a resource that was not created:\n%s", state)
			}
		})
	}
}
