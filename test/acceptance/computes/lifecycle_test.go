package computes_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccComputeIsCreatedUpdatedSuspendedResumedImportedAndDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(attributes string) string { return cluster.Config(ns, acctest.Compute(attributes)) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{
				Config:           config(`memory = "4096Mi"`),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("id"),
						knownvalue.StringExact(ns+"/trainer")),
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("ready"), knownvalue.Bool(true)),
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("mode"),
						knownvalue.StringExact("deployment")),
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("url"),
						knownvalue.StringExact("http://trainer."+ns+".svc.cluster.local:80")),
					// null, because there is no registration
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("manifests"),
						knownvalue.MapSizeExact(3)),
				},
			},
			{Config: config(`memory = "4Gi"`),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionNoop)},
			{Config: config("memory = \"8Gi\"\nreplicas = 3"),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionUpdate)},
			{
				Config:           config("memory = \"8Gi\"\nreplicas = 3\nsuspend = true"),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionUpdate),
				Check:            resource.TestCheckResourceAttr(acctest.Trainer, "ready", "false"),
			},
			{Config: config("memory = \"8Gi\"\nreplicas = 3"),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionUpdate)},
			{
				ResourceName: acctest.Trainer, ImportState: true, ImportStateVerify: true,
				ImportStateVerifyIgnore: []string{"manifests"},
			},
		},
	})
}

func TestAccComputeIsReplacedUnderAnotherNameOrNamespace(t *testing.T) {
	t.Parallel()
	first, second := cluster.Namespace(t), cluster.Namespace(t)
	config := func(ns, name string) string {
		return cluster.Config(first,
			fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = %q\n namespace = %q\n}", name, ns))
	}
	replaced := acctest.PreApply(
		plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionDestroyBeforeCreate),
	)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, second),
		Steps: []resource.TestStep{
			{Config: config(first, "one")},
			{Config: config(first, "two"), ConfigPlanChecks: replaced},
			{Config: config(second, "two"), ConfigPlanChecks: replaced, Check: cluster.NothingLeft(t, first)},
		},
	})
}

func TestAccComputeWithDeletionProtectionIsNotDeleted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	protected := func(name string, protection bool) string {
		return cluster.Config(ns,
			fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = %q\n deletion_protection = %t\n}", name,
				protection))
	}
	refused := regexp.MustCompile(`deletion_protection = true`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: protected("trainer", true)},
			{Config: protected("trainer", true), Destroy: true, ExpectError: refused},
			{Config: protected("other", true), ExpectError: refused},
			{Config: protected("trainer", false),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionUpdate)},
		},
	})
}

func TestAccComputeAcceptsValuesThatAreUnknownInThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	config := func(text string, number int, more string) string {
		return cluster.Config(ns, fmt.Sprintf(`
resource "terraform_data" "later" {
  input = { text = %q, number = %d, namespace = %q }
}

resource "kt_compute" "trainer" {
  name             = "trainer"
  image            = terraform_data.later.output.text
  cpus             = terraform_data.later.output.number
  replicas         = terraform_data.later.output.number
  labels           = { later = terraform_data.later.output.text }
  env_vars         = { LATER = terraform_data.later.output.text }
  tolerations      = [{ key = terraform_data.later.output.text, operator = "Exists" }]
  endpoint         = { selector = { later = terraform_data.later.output.text } }
  launch_timeout   = "${terraform_data.later.output.number}m"
  service_template = jsonencode({ spec = { minReadySeconds = terraform_data.later.output.number } })
  %s
}`, text, number, ns, more))
	}
	unknown := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return acctest.PreApply(
			plancheck.ExpectResourceAction(acctest.Trainer, action),
			plancheck.ExpectUnknownValue(acctest.Trainer, tfjsonpath.New("manifests")),
		)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config:           config("one", 1, "namespace = terraform_data.later.output.namespace"),
				ConfigPlanChecks: unknown(plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(acctest.Trainer,
					tfjsonpath.New("image"), knownvalue.StringExact("one"))},
			},
			{
				Config: config("two", 2, ""), ConfigPlanChecks: unknown(plancheck.ResourceActionUpdate),
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(acctest.Trainer,
					tfjsonpath.New("image"), knownvalue.StringExact("two"))},
			},
		},
	})
}

// foreignDeployment contains objects of another client, which a compute can adopt.
const foreignDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: trainer
  annotations: {made-by: hand}
spec:
  replicas: 2
  selector: {matchLabels: {%s: trainer}}
  template:
    metadata: {labels: {%[1]s: trainer}}
    spec:
      containers:
      - name: kubetorch
        image: by-hand:1
        livenessProbe: {exec: {command: ["true"]}}
      - name: sidecar
        image: sidecar:1
---
apiVersion: v1
kind: Service
metadata: {name: trainer}
spec:
  selector: {%[1]s: trainer}
  ports: [{name: http, port: 8080}]
