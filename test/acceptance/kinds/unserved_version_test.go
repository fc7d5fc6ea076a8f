package kinds_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// convoys is a kind with two versions, of which the first is optionally no longer served.
type convoys struct {
	on    *acctest.Cluster
	ns    string
	group string
}

// serve installs the CRD, and waits until exactly the wanted versions are served.
func (c convoys) serve(t *testing.T, first bool) {
	t.Helper()
	const version = `
  - name: %s
    served: %t
    storage: %t
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
    subresources: {status: {}}`
	c.on.Apply(t, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: convoys.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: Convoy, plural: convoys, singular: convoy}
  versions:`, c.group)+fmt.Sprintf(version, "v1alpha1", first, false)+fmt.Sprintf(version, "v1beta1", true, true))
	acctest.WaitUntil(t, "the versions that are served", func() bool {
		versions, err := c.on.TryKubectl(t, "get", "--raw", "/apis/"+c.group)
		return err == nil && strings.Contains(versions, "v1beta1") && strings.Contains(versions, "v1alpha1") == first
	})
}

func (c convoys) config(version, image string) string {
	return c.on.Config(c.ns, acctest.BareCompute(acctest.Manifest(fmt.Sprintf(
		"apiVersion: %s/%s\nkind: Convoy\nspec: {pods: {template: {spec: {containers: [{name: kubetorch, image: "+
			"%q}]}}}}", c.group, version, image))+
		"pod_template_path = \"spec.pods.template\"\non_not_ready = \"ignore\""))
}

// live returns the output of kubectl get for the objects.
func (c convoys) live(t *testing.T, args ...string) string {
	t.Helper()
	return c.on.Kubectl(t, append([]string{"get", "convoys.v1beta1." + c.group, "-n", c.ns}, args...)...)
}

// If the applied version of an object is no longer served, the provider recognizes the
// object at another version.
func TestAccObjectOfAnUnservedVersionIsUpdatedAtAServedVersion(t *testing.T) {
	t.Parallel()
	on := acctest.OwnCluster(t)
	for name, check := range map[string]func(*testing.T, convoys, *acctest.CLI){
		"updated":   updateToTheServedVersion,
		"destroyed": func(*testing.T, convoys, *acctest.CLI) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := convoys{on: on, ns: on.Namespace(t), group: name + ".example.com"}
			c.serve(t, true)
			cli := acctest.NewAttachedCLI(t)
			cli.Write(t, c.config("v1alpha1", "mine:1"))
			cli.MustRun(t, "apply", "-auto-approve")
			cli.MustRun(t, "plan", "-detailed-exitcode")
			c.serve(t, false)
			check(t, c, cli)
			cli.MustRun(t, "destroy", "-auto-approve")
			if left := c.live(t, "-o", "name"); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func updateToTheServedVersion(t *testing.T, c convoys, cli *acctest.CLI) {
	t.Helper()
	const uid, image = "jsonpath={.items[0].metadata.uid}",
		"jsonpath={.items[0].spec.pods.template.spec.containers[0].image}"
	created := c.live(t, "-o", uid)
	cli.MustRun(t, "apply", "-refresh-only", "-auto-approve")
	acctest.ExpectText(t, cli.MustRun(t, "state", "list"), "kt_compute.trainer")

	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.Write(t, c.config("v1alpha1", "mine:2"))
	refused := cli.RunJSON(t, "apply", "-auto-approve")
	refused.ExpectError(t, acctest.Trainer, false, "v1alpha1", c.group)

	cli.Write(t, c.config("v1beta1", "mine:1"))
	if out := cli.MustRun(t, "apply", "-auto-approve"); strings.Contains(out, "must be replaced") ||
		c.live(t, "-o", uid) != created {
		t.Errorf("the update to the served version replaces the object:\n%s", out)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.Write(t, c.config("v1beta1", "mine:2"))
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), "0 added, 1 changed, 0 destroyed")
	if c.live(t, "-o", image) != "mine:2" || c.live(t, "-o", uid) != created {
		t.Errorf("the image is %s and the UID %s, want mine:2 and %s", c.live(t, "-o", image), c.live(t, "-o", uid),
			created)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
}
