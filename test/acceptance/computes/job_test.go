package computes_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func jobOf(attributes string) string {
	return acctest.BareCompute("image = \"trainer:1\"\ncommand = [\"python\", \"train.py\"]\n" + attributes)
}

// The pods of a Job on the fake nodes run for a moment, and succeed.
func TestAccJobRunsToItsEndAndIsReplacedByAChange(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	job := func(field string) string {
		return cluster.Kubectl(t, "get", "job/trainer", "-n", ns, "-o", "jsonpath={"+field+"}")
	}
	value := func(name string, want knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(acctest.Trainer, tfjsonpath.New(name), want)
	}
	step := func(attributes string, action plancheck.ResourceActionType) resource.TestStep {
		return resource.TestStep{
			Config:           cluster.Config(ns, jobOf("wait_for_completion = true\n"+attributes)),
			ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer, action)),
			ConfigStateChecks: []statecheck.StateCheck{
				value("ready", knownvalue.Bool(true)), value("mode", knownvalue.StringExact("job")),
			},
		}
	}
	created := step("job = {}\n", plancheck.ResourceActionCreate)
	created.ConfigStateChecks = append(created.ConfigStateChecks, value("url", knownvalue.Null()))
	created.Check = func(*terraform.State) error {
		got := job(`.status.conditions[?(@.type=="Complete")].status`) + job(".status.succeeded") +
			job(".spec.completionMode") + cluster.Kubectl(t, "get", "services", "-n", ns, "-o", "name")
		if got != "True1Indexed" {
			return fmt.Errorf("the Job and its Services are %q", got)
		}
		return nil
	}
	limited := step("job = { backoff_limit = 2 }\n", plancheck.ResourceActionUpdate)
	workers := step("job = { backoff_limit = 2, completions = 4 }\nreplicas = 2\nport = 8000\n",
		plancheck.ResourceActionReplace)
	workers.Check = func(*terraform.State) error {
		got := job(".status.succeeded") + " " + job(".spec.parallelism") + " " +
			job(".spec.template.spec.subdomain") + " " +
			cluster.Kubectl(t, "get", "services", "-n", ns, "-o", "jsonpath={.items[*].metadata.name}")
		if got != "4 2 trainer-headless trainer trainer-headless" {
			return fmt.Errorf("the Job and its Services are %q", got)
		}
		return nil
	}
	// Manifests are not compared: an import does not know that there is no registration, and the controller of Jobs
	// drops zeros.
	imported := resource.TestStep{ResourceName: acctest.Trainer, ImportState: true, ImportStateVerify: true,
		ImportStateId: ns + "/trainer", ImportStateVerifyIgnore: []string{"on_not_ready", "wait_for_completion",
			"launch_timeout", "renderer_revision", "manifests"}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps:                    []resource.TestStep{created, limited, workers, imported},
	})
}

// Otherwise, the run would delete the Job, and then fail to create the new one. A quota counts the Job that is deleted
// first, so it rejects nothing.
func TestAccReplacementThatTheServerRejectsIsAnErrorOfThePlan(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	// The first name and the next one are taken, so that the dry run of the replacement has to find another.
	for _, last := range "as" {
		cluster.Kubectl(t, "create", "job", "traine"+string(last), "--image=a:1", "-n", ns)
	}
	cluster.Kubectl(t, "create", "quota", "three", "--hard=count/jobs.batch=3", "-n", ns)
	cluster.Apply(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: `+ns+`}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+ns+`}}
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs]}]
  validations:
  - {expression: "!object.spec.template.spec.containers[0].image.endsWith(':latest')", message: needs a fixed tag}
  - {expression: "object.metadata.name.matches('^train[a-z]+$')", message: needs the prefix of the team}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: `+ns+`}
spec: {policyName: `+ns+`, validationActions: [Deny]}
`)
	t.Cleanup(func() {
		cluster.Kubectl(t, "delete", "validatingadmissionpolicy/"+ns, "validatingadmissionpolicybinding/"+ns)
	})
	cluster.WaitForOutput(t, "needs a fixed tag", true, "create", "job", "trainer", "--image=a:latest",
		"--dry-run=server", "-n", ns)
	config := func(attributes string) string { return cluster.Config(ns, jobOf(attributes)) }
	uid := func() string {
		return cluster.Kubectl(t, "get", "job/trainer", "-n", ns, "-o", "jsonpath={.metadata.uid}")
	}
	created := ""
	rejected := func(config, message string) resource.TestStep {
		return resource.TestStep{Config: config, ExpectError: regexp.MustCompile(message)}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: config("job = {}"), Check: func(*terraform.State) error { created = uid(); return nil }},
			rejected(config("job = { pod_failure_policy = [{ action = \"FailJob\", "+
				"on_exit_codes = { operator = \"In\", values = [0] } }] }"),
				`(?s)Job `+ns+`/trainer is not valid.*must\s+not be 0`),
			rejected(strings.Replace(config("job = {}"), "trainer:1", "trainer:latest", 1),
				`(?s)rejected\s+Job `+ns+`/trainer.*"trainer" is.forbidden.*needs\s+a fixed tag`),
			{Config: config("job = {}\nenv_vars = { A = \"1\" }"), PlanOnly: true, ExpectNonEmptyPlan: true},
			{Config: config("job = {}"), Check: func(*terraform.State) error {
				if now := uid(); now != created {
					return fmt.Errorf("the Job was created again: %s instead of %s", now, created)
				}
				return nil
			}},
		},
	})
}

