package drift_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// ignoring is a compute that leaves attributes to others.
func ignoring(attributes, ignored string) string {
	return acctest.BareCompute(attributes + "\n on_not_ready = \"ignore\"\n lifecycle {\n ignore_changes = [" +
		ignored + "]\n}")
}

// An ignored attribute that stands in several fields stays in each as it is.
func TestAccIgnoredDriftIsNotReverted(t *testing.T) {
	t.Parallel()
	on := withCRDs
	const pods = "jsonpath={.spec.template.metadata.labels.team}"
	const worker = "jsonpath={.spec.workerGroupSpecs[0].template.spec.containers[0].env[?(@.name=='MODE')].value}"
	const head = "jsonpath={.spec.headGroupSpec.template.spec.containers[0].env[?(@.name=='MODE')].value}"
	for name, c := range map[string]struct {
		attributes, ignored string
		kubectl             []string
		other               string            // a further attribute, which is applied
		object              string            // of which
		holds               map[string]string // what, by how it is asked for
	}{
		"labels": {
			attributes: `labels = { team = "ml" }`, ignored: "labels", other: "\n replicas = 2",
			kubectl: []string{"label", "deployment/trainer", "--overwrite", "team=web"},
			object:  "deployment/trainer",
			holds: map[string]string{pods: "ml", "jsonpath={.metadata.labels.team}": "web",
				"jsonpath={.spec.replicas}": "2"},
		},
		"variables of a RayCluster": {
			attributes: "env_vars = { MODE = \"fast\" }\n distribute = { type = \"ray\", workers = 2 }",
			ignored:    "env_vars",
			other:      "\n annotations = { a = \"b\" }",
			kubectl: jsonPatch("raycluster/trainer", `[
				{"op": "test", "path": "/spec/headGroupSpec/template/spec/containers/0/env/0/name", "value": "MODE"},
				{"op": "replace", "path": "/spec/headGroupSpec/template/spec/containers/0/env/0/value", "value": "slow"}]`),
			object: "raycluster/trainer",
			holds:  map[string]string{worker: "fast", head: "slow", "jsonpath={.metadata.annotations.a}": "b"},
		},
		"the number of workers of a RayCluster": {
			attributes: "distribute = { type = \"ray\", workers = 3 }", ignored: "distribute",
			other: "\n annotations = { a = \"b\" }",
			kubectl: jsonPatch("raycluster/trainer",
				`[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 5}]`),
			object: "raycluster/trainer",
			holds: map[string]string{"jsonpath={.spec.workerGroupSpecs[0].replicas}": "5",
				"jsonpath={.metadata.annotations.a}": "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := on.Namespace(t)
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				Steps: []resource.TestStep{
					{Config: on.Config(ns, ignoring(c.attributes, c.ignored))},
					{
						PreConfig:        func() { on.Kubectl(t, append(c.kubectl, "-n", ns)...) },
						Config:           on.Config(ns, ignoring(c.attributes, c.ignored)),
						ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan()),
					},
					{
						Config: on.Config(ns, ignoring(c.attributes+c.other, c.ignored)),
						Check: func(*terraform.State) error {
							var errs []error
							for query, want := range c.holds {
								if got := on.Kubectl(t, "get", c.object, "-n", ns, "-o", query); got != want {
									errs = append(errs, fmt.Errorf("%s is %q, want %q", query, got, want))
								}
							}
							return errors.Join(errs...)
						},
					},
				},
			})
		})
	}
}

// A value that the configuration takes over from somebody is applied wherever the
// attribute stands.
func TestAccDriftAddedToTheConfigurationIsAppliedToAllObjects(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(ns, acctest.BareCompute(`labels = { team = "ml" }`))},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "label", "deployment/trainer", "--overwrite", "team=web", "-n", ns)
				},
				Config: cluster.Config(ns, acctest.BareCompute(`labels = { team = "web" }`)),
				Check: func(*terraform.State) error {
					if got := cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o",
						"jsonpath={.spec.template.metadata.labels.team}"); got != "web" {
						return fmt.Errorf("the pods have team %q", got)
					}
					return nil
				},
			},
		},
	})
}

// After apply -refresh-only the changed value is in state. When somebody takes the
// change back, nothing is left to show.
func TestAccDriftThatIsRevertedAfterARefreshIsNotReported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	config := cluster.Config(ns, acctest.BareCompute(`
  cpus   = "1000m"
  memory = "1024Mi"
  labels = { team = "ml" }`))
	set := func(requests, team string) func() {
		return func() {
			seen.Reset()
			cluster.Kubectl(t, "set", "resources", "deployment/trainer", "-c", "kubetorch", "--requests="+requests,
				"-n", ns)
			cluster.Kubectl(t, "label", "deployment/trainer", "--overwrite", "team="+team, "-n", ns)
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{Config: config},
			{PreConfig: set("cpu=2,memory=3Gi", "web"), RefreshState: true, ExpectNonEmptyPlan: true},
			{
				PreConfig:        set("cpu=1,memory=1Gi", "ml"),
				Config:           config,
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan(), seen.ExpectNone()),
			},
		},
	})
}
