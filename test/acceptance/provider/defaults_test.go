package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	kubeconfig "github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccDefaultsOfTheProviderAreUpdated(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(block string) string {
		return cluster.ConfigWith(ns, block, acctest.Compute(`labels = { team = "ml" }`))
	}
	changes := func(fields ...string) resource.ConfigPlanChecks {
		return acctest.PreApply(acctest.PlanShows(nil, fields))
	}
	const template = "Deployment spec.template."
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config("default_labels = { org = \"x\", team = \"default\" }\n default_annotations = { cost = " +
				"\"1\" }")},
			{
				Config: config("default_labels = { org = \"x\", team = \"default\" }\n default_annotations = " +
					"{ cost = \"1\" }"),
				ResourceName: acctest.Trainer, ImportState: true, ImportStateKind: resource.ImportBlockWithID,
			},
			{
				Config: config("default_labels = { org = \"y\", team = \"default\" }\n default_annotations = { cost " +
					"= \"2\" }"),
				ConfigPlanChecks: changes("Deployment metadata.labels.org", template+"metadata.labels.org",
					"Service metadata.labels.org",
					"Deployment metadata.annotations.cost", template+"metadata.annotations.cost"),
			},
			{
				Config: config("gpu_anti_affinity = true"),
				ConfigPlanChecks: changes("Deployment metadata.labels.org", template+"metadata.labels.org",
					"Service metadata.labels.org",
					"Deployment metadata.annotations", template+"metadata.annotations", template+"spec.affinity"),
			},
			{
				Config:       config("gpu_anti_affinity = true"),
				ResourceName: acctest.Trainer, ImportState: true, ImportStateKind: resource.ImportBlockWithID,
			},
		},
	})
}

func TestAccDefaultNamespaceOfACreationIsKept(t *testing.T) {
	t.Parallel()
	first, second := cluster.Namespace(t), cluster.Namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(first, acctest.Compute(""))},
			{Config: cluster.Config(second, acctest.Compute("")), ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{Config: cluster.Config(second, acctest.Compute("memory = \"1Gi\"")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionUpdate)},
		},
	})
}

// The default user may be read from the environment, which differs for another user.
func TestAccDefaultUserOfACreationIsKept(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	block := "provider \"kt\" {\n config_path = \"" + cluster.Kubeconfig() + "\"\n namespace = \"" + ns + "\"\n}\n"
	as := func(user string) acctest.Providers {
		return acctest.FactoriesWith(t, kubeconfig.Env{Getenv: func(name string) string {
			return map[string]string{"KT_USERNAME": user}[name]
		}})
	}
	const label = `metadata.labels.kubetorch.com/username`
	resource.Test(t, resource.TestCase{
		Steps: []resource.TestStep{
			{ProtoV6ProviderFactories: as("alice"), Config: block + acctest.Compute("")},
			{ProtoV6ProviderFactories: as(""), Config: block + acctest.Compute(""),
				ConfigPlanChecks: acctest.ExpectEmptyPlan()},
			{
				ProtoV6ProviderFactories: as("bob"), Config: block + acctest.Compute(""),
				ConfigPlanChecks: acctest.ExpectEmptyPlan(),
			},
			{
				ProtoV6ProviderFactories: as("bob"),
				Config: strings.Replace(block, "{", "{\n username = \"carol\"", 1) +
					acctest.Compute(""),
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanShows(nil,
						[]string{"Deployment " + label, "Deployment spec.template." + label, "Service " + label}),
				),
			},
		},
	})
}

func TestAccCompactPlansShowManifestsAfterTheCreation(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(attributes string) string {
		return cluster.ConfigWith(ns, "compact_plans = true",
			acctest.Compute("env_vars = { API_TOKEN = \"canary\" }\n"+attributes))
	}
	refers := func(s *terraform.State) error {
		key := "manifests.Deployment/" + ns + "/trainer"
		text := s.RootModule().Resources[acctest.Trainer].Primary.Attributes[key]
		if strings.Contains(text, "canary") || !strings.Contains(text, "(env_vars.API_TOKEN)") {
			return fmt.Errorf("manifests refers to no variable, or has its value: %s", text)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: config(""),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectUnknownValue(acctest.Trainer, tfjsonpath.New("manifests")),
				),
				Check: refers,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("manifests"),
						knownvalue.MapSizeExact(2)),
				},
			},
			{
				Config: config("replicas = 2"),
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanShows([]string{"replicas"},
						[]string{"Deployment spec.replicas", "Deployment spec.strategy"}),
				),
				Check: refers,
			},
		},
	})
}
