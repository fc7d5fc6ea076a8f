package acctest_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

const trainer = "kt_compute.trainer"

// compute is a small compute with more attributes.
func compute(attributes string) string {
	return fmt.Sprintf(`
resource "kt_compute" "trainer" {
  name           = "trainer"
  cpus           = "1"
  launch_timeout = "1m"
  %s
}`, attributes)
}

func expectAction(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{
		PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(trainer, action)},
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
	}
}

func TestAccComputeIsCreatedUpdatedSuspendedResumedImportedAndDeleted(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	config := func(attributes string) string { return cluster.Config(ns, compute(attributes)) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config:           config(`memory = "4096Mi"`),
				ConfigPlanChecks: expectAction(plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(trainer, tfjsonpath.New("id"), knownvalue.StringExact(ns+"/trainer")),
					statecheck.ExpectKnownValue(trainer, tfjsonpath.New("ready"), knownvalue.Bool(true)),
					statecheck.ExpectKnownValue(trainer, tfjsonpath.New("mode"), knownvalue.StringExact("deployment")),
					statecheck.ExpectKnownValue(trainer, tfjsonpath.New("url"), knownvalue.StringExact("http://trainer."+ns+".svc.cluster.local:80")),
					statecheck.ExpectKnownValue(trainer, tfjsonpath.New("manifests"), knownvalue.MapSizeExact(2)),
				},
			},
			{Config: config(`memory = "4Gi"`), ConfigPlanChecks: expectAction(plancheck.ResourceActionNoop)},
			{Config: config("memory = \"8Gi\"\nreplicas = 3"), ConfigPlanChecks: expectAction(plancheck.ResourceActionUpdate)},
			{Config: config("memory = \"8Gi\"\nreplicas = 3\nsuspend = true"), ConfigPlanChecks: expectAction(plancheck.ResourceActionUpdate)},
			{Config: config("memory = \"8Gi\"\nreplicas = 3"), ConfigPlanChecks: expectAction(plancheck.ResourceActionUpdate)},
			{
				ResourceName: trainer, ImportState: true, ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"manifests"},
			},
		},
	})
}
