package acctest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
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
// resumes it, removes it from state, imports and destroys it. After each step,
// terraform-plugin-testing checks that the plan is empty.
func (l LifeCycle) Run(t *testing.T, on *Cluster, ns string) {
	t.Helper()
	change := plancheck.ResourceActionUpdate
	if l.Replaces {
		change = plancheck.ResourceActionReplace
	}
	created, changed := on.Config(ns, BareCompute(l.Created)), on.Config(ns, BareCompute(l.Changed))
	ready := resource.ComposeAggregateTestCheckFunc(
		resource.TestCheckResourceAttr(Trainer, "mode", l.Mode),
		resource.TestCheckResourceAttr(Trainer, "ready", "true"),
	)
	steps := []resource.TestStep{
		{Config: created, Check: ready},
		{
			PreConfig: func() { on.Kubectl(t, append(l.Kubectl, "-n", ns)...) },
			Config:    created,
			ConfigPlanChecks: PreApply(
				plancheck.ExpectResourceAction(Trainer, plancheck.ResourceActionUpdate),
				PlanCheck(func(p Plan) error { return p.ChangesOnly(l.Drifts...) })),
		},
		{
			Config:           changed,
			ConfigPlanChecks: PreApply(plancheck.ExpectResourceAction(Trainer, change)),
			Check:            ready,
		},
	}
	if !l.NoSuspend {
		steps = append(steps, resource.TestStep{
			Config: on.Config(ns, BareCompute(l.Changed+"\nsuspend = true")),
			Check:  resource.TestCheckResourceAttr(Trainer, "ready", "false"),
		}, resource.TestStep{Config: changed, Check: ready})
	}
	steps = append(steps, resource.TestStep{
		Config: on.Config(ns, "removed {\n from = kt_compute.trainer\n lifecycle {\n destroy = false\n }\n}"),
	}, resource.TestStep{
		Config:           changed + fmt.Sprintf("\nimport {\n to = kt_compute.trainer\n id = \"%s/trainer\"\n}", ns),
		ConfigPlanChecks: PreApply(ExpectImport(l.Hidden...)),
		Check:            ready,
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: Factories(t),
		CheckDestroy:             func(*terraform.State) error { return on.NoneLeft(t, ns) },
		Steps:                    steps,
	})
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
