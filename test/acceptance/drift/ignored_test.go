package drift_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// If an ignored attribute is rendered into several fields, none of them changes.
func TestAccIgnoredDriftIsNotReverted(t *testing.T) {
	t.Parallel()
	on := withCRDs
	const pods = "jsonpath={.spec.template.metadata.labels.team}"
	const worker = "jsonpath={.spec.workerGroupSpecs[0].template.spec.containers[0].env[?(@.name=='MODE')].value}"
	const head = "jsonpath={.spec.headGroupSpec.template.spec.containers[0].env[?(@.name=='MODE')].value}"
	ns := on.Namespace(t)
	computes := on.Resources(t, "kt_compute", ns, "")
	computes.Ignored = map[string][]string{}
	cases := map[string]struct {
		attributes, ignored string
		kubectl             []string
		other               string            // another attribute, which is applied
		object              string            // the object to check
		values              map[string]string // expected values by JSONPath
	}{
		"labels": {
			attributes: `labels = { team = "ml" }`, ignored: "labels", other: "\n replicas = 2",
			kubectl: []string{"label", "deployment/labels", "--overwrite", "team=web"},
			object:  "deployment/labels",
			values: map[string]string{pods: "ml", "jsonpath={.metadata.labels.team}": "web",
				"jsonpath={.spec.replicas}": "2"},
		},
		"variables-of-a-raycluster": {
			attributes: "env_vars = { MODE = \"fast\" }\n distribute = { type = \"ray\", workers = 2 }",
			ignored:    "env_vars",
			other:      "\n annotations = { a = \"b\" }",
			kubectl: jsonPatch("raycluster/variables-of-a-raycluster", `[
				{"op": "test", "path": "/spec/headGroupSpec/template/spec/containers/0/env/0/name", "value": "MODE"},
				{"op": "replace", "path": "/spec/headGroupSpec/template/spec/containers/0/env/0/value",
				 "value": "slow"}]`),
			object: "raycluster/variables-of-a-raycluster",
			values: map[string]string{worker: "fast", head: "slow", "jsonpath={.metadata.annotations.a}": "b"},
		},
		"workers-of-a-raycluster": {
			attributes: "distribute = { type = \"ray\", workers = 3 }", ignored: "distribute",
			other: "\n annotations = { a = \"b\" }",
			kubectl: jsonPatch("raycluster/workers-of-a-raycluster",
				`[{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 5}]`),
			object: "raycluster/workers-of-a-raycluster",
			values: map[string]string{"jsonpath={.spec.workerGroupSpecs[0].replicas}": "5",
				"jsonpath={.metadata.annotations.a}": "b"},
		},
	}
	created, changed := map[string]string{}, map[string]string{}
	for name, c := range cases {
		computes.Ignored[name] = []string{c.ignored}
		created[name], changed[name] = unready(name, c.attributes), unready(name, c.attributes+c.other)
	}
	computes.Change(t, created)
	for _, c := range cases {
		on.Kubectl(t, append(c.kubectl, "-n", ns)...)
	}
	expectUnchanged(t, computes, created)
	computes.Change(t, changed)
	for name, c := range cases {
		for query, want := range c.values {
			if got := on.Kubectl(t, "get", c.object, "-n", ns, "-o", query); got != want {
				t.Errorf("%s: %s is %q, want %q", name, query, got, want)
			}
		}
	}
	computes.Destroy(t)
}

// If a value from the cluster is added to the configuration, it is applied to all
// fields of the attribute.
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
						return fmt.Errorf("the label team of the pods is %q, want web", got)
					}
					return nil
				},
			},
		},
	})
}

// After apply -refresh-only, the changed value is in state. If the change is then
// reverted, there is no drift.
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
