package computes_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// configOfForeign is a compute whose attributes match foreignDeployment.
const configOfForeign = `
resource "kt_compute" "trainer" {
  name                 = "trainer"
  image                = "by-hand:1"
  replicas             = 2
  service_account_name = "default"
  freeze               = true
  labels               = { team = "ml" }
}`

func TestAccImportOfForeignObjectsChangesOnlyOwnership(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)
	cluster.Kubectl(t, "set", "serviceaccount", "deployment/trainer", "default", "-n", ns)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{
				Config:       cluster.Config(ns, configOfForeign),
				ResourceName: acctest.Trainer, ImportState: true, ImportStateId: ns + "/trainer",
				ImportStatePersist: true,
			},
			{
				Config: cluster.Config(ns, configOfForeign),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
					acctest.PlanCheck(func(p acctest.Plan) error {
						return p.ChangesOnly("kubetorch_version", "labels", "renderer_revision")
					}),
				),
				Check: func(*terraform.State) error {
					got := cluster.Kubectl(t, "get", "deployment/trainer", "service/trainer", "-n", ns, "-o",
						"jsonpath={.items[*].metadata.annotations.made-by} "+
							"{.items[0].spec.template.spec.containers[*].name} {.items[1].spec.ports[*].port}")
					if want := "hand kubetorch sidecar 80"; got != want {
						return fmt.Errorf("got %q, want %q", got, want)
					}
					return nil
				},
			},
		},
	})
}

func TestAccImportedForeignObjectsCanBeDestroyed(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy: func(*terraform.State) error { // NothingLeft finds only what the provider has applied
			if left := cluster.Kubectl(t, "get", "deployments,services", "-n", ns, "-o", "name"); left != "" {
				return fmt.Errorf("left behind: %s", left)
			}
			return nil
		},
		Steps: []resource.TestStep{{
			Config:       cluster.Config(ns, configOfForeign),
			ResourceName: acctest.Trainer, ImportState: true, ImportStateId: ns + "/trainer", ImportStatePersist: true,
		}},
	})
}

// Selectors are immutable. The pods get the label of the compute in addition.
func TestAccImportKeepsAnotherSelector(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "app"), "-n", ns)
	fields := []string{"get", "deployment/trainer", "-n", ns, "-o",
		"jsonpath={.metadata.uid} {.spec.selector.matchLabels}"}
	before := cluster.Kubectl(t, fields...)
	kept := func(*terraform.State) error {
		if after := cluster.Kubectl(t, fields...); after != before {
			return fmt.Errorf("got %s, want %s", after, before)
		}
		return nil
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{
				Config:       cluster.Config(ns, configOfForeign),
				ResourceName: acctest.Trainer, ImportState: true, ImportStateId: ns + "/trainer",
				ImportStatePersist: true,
			},
			{ // adopt_existing is for the Service, which another client created
				Config:           cluster.Config(ns, acctest.Compute("adopt_existing = true")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionUpdate),
				Check:            kept,
			},
			{
				Config:           cluster.Config(ns, acctest.Compute("adopt_existing = true")),
				ConfigPlanChecks: acctest.ExpectEmptyPlan(),
			},
			{Config: cluster.Config(ns, acctest.Compute("adopt_existing = true\n memory = \"1Gi\"")), Check: kept},
		},
	})
}

func TestAccImportDoesNotChangeAnUnusedService(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)
	config := cluster.Config(ns, acctest.Compute(`endpoint = { url = "http://trainer:8080" }`))
	version := []string{"get", "service/trainer", "-n", ns, "-o", "jsonpath={.metadata.resourceVersion}"}
	before := cluster.Kubectl(t, version...)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config:       config,
				ResourceName: acctest.Trainer, ImportState: true, ImportStateId: ns + "/trainer",
				ImportStatePersist: true,
			},
			{
				Config: config,
				Check: func(*terraform.State) error {
					if after := cluster.Kubectl(t, version...); after != before {
						return fmt.Errorf("the Service has version %s, want %s", after, before)
					}
					return nil
				},
			},
		},
	})
}

func TestAccImportRejectsInvalidIDs(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	var steps []resource.TestStep
	for id, message := range map[string]string{
		"trainer":            `must have the format\s+namespace/name`,
		"/trainer":           `must have the format\s+namespace/name`,
		ns + "/":             `must have the format\s+namespace/name`,
		ns + "/trainer/more": `must have the format\s+namespace/name`,
		ns + "/missing":      `(?s)No workload \S+/missing.*kubectl get deployments`,
		"no-such-ns/trainer": `No workload no-such-ns/trainer`,
	} {
		steps = append(steps, resource.TestStep{
			Config:       cluster.Config(ns, acctest.Compute("")),
			ResourceName: acctest.Trainer, ImportState: true, ImportStateId: id,
			ExpectError: regexp.MustCompile(message),
		})
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: acctest.Factories(t), Steps: steps})
}

