package computes_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The disruption controller computes these budgets from the scale of the controller, which a Job lacks.
func TestAccPlanWarnsIfABudgetAllowsNoEviction(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	job := acctest.Manifest("apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 4}")
	bodies := map[string]string{}
	warns := map[string]bool{}
	for name, c := range map[string]struct {
		attributes string
		warns      bool
	}{
		"pods-that-may-be-missing":              {job + "pod_disruption_budget = { max_unavailable = 1 }", true},
		"percentage":                            {job + "pod_disruption_budget = { min_available = \"50%\" }", true},
		"number-of-pods":                        {job + "pod_disruption_budget = { min_available = 3 }", false},
		"controller-with-the-subresource-scale": {"pod_disruption_budget = { max_unavailable = \"50%\" }", false},
	} {
		bodies[name], warns[name] = fmt.Sprintf("name = %q\n%s", name, c.attributes), c.warns
	}
	for name, p := range cluster.Resources(t, "kt_compute", ns, "").Plan(t, bodies) {
		text := strings.Join(p.Warnings, "\n")
		if shown := strings.Contains(text, "The budget allows no eviction"); shown != warns[name] {
			t.Errorf("%s: warning shown: %t, want %t:\n%s", name, shown, warns[name], text)
		}
	}
}
