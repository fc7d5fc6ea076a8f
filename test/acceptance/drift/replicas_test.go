package drift_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// liveText checks a field of an object in a namespace of the cluster with CRDs.
func liveText(t *testing.T, ns, object, jsonPath, want string) resource.TestCheckFunc {
	t.Helper()
	return func(*terraform.State) error {
		if got := withCRDs.Kubectl(t, "get", object, "-n", ns, "-o", "jsonpath={"+jsonPath+"}"); got != want {
			return fmt.Errorf("%s of %s is %q, want %q", jsonPath, object, got, want)
		}
		return nil
	}
}

// Terraform passes the number in state if replicas is ignored. It must not be taken for a number of the configuration.
func TestAccDriftOfReplicasCanBeIgnored(t *testing.T) {
	t.Parallel()
	on := withCRDs
	of := func(kind, spec string) string { return acctest.Manifest("kind: " + kind + "\nspec: " + spec) }
	const sets = "LeaderWorkerSet\napiVersion: leaderworkerset.x-k8s.io/v1"
	const deployment = "deployment/trainer"
	for name, c := range map[string]struct {
		object, attributes string
		edited             string // attributes with other numbers
	}{
		"attribute replicas":                   {deployment, "", "replicas = 7"},
		"attribute distribute":                 {deployment, `distribute = { type = "pytorch", workers = 3 }`, ""},
		"attribute distribute without workers": {deployment, `distribute = { type = "pytorch" }`, ""},
		"manifest of a Deployment": {deployment, of("Deployment\napiVersion: apps/v1", "{replicas: 2}"),
			of("Deployment\napiVersion: apps/v1", "{replicas: 6}")},
		"manifest of a StatefulSet": {"statefulset/trainer",
			of("StatefulSet\napiVersion: apps/v1", "{replicas: 2}"), ""},
		"manifest without a number": {deployment, of("Deployment\napiVersion: apps/v1", "{}"),
			of("Deployment\napiVersion: apps/v1", "{minReadySeconds: 1}")},
		"manifest of a LeaderWorkerSet": {"leaderworkerset/trainer",
			of(sets, "{replicas: 1, leaderWorkerTemplate: {size: 2}}"),
			of(sets, "{replicas: 2, leaderWorkerTemplate: {size: 2}}")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := on.Namespace(t)
			config := func(attributes string) string { return on.Config(ns, ignoring(attributes, "replicas")) }
			scaled := func(replicas string) resource.TestStep {
				return resource.TestStep{
					PreConfig:        func() { on.Kubectl(t, "scale", c.object, "--replicas="+replicas, "-n", ns) },
					Config:           config(c.attributes),
					ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan()),
				}
			}
			steps := []resource.TestStep{
				{Config: config(c.attributes)},
				scaled("1"), scaled("4"),
				{
					Config: config(c.attributes + "\nlabels = { a = \"b\" }"),
					ConfigPlanChecks: acctest.PreApply(
						plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
						acctest.PlanCheck(func(p acctest.Plan) error { return p.ChangesOnly("labels") }),
					),
					Check: liveText(t, ns, c.object, ".spec.replicas", "4"),
				},
			}
			if c.edited != "" {
				steps = append(steps, resource.TestStep{
					Config: config(c.edited + "\nlabels = { a = \"b\" }"),
					Check:  liveText(t, ns, c.object, ".spec.replicas", "4"),
				})
			}
			resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(t), Steps: steps})
		})
	}
}

func TestAccDriftOfTheParallelismOfAJobCanBeIgnored(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	config := on.Config(ns, ignoring(acctest.Manifest(
		"apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 2, completions: 8}"), "replicas"))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					on.Kubectl(t, "patch", "job/trainer", "-n", ns, "--type", "merge",
						"-p", `{"spec":{"parallelism":3}}`)
				},
				Config:           config,
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan()),
				Check:            liveText(t, ns, "job/trainer", ".spec.parallelism", "3"),
			},
		},
	})
}

func TestAccSuspendedComputeWithIgnoredReplicasIsResumed(t *testing.T) {
	t.Parallel()
	on := withCRDs
	const suspended, scaled = "\nsuspend = true", "5"
	for name, c := range map[string]struct {
		attributes string
		resumed    string
	}{
		"with the manifest's number": {
			acctest.Manifest("apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 2}"), "2"},
		"with the attribute's number":      {"replicas = 3", "3"},
		"with the number of the live pods": {"replicas = 1", scaled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := on.Namespace(t)
			config := func(more string) string { return on.Config(ns, ignoring(c.attributes+more, "replicas")) }
			steps := []resource.TestStep{
				{Config: config(suspended), Check: liveText(t, ns, "deployment/trainer", ".spec.replicas", "0")},
				{Config: config(""), Check: liveText(t, ns, "deployment/trainer", ".spec.replicas", c.resumed)},
			}
			if c.resumed == scaled {
				steps = []resource.TestStep{
					{Config: config("")},
					{
						PreConfig: func() {
							on.Kubectl(t, "scale", "deployment/trainer", "--replicas="+scaled, "-n", ns)
						},
						Config: config(suspended), Check: liveText(t, ns, "deployment/trainer", ".spec.replicas", "0"),
					},
					steps[1],
				}
			}
			resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(t), Steps: steps})
		})
	}
}

// Several pods are replaced together by default, as for a new compute.
func TestAccDriftOfReplicasAddedToTheConfigurationSelectsTheStrategy(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	config := func(replicas string) string {
		return on.Config(ns, acctest.BareCompute("replicas = "+replicas+"\non_not_ready = \"ignore\""))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config("1"), Check: liveText(t, ns, "deployment/trainer", ".spec.strategy.type", "RollingUpdate")},
			{
				PreConfig: func() { on.Kubectl(t, "scale", "deployment/trainer", "--replicas=3", "-n", ns) },
				Config:    config("3"),
				Check:     liveText(t, ns, "deployment/trainer", ".spec.strategy.type", "Recreate"),
			},
		},
	})
}
