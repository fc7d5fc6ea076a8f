package drift_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccDriftIsReportedByFieldAndRepaired(t *testing.T) {
	t.Parallel()
	checkDrift(t, changes())
}

func TestAccDriftOfServersIsReportedByFieldAndRepaired(t *testing.T) {
	t.Parallel()
	checkDrift(t, serverChanges())
}

// checkDrift makes all changes in one run, each to a separate compute.
func checkDrift(t *testing.T, changes []change) {
	t.Helper()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	computes := cluster.Resources(t, "kt_compute", ns, "")
	computes.Start = seen.Watch(acctest.Factories(t))["kt"]
	bodies := map[string]string{}
	for _, c := range changes {
		bodies[c.slug()] = fmt.Sprintf("name = %q\ncpus = \"1\"\nlaunch_timeout = \"1m\"\n%s", c.slug(),
			cmp.Or(c.attributes, drifting))
	}
	computes.Change(t, bodies)
	for _, c := range changes {
		addForeignFields(t, ns, c.slug())
	}
	before := cluster.LiveObjects(t, ns)
	for _, c := range changes {
		cluster.Kubectl(t, append(c.commands(), "-n", ns)...)
	}
	plans := computes.Plan(t, bodies)
	for _, c := range changes {
		if err := errors.Join(acctest.PlanShows(c.plans, c.fields)(acctest.AsPlan(t, plans[c.slug()])),
			seen.ExpectAbout(ns+"/"+c.slug(), c.warnings...)); err != nil {
			t.Errorf("%s: %v", c.slug(), err)
		}
	}
	computes.Apply(t, plans)
	computes.ExpectNoChange(t, bodies)
	after := cluster.LiveObjects(t, ns)
	for _, c := range changes {
		if name := c.slug(); !c.recreated && after[name] != before[name] {
			t.Errorf("%s: the objects differ after the repair.\nbefore: %s\nafter:  %s", name, before[name],
				after[name])
		}
	}
	computes.Destroy(t)
	if err := cluster.NothingLeft(t, ns)(nil); err != nil {
		t.Error(err)
	}
}

func TestAccDriftIgnoresFieldsOfOtherManagers(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Compute(drifting))
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig:        func() { addForeignFields(t, ns, "trainer") },
				Config:           config,
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan(), seen.ExpectNone()),
			},
		},
	})
}

func TestAccDriftOfADeletedDeploymentIsRepaired(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := cluster.Config(ns, acctest.Compute(drifting))
	seen := &acctest.Warnings{}
	deleteObjects := func(objects ...string) func() {
		return func() { cluster.Kubectl(t, append([]string{"delete", "-n", ns}, objects...)...) }
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: deleteObjects("deployment/trainer"),
				Config:    config,
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
					acctest.PlanShows(nil, []string{"Deployment"}),
					seen.Expect(ns, "Deployment ID no longer exists"),
				),
			},
			{
				PreConfig:        deleteObjects("deployment/trainer", "service/trainer"),
				Config:           config,
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionCreate),
			},
			{PreConfig: deleteObjects("deployment/trainer"), Config: config, Destroy: true},
		},
	})
}

func TestAccDriftOfAttributesCanBeIgnored(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(more string) string {
		return cluster.Config(ns,
			acctest.Compute(drifting+more+
				"\nlifecycle {\n ignore_changes = [image, env_vars, cpus, labels, endpoint]\n}"))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config("")},
			{
				PreConfig: func() {
					for _, args := range [][]string{
						{"set", "image", "deployment/trainer", "kubetorch=other:1"},
						{"set", "env", "deployment/trainer", "MODE=slow"},
						{"set", "resources", "deployment/trainer", "--requests=cpu=2"},
						{"label", "deployment/trainer", "team-"},
						{"set", "selector", "service", "trainer", "kubetorch.com/service=other"},
					} {
						cluster.Kubectl(t, append(args, "-n", ns)...)
					}
				},
				Config: config(""),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
			{
				Config: config("\nworking_dir = \"/work\""),
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanShows([]string{"working_dir"}, []string{container + "workingDir"}),
				),
			},
		},
	})
}

// Kubetorch's controller deletes the workload and the Service after inactivity_ttl. Other deletions are drift.
func TestAccComputeThatKubetorchDeletesIsReportedAsThat(t *testing.T) {
	t.Parallel()
	const byKubetorch, bySomebody = "deleted, probably by Kubetorch", "deleted outside of Terraform"
	ns := cluster.Namespace(t)
	computes := cluster.Resources(t, "kt_compute", ns, "")
	cases := map[string]struct{ attributes, deleted, says, not string }{
		"expired":              {`inactivity_ttl = "2h"`, "deployment,service", byKubetorch, bySomebody},
		"service-deleted":      {`inactivity_ttl = "2h"`, "service", bySomebody, byKubetorch},
		"without-a-time-limit": {"", "deployment,service", bySomebody, byKubetorch},
	}
	bodies := map[string]string{}
	for name, c := range cases {
		bodies[name] = fmt.Sprintf("name = %q\ncpus = \"1\"\nlaunch_timeout = \"1m\"\n%s", name, c.attributes)
	}
	computes.Change(t, bodies)
	for name, c := range cases {
		cluster.Kubectl(t, "delete", "-n", ns, c.deleted, name)
	}
	for name, p := range computes.Change(t, bodies) {
		text := strings.Join(p.Warnings, "\n")
		if c := cases[name]; !strings.Contains(text, c.says) || strings.Contains(text, c.not) {
			t.Errorf("%s: the warnings are: %s", name, text)
		}
	}
	computes.Destroy(t)
	if err := cluster.NothingLeft(t, ns)(nil); err != nil {
		t.Error(err)
	}
}