// The values of variables are not in manifests, so that a change of one shows in its own attribute only.
func TestAccChangedVariableOfAnotherContainerReplacesAJob(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	step := func(list, value string, action plancheck.ResourceActionType) resource.TestStep {
		return resource.TestStep{
			Config: cluster.Config(ns, jobOf("job = {}\n"+list+" = [{ name = \"other\", image = \"a:1\", "+
				"env_vars = { A = \""+value+"\" } }]\n")),
			ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer, action)),
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			step("init_containers", "1", plancheck.ResourceActionCreate),
			step("init_containers", "2", plancheck.ResourceActionReplace),
			step("sidecars", "1", plancheck.ResourceActionReplace),
			step("sidecars", "2", plancheck.ResourceActionReplace),
		},
	})
}

// No object contains wait_for_completion.
func TestAccWaitForTheEndOfAJobCanBeAdded(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(ns, jobOf("job = {}"))},
			{
				Config: cluster.Config(ns, jobOf("job = {}\nwait_for_completion = true")),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(acctest.Trainer, plancheck.ResourceActionUpdate),
					plancheck.ExpectUnknownValue(acctest.Trainer, tfjsonpath.New("ready"))),
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(acctest.Trainer,
					tfjsonpath.New("ready"), knownvalue.Bool(true))},
				Check: func(*terraform.State) error {
					if done := cluster.Kubectl(t, "get", "job/trainer", "-n", ns, "-o",
						"jsonpath={.status.succeeded}"); done != "1" {
						return fmt.Errorf("the apply ended after %q pods had succeeded", done)
					}
					return nil
				},
			},
		},
	})
}

// The controller never starts pods of a Job that has ended.
func TestAccMorePodsOfAnEndedJobReplaceIt(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	step := func(replicas int, action plancheck.ResourceActionType, succeeded string) resource.TestStep {
		return resource.TestStep{
			Config: cluster.Config(ns, jobOf(fmt.Sprintf("wait_for_completion = true\njob = {}\nreplicas = %d",
				replicas))),
			ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction(acctest.Trainer, action)),
			Check: func(*terraform.State) error {
				got := cluster.Kubectl(t, "get", "job/trainer", "-n", ns, "-o", "jsonpath={.status.succeeded}")
				if got != succeeded {
					return fmt.Errorf("%s pods have succeeded, want %s", got, succeeded)
				}
				return nil
			},
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			step(2, plancheck.ResourceActionCreate, "2"),
			step(3, plancheck.ResourceActionReplace, "3"),
			step(2, plancheck.ResourceActionUpdate, "3"),
		},
	})
}

func TestAccJobThatFailsIsAnErrorWithItsLastLines(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.BareCompute("command = [\"train\"]\njob = { backoff_limit = 0 }\n"+
		"wait_for_completion = true\nimage = \"broken.invalid/crash:1\"")))
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Fatalf("the apply succeeded:\n%s", out)
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "Job "+ns+"/trainer has failed", "BackoffLimitExceeded",
		"ModuleNotFoundError", "Read the log of the container")
}

func TestAccWaitForTheEndOfAServerIsRejected(t *testing.T) {
	t.Parallel()
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(cluster.Namespace(t), acctest.BareCompute("wait_for_completion = true")))
	out, err := cli.Run(t, "plan")
	if err == nil {
		t.Fatalf("the plan succeeded:\n%s", out)
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "Wait without an end", "mode deployment")
}
