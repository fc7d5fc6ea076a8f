package acctest_test

import (
	"context"

	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// planFunc looks at all of a plan, by the address of the resource.
type planFunc func(changes map[string]tfplan) error

func (f planFunc) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	changes := map[string]tfplan{}
	for _, r := range req.Plan.ResourceChanges {
		before, _ := r.Change.Before.(map[string]any)
		after, _ := r.Change.After.(map[string]any)
		p := tfplan{plan: plan{before, after, r.Change.Importing != nil}}
		for _, action := range r.Change.Actions {
			p.actions = append(p.actions, string(action))
		}
		changes[r.Address] = p
	}
	resp.Error = f(changes)
}