`

func TestAccComputeOfAnotherClientIsAdoptedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)
	uid := cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{
				Config: cluster.Config(ns, acctest.Compute("")),
				ExpectError: regexp.MustCompile(`(?s)was not created by this provider.*kubectl-client-side-apply.*` +
					`adopt_existing`),
			},
			{
				Config:           cluster.Config(ns, acctest.Compute("adopt_existing = true")),
				ConfigPlanChecks: acctest.ExpectAction(acctest.Trainer, plancheck.ResourceActionCreate),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New("uid"), knownvalue.StringExact(uid)),
				},
				Check: func(*terraform.State) error {
					got := cluster.Kubectl(t, "get", "deployment/trainer", "-n", ns, "-o",
						"jsonpath={.metadata.annotations.made-by} {.spec.replicas} "+
							"{.spec.template.spec.containers[*].name}")
					if want := "hand 1 kubetorch sidecar"; got != want {
						return fmt.Errorf("got %q, want %q", got, want)
					}
					return nil
				},
			},
		},
	})
}

func TestAccIncompatibleDeploymentIsNotAdopted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "app"), "-n", ns)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{{
			Config: cluster.Config(ns, acctest.Compute("adopt_existing = true")), PlanOnly: true,
			ExpectError: regexp.MustCompile(`(?s)cannot be taken over.*spec\.selector.*kubectl -n \S+ delete ` +
				`deployments trainer`),
		}},
	})
}

// The ID of an import does not contain the kind, so it would import either of them.
func TestAccImportOfOneOfTwoWorkloadsWithItsNameIsRejected(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	stateful := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: trainer}\nspec:\n  serviceName: trainer\n" +
		"  selector: {matchLabels: {app: trainer}}\n  template:\n    metadata: {labels: {app: trainer}}\n" +
		"    spec: {containers: [{name: kubetorch, image: 'a:1'}]}\n"
	cluster.Apply(t, stateful, "-n", ns)
	cluster.Apply(t, fmt.Sprintf(foreignDeployment, "app"), "-n", ns)
	uids := func() string {
		return cluster.Kubectl(t, "get", "deployments,statefulsets", "-n", ns,
			"-o", "jsonpath={.items[*].metadata.uid}")
	}
	before := uids()
	config := cluster.Config(ns, "resource \"kt_compute\" \"trainer\" {\nname = \"trainer\"\nadopt_existing = true\n"+
		"manifest_only = true\non_not_ready = \"ignore\"\nmanifest = <<-EOT\n"+stateful+"EOT\n}\n")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config, ResourceName: acctest.Trainer, ImportState: true, ImportStateId: ns + "/trainer",
				ExpectError: regexp.MustCompile(`(?s)Two workloads have the name.*A Deployment and a StatefulSet`)},
			{Config: config, Check: func(*terraform.State) error {
				if after := uids(); after != before {
					return fmt.Errorf("the workloads are %s, before %s", after, before)
				}
				return nil
			}},
		},
	})
}

func TestAccComputeRecreatedByAnotherClientIsNotAdopted(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: cluster.Config(ns, acctest.Compute(""))},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "delete", "deployment/trainer", "service/trainer", "-n", ns)
					cluster.Apply(t, fmt.Sprintf(foreignDeployment, "kubetorch.com/service"), "-n", ns)
				},
				Config:      cluster.Config(ns, acctest.Compute("")),
				ExpectError: regexp.MustCompile(`Deployment \S+ was not created by this provider`),
			},
			{
				Config: cluster.Config(ns, acctest.Compute("adopt_existing = true")),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionCreate),
					seen.Expect(ns, "Deployment ID was replaced outside of Terraform"),
				),
			},
		},
	})
}

// deletion_protection must not refuse the plan that sets it to false.
func TestAccProtectedComputeThatIsBeingDeletedIsReplacedAfterItsProtection(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	setFinalizers := func(finalizers string) []string {
		return []string{"patch", "deployment/trainer", "-n", ns, "-p",
			`{"metadata": {"finalizers": ` + finalizers + `}}`}
	}
	protected := func(value string) string {
		return cluster.Config(ns, acctest.Compute("deletion_protection = "+value))
	}
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: protected("true")},
			{
				PreConfig: func() {
					cluster.Kubectl(t, setFinalizers(`["example.com/hold"]`)...)
					cluster.Kubectl(t, "delete", "deployment/trainer", "-n", ns, "--wait=false")
				},
				Config: protected("true"),
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan(),
					seen.Expect(ns, "Deployment ID is being deleted", "Set `deletion_protection` to false")),
			},
			{
				Config:             protected("false"),
				ExpectNonEmptyPlan: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectResourceAction(acctest.Trainer,
						plancheck.ResourceActionDestroyBeforeCreate)},
				},
			},
			{PreConfig: func() { cluster.Kubectl(t, setFinalizers(`null`)...) }, Config: protected("false")},
		},
	})
}

func TestAccComputeThatIsBeingDeletedIsReplaced(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	setFinalizers := func(finalizers string) []string {
		return []string{"patch", "deployment/trainer", "-n", ns, "-p",
			`{"metadata": {"finalizers": ` + finalizers + `}}`}
	}
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.Watch(acctest.Factories(t)),
		CheckDestroy:             cluster.NothingLeft(t, ns),
		Steps: []resource.TestStep{
			{Config: cluster.Config(ns, acctest.Compute(""))},
			{
				PreConfig: func() {
					cluster.Kubectl(t, setFinalizers(`["example.com/hold"]`)...)
					cluster.Kubectl(t, "delete", "deployment/trainer", "-n", ns, "--wait=false")
				},
				Config: cluster.Config(ns, acctest.Compute("")),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionDestroyBeforeCreate),
					seen.Expect(ns, "Deployment ID is being deleted"),
					acctest.PlanCheck(func(acctest.Plan) error { // remove the finalizer while the apply waits
						time.AfterFunc(2*time.Second, func() { _, _ = cluster.TryKubectl(t, setFinalizers(`null`)...) })
						return nil
					}),
				),
			},
		},
	})
}
