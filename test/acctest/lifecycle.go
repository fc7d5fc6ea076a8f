package acctest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// LifeCycle is a compute and the changes in its life.
type LifeCycle struct {
	Name    string
	Mode    string // expected value of the attribute mode
	Objects string // YAML of objects that exist before

	Created, Changed string // attributes
	Replaces         bool   // the change replaces the compute

	// Kubectl changes an object outside of Terraform. The next plan changes the
	// attributes in Drifts, apart from manifests.
	Kubectl []string
	Drifts  []string

	NoSuspend bool     // cannot be suspended
	Hidden    []string // attributes that an import does not read
}

// Run creates the compute, changes it outside of Terraform, changes, suspends and
// resumes it, removes it from state, imports and destroys it. After each step, the
// plan is empty.
func (l LifeCycle) Run(t *testing.T, on *Cluster, ns string) {
	t.Helper()
	runLifeCycles(t, on, ns, map[string]LifeCycle{"trainer": l})
}

// RunLifeCycles runs several life cycles in one state, which costs little more than one. Their names are those of the
// computes.
func RunLifeCycles(t *testing.T, on *Cluster, ns string, all ...LifeCycle) {
	t.Helper()
	named := map[string]LifeCycle{}
	for _, l := range all {
		if l.Objects != "" {
			on.Apply(t, l.Objects, "-n", ns)
		}
		named[l.Name] = l
	}
	runLifeCycles(t, on, ns, named)
}

func runLifeCycles(t *testing.T, on *Cluster, ns string, all map[string]LifeCycle) {
	t.Helper()
	computes := on.Resources(t, "kt_compute", ns, "")
	names := slices.Sorted(maps.Keys(all))
	apply := func(names []string, ready bool, attributes func(LifeCycle) string) map[string]*core.Plan {
		t.Helper()
		bodies := map[string]string{}
		for _, name := range names {
			bodies[name] = fmt.Sprintf("name = %q\nlaunch_timeout = \"2m\"\n%s", name, attributes(all[name]))
		}
		plans := computes.Change(t, bodies)
		for _, name := range names {
			mode, is := computes.Attribute(name, "mode"), computes.Attribute(name, "ready")
			if mode != all[name].Mode || is != ready {
				t.Fatalf("%s: mode %v and ready %v instead of %v and %v", name, mode, is, all[name].Mode, ready)
			}
		}
		return plans
	}
	step := func(
		names []string, want core.Action, ready bool, attributes func(LifeCycle) string,
	) map[string]*core.Plan {
		t.Helper()
		plans := apply(names, ready, attributes)
		for name, p := range plans {
			if p.Action != want {
				t.Fatalf("%s: the plan is %s instead of %s", name, p.Action, want)
			}
		}
		return plans
	}
	changes := func(plans map[string]*core.Plan, attributes func(LifeCycle) []string) {
		t.Helper()
		for name, p := range plans {
			changed := slices.DeleteFunc(p.Attributes(), func(a string) bool { return a == "ready" })
			if err := SameElements("attributes", changed, attributes(all[name])); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	only := func(accept func(LifeCycle) bool) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !accept(all[name]) })
	}
	created, changed := func(l LifeCycle) string { return l.Created }, func(l LifeCycle) string { return l.Changed }

	step(names, core.Create, true, created)
	for name, l := range all {
		args := []string{"-n", ns}
		for _, arg := range l.Kubectl {
			args = append(args, strings.ReplaceAll(arg, "trainer", name))
		}
		on.Kubectl(t, args...)
	}
	changes(step(names, core.Update, true, created), func(l LifeCycle) []string {
		return append(slices.Clone(l.Drifts), "manifests")
	})
	step(only(func(l LifeCycle) bool { return l.Replaces }), core.Replace, true, changed)
	step(only(func(l LifeCycle) bool { return !l.Replaces }), core.Update, true, changed)
	suspended := only(func(l LifeCycle) bool { return !l.NoSuspend })
	step(suspended, core.Update, false, func(l LifeCycle) string { return l.Changed + "\nsuspend = true" })
	step(suspended, core.Update, true, changed)
	computes.Import(t, ns, names)
	changes(apply(names, true, changed), func(l LifeCycle) []string { return l.Hidden })
	computes.Destroy(t)
	if err := on.NoneLeft(t, ns); err != nil {
		t.Error(err)
	}
}

// ExpectImport checks that the plan imports the compute and changes only
// attributes that an import does not read.
func ExpectImport(hidden ...string) PlanCheck {
	return func(p Plan) error {
		if !p.Imports {
			return errors.New("the plan does not import it")
		}
		return PlanShows(hidden, nil)(p)
	}
}
