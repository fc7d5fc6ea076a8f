package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// revisionsOfALaterRelease returns the revisions of this release, and another one
// with a different startup script.
func revisionsOfALaterRelease() []manifest.Revision {
	revisions := manifest.Revisions()
	newest := revisions[len(revisions)-1]
	next := newest
	next.Number++
	next.StartupScript = func(c manifest.Compute, of kind.Kind) string {
		return "# a later release\n" + newest.StartupScript(c, of)
	}
	return append(revisions, next)
}

const script = "Deployment spec.template.spec.containers.0.args.0"

func noEnvironment() kubeconfig.Env { return kubeconfig.Env{Getenv: func(string) string { return "" }} }

func TestAccRendererOfALaterReleaseRestartsNothing(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(attributes string) string { return cluster.Config(ns, acctest.Compute(attributes)) }
	newer := func() acctest.Providers {
		return acctest.FactoriesRendering(t, noEnvironment(), revisionsOfALaterRelease())
	}
	revision := func(number int64) []statecheck.StateCheck {
		return []statecheck.StateCheck{statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("renderer_revision"),
			knownvalue.Int64Exact(number))}
	}
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		Steps: []resource.TestStep{
			{ProtoV6ProviderFactories: acctest.Factories(t), Config: config(""), ConfigStateChecks: revision(1)},
			{ProtoV6ProviderFactories: newer(), Config: config(""), ConfigPlanChecks: acctest.ExpectEmptyPlan(),
				ConfigStateChecks: revision(1)},
			{ // a change outside of the pod template keeps the revision
				ProtoV6ProviderFactories: newer(), Config: config(`inactivity_ttl = "3h"`),
				ConfigStateChecks: revision(1),
				ConfigPlanChecks: checkPlan(acctest.PlanShows([]string{"inactivity_ttl"},
					[]string{"Deployment metadata.annotations", "Service metadata.annotations"})),
			},
			{ // pods that restart anyway get the newest revision
				ProtoV6ProviderFactories: newer(), Config: config("inactivity_ttl = \"3h\"\n memory = \"1Gi\""),
				ConfigStateChecks: revision(2),
				ConfigPlanChecks: checkPlan(acctest.PlanShows([]string{"memory", "renderer_revision"},
					[]string{script, "Deployment spec.template.spec.containers.0.resources.requests.memory"})),
			},
			{ // the user selects a revision, here an earlier one
				ProtoV6ProviderFactories: seen.WatchPlans(newer()),
				Config:                   config("inactivity_ttl = \"3h\"\n memory = \"1Gi\"\n renderer_revision = 1"),
				ConfigStateChecks:        revision(1),
				ConfigPlanChecks: checkPlan(acctest.PlanShows([]string{"renderer_revision"},
					[]string{script})),
			},
		},
	})
	if err := seen.ExpectAbout("renderer_revision", "Changing this restarts the pods."); err != nil {
		t.Error(err)
	}
}

func TestAccKubetorchVersionChangesOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	const label = "labels.kubetorch.com/version"
	versionFields := []string{"Deployment metadata." + label, "Deployment spec.template.metadata." + label,
		"Service metadata." + label, script}
	config := func(block, attributes string) string {
		return cluster.ConfigWith(ns, block, acctest.Compute(attributes))
	}
	version := func(text string) []statecheck.StateCheck {
		return []statecheck.StateCheck{statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("kubetorch_version"),
			knownvalue.StringExact(text))}
	}
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{Config: config("", `kubetorch_version = "0.4.9"`), ConfigStateChecks: version("0.4.9")},
			{Config: config("", ""), ConfigPlanChecks: acctest.ExpectEmptyPlan(), ConfigStateChecks: version("0.4.9")},
			{
				Config: config(`kubetorch_version = "0.4.8"`, ""), ConfigStateChecks: version("0.4.8"),
				ConfigPlanChecks: checkPlan(acctest.PlanShows([]string{"kubetorch_version"}, versionFields)),
			},
			{
				Config:            config(`kubetorch_version = "0.4.8"`, `kubetorch_version = "0.4.7"`),
				ConfigStateChecks: version("0.4.7"),
				ConfigPlanChecks:  checkPlan(acctest.PlanShows([]string{"kubetorch_version"}, versionFields)),
			},
			{ // pods that restart anyway get the default version of the release
				Config: config("", `memory = "1Gi"`), ConfigStateChecks: version(manifest.KubetorchVersion),
				ConfigPlanChecks: checkPlan(acctest.PlanShows([]string{"kubetorch_version", "memory"},
					append(versionFields, "Deployment spec.template.spec.containers.0.resources.requests.memory"))),
			},
		},
	})
	if err := seen.ExpectAbout("kubetorch_version", "Changing this restarts the pods."); err != nil {
		t.Error(err)
	}
}

// checkPlan checks the plan of a step.
func checkPlan(checks ...plancheck.PlanCheck) resource.ConfigPlanChecks {
	return acctest.PreApply(checks...)
}

// Environment variables affect only new computes. The provider block also affects
// existing ones.
func TestAccEnvironmentMattersOnlyAtCreation(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	block := func(attributes string) string {
		return fmt.Sprintf("provider \"kt\" {\n config_path = %q\n namespace = %q\n %s\n}\nresource \"kt_compute\" "+
			"\"trainer\" {\n name = \"trainer\"\n}\n",
			cluster.Kubeconfig(), ns, attributes)
	}
	in := func(variables map[string]string) acctest.Providers {
		return acctest.FactoriesWith(t, kubeconfig.Env{Getenv: func(name string) string { return variables[name] }})
	}
	first := map[string]string{"KT_LAUNCH_TIMEOUT": "60", "KT_GPU_ANTI_AFFINITY": "1", "KT_USERNAME": "alice"}
	other := map[string]string{"KT_LAUNCH_TIMEOUT": "600", "KT_USERNAME": "bob"}
	probe := "Deployment spec.template.spec.containers.0.startupProbe.failureThreshold"
	resource.Test(t, resource.TestCase{
		Steps: []resource.TestStep{
			{ProtoV6ProviderFactories: in(first), Config: block("")},
			{ProtoV6ProviderFactories: in(other), Config: block(""), ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{ProtoV6ProviderFactories: in(nil), Config: block(""), ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{
				ProtoV6ProviderFactories: in(nil), Config: block("launch_timeout = \"10m\""),
				ConfigPlanChecks: checkPlan(acctest.PlanShows(nil, []string{probe})),
			},
			{
				ProtoV6ProviderFactories: in(nil),
				Config:                   block("launch_timeout = \"10m\"\n gpu_anti_affinity = false"),
				ConfigPlanChecks: checkPlan(acctest.PlanShows(nil,
					[]string{"Deployment spec.template.spec.affinity"})),
			},
			{ // without a setting in the block, the environment determines it once
				ProtoV6ProviderFactories: in(first), Config: block("gpu_anti_affinity = false"),
				ConfigPlanChecks: checkPlan(acctest.PlanShows(nil, []string{probe})),
			},
			{ProtoV6ProviderFactories: in(other), Config: block("gpu_anti_affinity = false"),
				ConfigPlanChecks: acctest.ExpectEmptyPlan()},
		},
	})
}
