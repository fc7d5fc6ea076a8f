package drift_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Kubetorch's controller deletes the workload and the Service after inactivity_ttl.
func TestAccExpiredComputeIsKeptUntilItsConfigurationChanges(t *testing.T) {
	t.Parallel()
	const kept = `inactivity_ttl = "2h"` + "\n" + `on_expiry = "keep_suspended"` + "\n"
	for name, changed := range map[string]string{
		"workload changed":     kept + `memory = "1Gi"`,
		"Service changed":      kept + `labels = { a = "b" }`,
		"no longer kept":       `inactivity_ttl = "2h"` + "\n" + `on_expiry = "recreate"`,
		"without a time limit": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			seen := &acctest.Warnings{}
			config := func(attributes string) string { return cluster.Config(ns, acctest.BareCompute(attributes)) }
			isReady := func(ready bool) []statecheck.StateCheck {
				return []statecheck.StateCheck{
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("ready"), knownvalue.Bool(ready)),
				}
			}
			unchanged := resource.TestStep{
				Config: config(kept + `timeouts = { update = "3m" }`), ConfigStateChecks: isReady(false),
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan(),
					acctest.PlanCheck(func(acctest.Plan) error {
						return seen.ExpectText("deleted, probably by Kubetorch", "With on_expiry")
					})),
			}
			deleted := resource.TestStep{
				PreConfig: func() { cluster.Kubectl(t, "delete", "-n", ns, "deployment,service", "trainer") },
				Config:    config(kept + `timeouts = { update = "3m" }`), ConfigStateChecks: isReady(false),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
					acctest.PlanCheck(func(p acctest.Plan) error { return p.ChangesOnly("timeouts") })),
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: seen.WatchPlans(acctest.Factories(t)),
				CheckDestroy:             cluster.NothingLeft(t, ns),
				Steps: []resource.TestStep{
					{Config: config(kept), ConfigStateChecks: isReady(true)},
					deleted, unchanged,
					{
						Config: config(changed), ConfigStateChecks: isReady(true),
						ConfigPlanChecks: acctest.PreApply(
							plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
							plancheck.ExpectUnknownValue(acctest.Trainer, tfjsonpath.New("uid")),
							acctest.PlanCheck(func(acctest.Plan) error {
								return seen.ExpectText("The compute is created again")
							})),
					},
					{
						Config: config(kept), ConfigStateChecks: isReady(true),
					},
					{
						PreConfig: func() { cluster.Kubectl(t, "delete", "-n", ns, "deployment", "trainer") },
						Config:    config(kept), ConfigStateChecks: isReady(false),
						ConfigPlanChecks: acctest.ExpectEmptyPlan(),
					},
				},
			})
		})
	}
}
