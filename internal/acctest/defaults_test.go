package acctest_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

func emptyPlan() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

func TestAccDefaultsOfTheProviderChange(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	config := func(block string) string { return withDefaults(ns, block, compute(`labels = { team = "ml" }`)) }
	changes := func(fields ...string) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{shows(nil, fields)}}
	}
	const template = dep + "spec.template."
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config("default_labels = { org = \"x\", team = \"default\" }\n default_annotations = { cost = \"1\" }")},
			{
				Config:       config("default_labels = { org = \"x\", team = \"default\" }\n default_annotations = { cost = \"1\" }"),
				ResourceName: trainer, ImportState: true, ImportStateKind: resource.ImportBlockWithID,
			},
			{
				Config: config("default_labels = { org = \"y\", team = \"default\" }\n default_annotations = { cost = \"2\" }"),
				ConfigPlanChecks: changes(dep+"metadata.labels.org", template+"metadata.labels.org", "Service metadata.labels.org",
					dep+"metadata.annotations.cost", template+"metadata.annotations.cost"),
			},
			{
				Config: config("gpu_anti_affinity = true"),
				ConfigPlanChecks: changes(dep+"metadata.labels.org", template+"metadata.labels.org", "Service metadata.labels.org",
					dep+"metadata.annotations", template+"metadata.annotations", template+"spec.affinity"),
			},
			{
				Config:       config("gpu_anti_affinity = true"),
				ResourceName: trainer, ImportState: true, ImportStateKind: resource.ImportBlockWithID,
			},
		},
	})
}

func TestAccDefaultsKeepTheNamespaceOfCreation(t *testing.T) {
	t.Parallel()
	first, second := namespace(t), namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(first, compute(""))},
			{Config: cluster.Config(second, compute("")), ConfigPlanChecks: emptyPlan()},
			{Config: cluster.Config(second, compute("memory = \"1Gi\"")), ConfigPlanChecks: expectAction(plancheck.ResourceActionUpdate)},
		},
	})
}

// The user who creates a compute may come from the environment, which another
// one who applies does not share.
func TestAccDefaultsKeepTheUserOfCreation(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	block := "provider \"kt\" {\n config_path = \"" + cluster.Kubeconfig + "\"\n namespace = \"" + ns + "\"\n}\n"
	as := func(user string) providers {
		return acctest.FactoriesWith(t, kubeconfig.Env{Getenv: func(name string) string {
			return map[string]string{"KT_USERNAME": user}[name]
		}})
	}
	const label = `metadata.labels.kubetorch.com/username`
	resource.Test(t, resource.TestCase{
		Steps: []resource.TestStep{
			{ProtoV6ProviderFactories: as("alice"), Config: block + compute("")},
			{ProtoV6ProviderFactories: as(""), Config: block + compute(""), ConfigPlanChecks: emptyPlan()},
			{
				ProtoV6ProviderFactories: as("bob"), Config: block + compute(""), ConfigPlanChecks: emptyPlan(),
			},
			{
				ProtoV6ProviderFactories: as("bob"), Config: strings.Replace(block, "{", "{\n username = \"carol\"", 1) + compute(""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					shows(nil, []string{dep + label, dep + "spec.template." + label, "Service " + label}),
				}},
			},
		},
	})
}

func TestAccDefaultsCompactPlansShowManifestsAfterCreation(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	config := func(attributes string) string { return withDefaults(ns, "compact_plans = true", compute(attributes)) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: config(""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue(trainer, tfjsonpath.New("manifests")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(trainer, tfjsonpath.New("manifests"), knownvalue.MapSizeExact(2)),
				},
			},
			{
				Config: config("replicas = 2"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					shows([]string{"replicas"}, []string{dep + "spec.replicas", dep + "spec.strategy"}),
				}},
			},
		},
	})
}
