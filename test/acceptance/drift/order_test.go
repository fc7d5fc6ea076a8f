package drift_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// keyedLists returns a compute whose Deployment contains lists with keys.
func keyedLists(replicas int) string {
	return acctest.BareCompute(acctest.Manifest(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: %d
  strategy: {type: RollingUpdate}
  template:
    spec:
      volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]
      initContainers: [{name: first, image: "one:1"}, {name: second, image: "two:2"}]
      containers:
      - {name: kubetorch, image: "mine:1", env: [{name: A, value: x}, {name: B, value: z}]}`, replicas)))
}

func TestAccDriftInTheOrderOfKeyedListsRestartsNoPods(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	template := func() string {
		return cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o", "jsonpath={.spec.template.spec}")
	}
	reversed := func(list string) string {
		return fmt.Sprintf(`{"op": "move", "from": "/spec/template/spec/%s/0", "path": "/spec/template/spec/%s/1"}`,
			list, list)
	}
	var before string
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(ns, keyedLists(1))},
			{
				PreConfig: func() {
					patch := "[" + reversed("volumes") + "," + reversed("containers/0/env") + "]"
					cluster.Kubectl(t, append(jsonPatch("deployment/trainer", patch), "-n", ns)...)
					before = template()
				},
				Config: cluster.Config(ns, keyedLists(2)),
				Check: func(*terraform.State) error {
					if after := template(); after != before {
						return fmt.Errorf("the pod template changed.\nbefore: %s\nafter:  %s", before, after)
					}
					return nil
				},
			},
			{ // the order of init containers is relevant
				PreConfig: func() {
					cluster.Kubectl(t,
						append(jsonPatch("deployment/trainer", "["+reversed("initContainers")+"]"), "-n", ns)...)
				},
				Config: cluster.Config(ns, keyedLists(2)),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
				),
				Check: func(*terraform.State) error {
					if template() != before {
						return errors.New("the order of the init containers was not restored")
					}
					return nil
				},
			},
		},
	})
}
