package computes_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The disruption controller computes these budgets from the scale of the controller, which a Job lacks.
func TestAccPlanWarnsIfABudgetAllowsNoEviction(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	job := acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 4}")
	for name, c := range map[string]struct {
		attributes string
		warns      bool
	}{
		"pods that may be missing":              {job + "pod_disruption_budget = { max_unavailable = 1 }", true},
		"percentage":                            {job + "pod_disruption_budget = { min_available = \"50%\" }", true},
		"number of pods":                        {job + "pod_disruption_budget = { min_available = 3 }", false},
		"controller with the subresource scale": {"pod_disruption_budget = { max_unavailable = \"50%\" }", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			cli.Write(t, cluster.Config(ns, acctest.BareCompute(c.attributes)))
			out := acctest.Unwrap(cli.MustRun(t, "plan"))
			if strings.Contains(out, "The budget allows no eviction") != c.warns {
				t.Errorf("warning shown: %t, want %t:\n%s", !c.warns, c.warns, out)
			}
		})
	}
}
