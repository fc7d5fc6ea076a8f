package computes_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// Terraform rejects an update that becomes a replacement during the apply.
func TestAccUnknownValueInAnImmutableTemplateReplacesTheCompute(t *testing.T) {
	t.Parallel()
	job := acctest.Manifest("apiVersion: batch/v1\nkind: Job")
	for name, c := range map[string]struct {
		attributes string
		action     plancheck.ResourceActionType
	}{
		"variable of a Job": {job + "env_vars = { LATER = terraform_data.later.output }",
			plancheck.ResourceActionReplace},
		"manifest of a Job": {"manifest = yamlencode({ apiVersion = \"batch/v1\", kind = \"Job\", metadata = { " +
			"annotations = { later = terraform_data.later.output } } })", plancheck.ResourceActionReplace},
		"budget of a Job": {job + "pod_disruption_budget = { min_available = terraform_data.later.output }",
			plancheck.ResourceActionUpdate},
		"suspension of a Job": {job + "suspend = terraform_data.later.output == \"2\"", plancheck.ResourceActionUpdate},
		"variable of a StatefulSet": {acctest.Manifest("apiVersion: apps/v1\nkind: StatefulSet") +
			"env_vars = { LATER = terraform_data.later.output }", plancheck.ResourceActionUpdate},
		"variable of a Deployment": {"env_vars = { LATER = terraform_data.later.output }",
			plancheck.ResourceActionUpdate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			config := func(input string) string {
				later := fmt.Sprintf("resource \"terraform_data\" \"later\" {\n input = %q\n}\n", input)
				return cluster.Config(ns, later+acctest.BareCompute(c.attributes+"\non_not_ready = \"ignore\""))
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: acctest.Factories(t),
				CheckDestroy:             cluster.NothingLeft(t, ns),
				Steps: []resource.TestStep{
					{Config: config("1")},
					{
						Config: config("2"),
						ConfigPlanChecks: resource.ConfigPlanChecks{
							PreApply: []plancheck.PlanCheck{
								plancheck.ExpectResourceAction(acctest.Trainer, c.action),
							},
							PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
						},
					},
				},
			})
		})
	}
}
