package computes_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccChangedTimeoutsUpdateNoObjectAndDoNotWait(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(attributes string) string { return cluster.Config(ns, acctest.ComputeNamed("trainer", attributes)) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config(`timeouts = { create = "2m", update = "2m" }`)},
			{
				Config: config(`timeouts = { create = "2m", update = "1h" }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						acctest.PlanShows([]string{"timeouts"}, nil),
						knownReady{}, // ready is unknown if the apply waits
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
		},
	})
}

// The startup probe allows one minute. The apply ends earlier, after timeouts.create.
func TestAccTimeoutEndsTheWaitAndIsReported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns,
		acctest.Compute("image = \"broken.invalid/never\"\n timeouts = { create = \""+acctest.ShortTimeout+"\" }")))
	out, _ := cli.Run(t, "apply", "-auto-approve") // this test does not check whether the run fails
	if flat := strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "); !strings.Contains(flat,
		"after "+acctest.ShortTimeout+" (`timeouts.create`)") {
		t.Errorf("the timeout does not mention timeouts.create:\n%s", out)
	}
	const probe = "jsonpath={.spec.template.spec.containers[0].startupProbe.failureThreshold}"
	if got := cluster.Kubectl(t, "get", "deployment", "trainer", "-n", ns, "-o", probe); got != "12" {
		t.Errorf("the startup probe may fail %s times, want 12: launch_timeout is 1m, a probe every 5 s", got)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}

// knownReady checks that the attribute ready of the trainer is known in the plan.
type knownReady struct{}

func (knownReady) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, r := range req.Plan.ResourceChanges {
		unknown, _ := r.Change.AfterUnknown.(map[string]any)
		if r.Address == acctest.Trainer && unknown["ready"] == true {
			resp.Error = errors.New("ready is unknown in the plan, so the apply waits")
		}
	}
}