// Terraform imports by identity since 1.12, OpenTofu not yet. The test therefore
// calls the provider directly.
func TestAccImportByIdentity(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)
	for name, identity := range map[string]map[string]tftypes.Value{
		"namespace and name": {"namespace": tftypes.NewValue(tftypes.String, ns),
			"name": tftypes.NewValue(tftypes.String, "trainer")},
		"the provider's namespace": {
			"namespace": tftypes.NewValue(tftypes.String, nil), "name": tftypes.NewValue(tftypes.String, "trainer"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := acctest.ConfiguredProvider(t,
				map[string]string{"config_path": cluster.Kubeconfig(), "namespace": ns})
			imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
				TypeName: "kt_compute",
				Identity: &tfprotov6.ResourceIdentityData{IdentityData: acctest.DynamicValue(t, tftypes.Object{
					AttributeTypes: map[string]tftypes.Type{"namespace": tftypes.String, "name": tftypes.String},
				}, identity)},
			})
			if err != nil || len(imported.Diagnostics) > 0 || len(imported.ImportedResources) != 1 {
				t.Fatalf("%v %v", err, imported)
			}
			got := imported.ImportedResources[0]
			read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
				TypeName: "kt_compute", CurrentState: got.State, Private: got.Private, CurrentIdentity: got.Identity,
			})
			if err != nil || len(read.Diagnostics) > 0 {
				t.Fatalf("%v %v", err, read)
			}
			state := attributesOf(t, server, read.NewState)
			for attribute, want := range map[string]string{"id": ns + "/trainer", "image": "by-hand:1"} {
				var text string
				if err := state[attribute].As(&text); err != nil || text != want {
					t.Errorf("%s is %q (%v), want %q", attribute, text, err, want)
				}
			}
		})
	}
}

func attributesOf(
	t *testing.T, server tfprotov6.ProviderServer, state *tfprotov6.DynamicValue,
) map[string]tftypes.Value {
	t.Helper()
	described, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	value, err := state.Unmarshal(described.ResourceSchemas["kt_compute"].ValueType())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]tftypes.Value{}
	if err := value.As(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The configuration that Terraform generates for an import contains all attributes,
// including defaults.
func TestAccGeneratedConfigurationOfAnImportPlansNoChange(t *testing.T) {
	t.Parallel()
	on := withCRDs
	ns := on.Namespace(t)
	created, imported := acctest.NewAttachedCLI(t), acctest.NewCLI(t)
	for _, cli := range []*acctest.CLI{created, imported} {
		cli.Setenv("KUBE_CONFIG_PATH", on.Kubeconfig())
		cli.Setenv("KT_NAMESPACE", ns)
	}
	resources, imports := "", ""
	forms := map[string]string{
		"deployment":  `gpus = 1`,
		"distributed": `distribute = { type = "ray", workers = 2 }`,
		"autoscaled":  `autoscale = { max_scale = 3 }`,
		"manifest":    acctest.Manifest("apiVersion: apps/v1\nkind: StatefulSet\nspec: {replicas: 2}"),
		"job":         "command = [\"train\"]\njob = {}",
		"command": acctest.Manifest("apiVersion: batch/v1\nkind: CronJob\nspec: {schedule: \"0 3 * * *\"}") +
			"command = [\"train\"]",
	}
	for name, attributes := range forms {
		resources += strings.ReplaceAll(acctest.BareCompute(attributes+"\non_not_ready = \"ignore\""), "trainer", name)
		// Terraform 1.16 looks for hashicorp/kt without the argument provider.
		imports += fmt.Sprintf("import {\n provider = kt\n to = kt_compute.%[2]s\n id = \"%[1]s/%[2]s\"\n}\n", ns, name)
	}
	created.Write(t, resources)
	created.MustRun(t, "apply", "-auto-approve")
	imported.Write(t, imports)
	want := fmt.Sprintf("%d to import, 0 to add, 0 to change, 0 to destroy", len(forms))
	if out := imported.MustRun(t, "plan", "-generate-config-out=generated.tf"); !strings.Contains(out, want) {
		t.Errorf("the output of the plan is:\n%s", out)
	}
	created.MustRun(t, "destroy", "-auto-approve")
}
