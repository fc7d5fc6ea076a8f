package actions_test

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// applyUnknown updates the computes that were not adopted with values that are unknown until the apply: first of an
// attribute outside of the pods, then also of one in the pods. The plan has the action that it has with known values,
// and the result is the same. Only pods that cannot be changed are replaced in any case.
func (s *suite) applyUnknown() {
	s.t.Helper()
	members := s.only(func(m member) bool { return !m.adopted })
	before := s.bodiesOf(members)
	for _, m := range members {
		s.bodies[m.name()] += m.outsideOfPods(true)
	}
	s.changeUnknown(members, func(member) bool { return false })
	for _, m := range members {
		s.bodies[m.name()] = before[m.name()] + m.outsideOfPods(false) +
			"env_vars = { LATER = known_after_apply(\"1\") }\n"
	}
	s.changeUnknown(members, member.hasFixedPods)
	for _, m := range members {
		s.bodies[m.name()] = core.Applied(s.bodies[m.name()])
	}
}

// outsideOfPods returns an attribute outside of the pods with an unknown value.
func (m member) outsideOfPods(on bool) string {
	if len(m.kind.Suspension) > 0 {
		return fmt.Sprintf("suspend = known_after_apply(%t)\n", on)
	}
	return fmt.Sprintf("pod_disruption_budget = { min_available = known_after_apply(%q) }\n",
		map[bool]string{true: "1", false: "2"}[on])
}

// hasFixedPods reports whether a change of the pods replaces the workload. That of a JobSet is replaced by its webhook,
// which is not installed here, so the plan with known values is an update.
func (m member) hasFixedPods() bool {
	return slices.Contains([]string{"Job", "JobSet", "Pod", "RayJob"}, m.kind.Word())
}

// changeUnknown applies the configuration of members, and compares its plans and results with those that are planned if
// all values are known. The unknown values replace a member that is fixed.
func (s *suite) changeUnknown(members []member, fixed func(member) bool) {
	s.t.Helper()
	bodies, known := s.bodiesOf(members), map[string]string{}
	for name, body := range bodies {
		known[name] = core.Applied(body)
	}
	want := s.computes.Plan(s.t, known)
	plans := s.computes.Change(s.t, bodies)
	for _, m := range members {
		name, action := m.name(), want[m.name()].Action
		if fixed(m) {
			action = core.Replace
		}
		if got := plans[name].Action; got != action || action == core.NoOp {
			s.t.Errorf("%s: the plan with unknown values is %s; want %s", name, got, action)
		}
		if action != want[name].Action {
			continue // a new object lacks the fields that only an update sets, such as `suspend = false`
		}
		_, after, err := want[name].Decoded()
		if err != nil {
			s.t.Fatal(err)
		}
		if got := s.computes.Attribute(name, "manifests"); !reflect.DeepEqual(got, after["manifests"]) {
			s.t.Errorf("%s: applied with unknown values:\n%v\nplanned with known ones:\n%v", name, got,
				after["manifests"])
		}
	}
}
