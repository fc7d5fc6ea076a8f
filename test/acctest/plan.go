package acctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// PreApply checks the plan of a step.
func PreApply(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: checks}
}

// ExpectEmptyPlan checks that there is nothing to apply.
func ExpectEmptyPlan() resource.ConfigPlanChecks { return PreApply(plancheck.ExpectEmptyPlan()) }

// Plan is the plan for one resource: its attributes before and after.
type Plan struct {
	Before, After map[string]any
	Actions       []string // such as "update"; a replacement has two
	Imports       bool
}

// PlanCheck checks the plan for Trainer.
type PlanCheck func(Plan) error

// CheckPlan implements plancheck.PlanCheck.
func (check PlanCheck) CheckPlan(
	ctx context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse,
) {
	PlanChecks{Trainer: check}.CheckPlan(ctx, req, resp)
}

// PlanChecks check the plans for several resources, by address.
type PlanChecks map[string]PlanCheck

// CheckPlan implements plancheck.PlanCheck.
func (checks PlanChecks) CheckPlan(
	_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse,
) {
	for _, address := range slices.Sorted(maps.Keys(checks)) {
		err := errors.New("it is not in the plan")
		for _, r := range req.Plan.ResourceChanges {
			if r.Address == address {
				before, _ := r.Change.Before.(map[string]any)
				after, _ := r.Change.After.(map[string]any)
				p := Plan{Before: before, After: after, Imports: r.Change.Importing != nil}
				for _, action := range r.Change.Actions {
					p.Actions = append(p.Actions, string(action))
				}
				err = checks[address](p)
			}
		}
		if err != nil {
			resp.Error = errors.Join(resp.Error, fmt.Errorf("%s: %w", address, err))
		}
	}
}

// PlanShows checks that the plan changes exactly these attributes, apart from
// manifests, and exactly these fields of manifests, such as
// "Deployment spec.replicas".
func PlanShows(attributes, fields []string) PlanCheck {
	return func(p Plan) error {
		return errors.Join(p.ChangesOnly(attributes...), SameElements("fields of manifests", p.Fields(), fields))
	}
}

// ChangesOnly checks that the plan changes exactly these attributes, apart from
// manifests and ready.
func (p Plan) ChangesOnly(attributes ...string) error {
	var changed []string
	for name := range p.Before {
		if name != "manifests" && name != "ready" && !reflect.DeepEqual(p.Before[name], p.After[name]) {
			changed = append(changed, name)
		}
	}
	return SameElements("attributes", changed, attributes)
}

// SameElements returns an error unless the plan changes what it should, in any order.
func SameElements(what string, got, want []string) error {
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if slices.Equal(got, want) {
		return nil
	}
	return fmt.Errorf("the plan changes the %s\n  %q,\nbut should change\n  %q", what, got, want)
}

// Fields lists the fields that change in manifests, such as "Deployment spec.replicas".
func (p Plan) Fields() []string {
	before, _ := p.Before["manifests"].(map[string]any)
	after, _ := p.After["manifests"].(map[string]any)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		kind, _, _ := strings.Cut(key, "/")
		for _, path := range differences(kind+" ", decoded(before[key]), decoded(after[key])) {
			all = append(all, strings.TrimSuffix(path, " "))
		}
	}
	return all
}

func decoded(manifest any) any {
	text, _ := manifest.(string)
	var v any
	_ = json.Unmarshal([]byte(text), &v) // no object stays nil
	return v
}

// differences returns the paths of the fields that differ. A list whose length
// differs is one field.
func differences(path string, a, b any) []string {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			return []string{path}
		}
		var all []string
		for name := range union(a, b) {
			all = append(all, differences(join(path, name), a[name], b[name])...)
		}
		return all
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return []string{path}
		}
		var all []string
		for i := range a {
			all = append(all, differences(join(path, fmt.Sprint(i)), a[i], b[i])...)
		}
		return all
	}
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return []string{path}
}

func join(path, name string) string {
	if strings.HasSuffix(path, " ") {
		return path + name
	}
	return path + "." + name
}

func union(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, b)
	return all
}

// ExpectEmptyPlanAfterApply checks that the plan after the apply is empty.
func ExpectEmptyPlanAfterApply() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

// ExpectAction checks the action that is planned for a resource, and that the plan
// after it is empty.
func ExpectAction(address string, action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{
		PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)},
		PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
	}
}
