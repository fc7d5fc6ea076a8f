package chains_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// onlyUnknown is in the message about a plan that would not fail with known values, so that it is no refusal.
const onlyUnknown = "it fails only with unknown values"

// foreseen is what the plans with unknown values are if these are known.
type foreseen struct {
	bodies map[string]string // with the unknown values
	plans  map[string]*core.Plan
	failed map[string]error
}

// foresee plans the declarations that have unknown values as if these were known.
func (s *state) foresee(bodies map[string]string) foreseen {
	s.t.Helper()
	bodies = maps.Clone(bodies)
	maps.DeleteFunc(bodies, func(_, body string) bool { return !strings.Contains(body, unknown) })
	s.done.Unknown += len(bodies)
	known := foreseen{bodies: bodies}
	if len(bodies) > 0 {
		known.plans, known.failed = s.plan(applied(bodies))
	}
	return known
}

// judgeFailed marks the failures of plans that would not fail with known values.
func (f foreseen) judgeFailed(failed map[string]error) {
	for name, err := range failed {
		if f.plans[name] != nil {
			failed[name] = fmt.Errorf("%s: %w", onlyUnknown, err)
		}
	}
}

// judge compares applied plans that had unknown values with what they are if these are known. It adds what is wrong to
// the errors of the apply. It replaces plans of updates by those with the known values, since these are what the apply
// did. It returns the declarations to apply again: of an update that turns out to be a replacement, for example because
// of another mode. Terraform does not turn one into the other, so the apply fails, and that of the next run replaces
// the resource.
func (f foreseen) judge(s *state, plans map[string]*core.Plan, failed map[string]error) (late map[string]string) {
	late = map[string]string{}
	for name, body := range f.bodies {
		p, known := plans[name], f.plans[name]
		if p == nil { // the plan has failed
			continue
		}
		may := mayReplace(s.t, p, body)
		switch {
		case known == nil && failed[name] == nil:
			failed[name] = fmt.Errorf("it succeeds, although the plan with known values fails: %w", f.failed[name])
		case known == nil: // the apply rejects it instead
		case p.Action == core.Replace && known.Action != core.Replace && !may:
			failed[name] = fmt.Errorf("the plan is a replacement, and with known values it is: %s", known.Action)
		case p.Action != core.Replace && known.Action == core.Replace && (may || failed[name] == nil):
			failed[name] = errors.Join(errors.New("the plan is no replacement, and with known values it is"),
				failed[name])
		case p.Action != core.Replace && known.Action == core.Replace:
			late[name] = core.Applied(body)
			delete(failed, name)
			s.done.Late++
		case p.Action == core.Update:
			s.plans[name] = known
		}
	}
	return late
}

// mayReplace reports whether the plan must be a replacement because of unknown values: if they may be in pods that
// cannot be changed, or in a volume that was never bound. The documentation of kt_compute and kt_volume promises this,
// and that other unknown values replace nothing.
func mayReplace(t *testing.T, p *core.Plan, body string) bool {
	t.Helper()
	before, _, err := p.Decoded()
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range attributesOf(t, body) {
		if strings.Contains(a.text, unknown) && replaces(before, name) {
			return true
		}
	}
	return false
}

// replaces reports whether an unknown value of an attribute replaces a resource with that state.
func replaces(before map[string]any, attribute string) bool {
	if before["phase"] == "Pending" {
		immutable := []string{"access_mode", "name", "namespace", "size", "storage_class", "volume_name"}
		return before["deletion_protection"] != true && slices.Contains(immutable, attribute)
	}
	mode, _ := before["mode"].(string)
	outside := []string{"endpoint", "expose", "on_not_ready", "pod_disruption_budget", "service", "suspend"}
	return slices.Contains([]string{"job", "jobset", "pod", "rayjob"}, mode) && !slices.Contains(outside, attribute)
}

// TestPlansWithUnknownValuesAreJudged compares plans that a provider may make with unknown and with known values.
func TestPlansWithUnknownValuesAreJudged(t *testing.T) {
	t.Parallel()
	const pods, outside = "env_vars = { A = known_after_apply(1) }", "suspend = known_after_apply(true)"
	const size, waits = "size = known_after_apply(\"1Gi\")", "wait_for_bound = known_after_apply(true)"
	failure := errors.New("rejected")
	for name, c := range map[string]struct {
		mode, phase, body string
		planned, known    core.Action // "" if there is no plan
		failed            error       // of the apply
		wrong, late, same bool        // same: the plan remains the one with unknown values
	}{
		"an update":                   {mode: "job", body: outside, planned: core.Update, known: core.Update},
		"an update to the same value": {mode: "deployment", body: pods, planned: core.Update, known: core.NoOp},
		"a replacement": {mode: "job", body: pods, planned: core.Replace, known: core.Replace,
			same: true},
		"a replacement that was not necessary": {mode: "job", body: pods, planned: core.Replace, known: core.NoOp,
			same: true},
		"a replacement by an attribute outside of pods": {mode: "job", body: outside, planned: core.Replace,
			known: core.Update, wrong: true, same: true},
		"a replacement of pods that can be changed": {mode: "statefulset", body: pods, planned: core.Replace,
			known: core.Update, wrong: true, same: true},
		"an update that becomes a replacement": {mode: "deployment", body: pods, planned: core.Update,
			known: core.Replace, failed: failure, late: true, same: true},
		"an update of pods that cannot be changed": {mode: "rayjob", body: pods, planned: core.Update,
			known: core.Replace, failed: failure, wrong: true, same: true},
		"a missed replacement": {mode: "deployment", body: pods, planned: core.Update, known: core.Replace, wrong: true,
			same: true},
		"a replacement of an empty volume": {phase: "Pending", body: size, planned: core.Replace, known: core.Update,
			same: true},
		"an update of an empty volume": {phase: "Pending", body: size, planned: core.Update, known: core.Update},
		"a replacement of an empty volume by an attribute outside of it": {phase: "Pending", body: waits,
			planned: core.Replace, known: core.Update, wrong: true, same: true},
		"a replacement of a volume with data": {phase: "Bound", body: size, planned: core.Replace, known: core.Update,
			wrong: true, same: true},
		"a late refusal": {mode: "deployment", body: pods, planned: core.Update, failed: failure, wrong: true,
			same: true},
		"a missed refusal": {mode: "deployment", body: pods, planned: core.Update, wrong: true, same: true},
		"a refusal":        {mode: "deployment", body: pods},
	} {
		plan := func(action core.Action) map[string]*core.Plan {
			if action == "" {
				return map[string]*core.Plan{}
			}
			before := cty.ObjectVal(map[string]cty.Value{"mode": cty.StringVal(c.mode),
				"phase": cty.StringVal(c.phase)})
			return map[string]*core.Plan{"a": {Action: action, Before: before, After: before}}
		}
		planned, known, failed := plan(c.planned), plan(c.known), map[string]error{}
		if c.failed != nil {
			failed["a"] = c.failed
		}
		f := foreseen{bodies: map[string]string{"a": c.body}, plans: known, failed: map[string]error{"a": failure}}
		s := &state{t: t, done: &totals{}, plans: maps.Clone(planned)}
		late := f.judge(s, planned, failed)
		if (failed["a"] != nil) != c.wrong || (late["a"] != "") != c.late ||
			(s.plans["a"] == planned["a"]) != (c.same || c.planned == "") {
			t.Errorf("%s: %v, late %v, with the plan %v of %v and %v", name, failed, late, s.plans, planned, known)
		}
	}
}
