package acctest

import (
	"errors"
	"slices"
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
	computes := on.Resources(t, "kt_compute", ns, "")
	apply := func(attributes string, ready bool) *core.Plan {
		t.Helper()
		body := "name = \"trainer\"\nlaunch_timeout = \"2m\"\n" + attributes
		p := computes.Change(t, map[string]string{"trainer": body})["trainer"]
		mode, is := computes.Attribute("trainer", "mode"), computes.Attribute("trainer", "ready")
		if mode != l.Mode || is != ready {
			t.Fatalf("mode %v and ready %v instead of %v and %v", mode, is, l.Mode, ready)
		}
		return p
	}
	step := func(attributes string, want core.Action, ready bool) *core.Plan {
		t.Helper()
		p := apply(attributes, ready)
		if p.Action != want {
			t.Fatalf("the plan is %s instead of %s", p.Action, want)
		}
		return p
	}
	changes := func(p *core.Plan, attributes ...string) {
		t.Helper()
		changed := slices.DeleteFunc(p.Attributes(), func(a string) bool { return a == "ready" })
		if err := SameElements("attributes", changed, attributes); err != nil {
			t.Fatal(err)
		}
	}
	step(l.Created, core.Create, true)
	on.Kubectl(t, append(l.Kubectl, "-n", ns)...)
	changes(step(l.Created, core.Update, true), append(l.Drifts, "manifests")...)
	change := core.Update
	if l.Replaces {
		change = core.Replace
	}
	step(l.Changed, change, true)
	if !l.NoSuspend {
		step(l.Changed+"\nsuspend = true", core.Update, false)
		step(l.Changed, core.Update, true)
	}
	computes.Import(t, ns, []string{"trainer"})
	changes(apply(l.Changed, true), l.Hidden...)
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
