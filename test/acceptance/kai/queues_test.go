package kai_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const parent, team = "kt_queue.parent", "kt_queue.team"

// queueOf returns a queue with a quota of GPUs.
func queueOf(address, name, gpus, more string) string {
	return fmt.Sprintf(`
resource "kt_queue" %q {
	name = %q
	kai = {
		gpu    = { quota = %s, limit = -1, over_quota_weight = 1.5 }
		cpu    = { quota = "64", limit = "100500m" }
		memory = { quota = "64Gi", limit = 0 }
		%s
	}
}
`, address, name, gpus, more)
}

// tree returns a queue with the name of its namespace, which is unique in the cluster, and its child queue.
func tree(ns, gpus, teamGPUs, more string) string {
	return queueOf("parent", ns, gpus, "") +
		queueOf("team", ns+"-team", teamGPUs, "parent_queue = kt_queue.parent.name\n"+more)
}

func field(t *testing.T, name, path, want string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		got := cluster.Kubectl(t, "get", "queues.scheduling.run.ai", name, "-o", "jsonpath={.spec."+path+"}")
		if got != want {
			return fmt.Errorf("%s of %s is %s, want %s", path, name, got, want)
		}
		return nil
	}
}

func TestAccKAIQueueLifeCycle(t *testing.T) {
	t.Parallel()
	ns := withKAI(t).Namespace(t)
	config := func(gpus, teamGPUs, more string) string { return cluster.Config(ns, tree(ns, gpus, teamGPUs, more)) }
	changes := []string{"active", "kai", "usage"}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy: func(*terraform.State) error {
			left := cluster.Kubectl(t, "get", "queues.scheduling.run.ai", ns, ns+"-team", "--ignore-not-found")
			if left != "" {
				return errors.New("left in the cluster: " + left)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: config("8", "0.5", ""),
				Check: resource.ComposeAggregateTestCheckFunc(
					field(t, ns+"-team", "resources.gpu", `{"limit":-1,"overQuotaWeight":1.5,"quota":0.5}`),
					field(t, ns+"-team", "resources.cpu", `{"limit":100500,"quota":64000}`),
					field(t, ns+"-team", "resources.memory", `{"limit":0,"quota":68719.476736}`),
					resource.TestCheckResourceAttr(team, "active", "true"),
					resource.TestCheckResourceAttr(team, "id", ns+"/"+ns+"-team"),
					resource.TestCheckNoResourceAttr(team, "pending_workloads"),
					resource.TestCheckResourceAttrSet(team, "uid")),
			},
			{
				PreConfig: func() {
					cluster.WaitForOutput(t, ns+"-team", true, "get", "queues.scheduling.run.ai", ns, "-o",
						"jsonpath={.status.childQueues}")
					cluster.Kubectl(t, "patch", "queues.scheduling.run.ai", ns+"-team", "--type=merge", "-p",
						`{"spec": {"resources": {"gpu": {"limit": 4}}, "priority": 7}}`)
				},
				Config: config("8", "0.5", ""),
				ConfigPlanChecks: acctest.PreApply(acctest.PlanChecks{
					team: acctest.PlanShows(changes, []string{"Queue spec.resources.gpu.limit"})}),
				Check: resource.ComposeAggregateTestCheckFunc(
					field(t, ns+"-team", "resources.gpu.limit", "-1"), field(t, ns+"-team", "priority", "7"),
					resource.TestCheckResourceAttr(team, "usage.allocated.nvidia.com/gpu", "1")),
			},
			{
				Config: config("16", "12", "priority = 0\n reclaim_min_runtime = \"1h\""),
				ConfigPlanChecks: acctest.PreApply(acctest.PlanChecks{
					parent: acctest.PlanShows(changes, []string{"Queue spec.resources.gpu.quota"}),
					team: acctest.PlanShows(changes, []string{"Queue spec.priority", "Queue spec.reclaimMinRuntime",
						"Queue spec.resources.gpu.quota"})}),
				Check: resource.ComposeAggregateTestCheckFunc(
					field(t, ns+"-team", "resources.gpu.quota", "12"), field(t, ns+"-team", "priority", "0"),
					field(t, ns+"-team", "reclaimMinRuntime", "1h0m0s")),
			},
			{Config: cluster.Config(ns, removed(parent)+removed(team))},
			{
				Config: config("16", "12", "priority = 0\n reclaim_min_runtime = \"60m\"") +
					imported(parent, ns+"/"+ns) + imported(team, ns+"/"+ns+"-team"),
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanChecks{parent: importsUnchanged, team: importsUnchanged}),
			},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "queues.scheduling.run.ai", ns+"-team") },
				Config:    config("16", "12", ""),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(team, plancheck.ResourceActionCreate)),
			},
		},
	})
}

// Fields of another client stay, so the plan must not show that they are removed.
func TestAccKAIQueueOfAnotherClientKeepsOtherSettings(t *testing.T) {
	t.Parallel()
	ns := withKAI(t).Namespace(t)
	cluster.Apply(t, fmt.Sprintf("apiVersion: scheduling.run.ai/v2\nkind: Queue\nmetadata: {name: %s}\nspec: {"+
		"priority: 7, displayName: Vision, resources: {gpu: {quota: 4, limit: 8, overQuotaWeight: 2}, cpu: {quota: "+
		"64000, limit: -1, overQuotaWeight: 3}, memory: {quota: -1, limit: -1}}}", ns))
	config := cluster.Config(ns, queueOf("team", ns, "8", ""))
	var warnings acctest.Warnings
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: warnings.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{
				Config: config + imported(team, ns+"/"+ns),
				ConfigPlanChecks: acctest.PreApply(acctest.PlanChecks{team: func(p acctest.Plan) error {
					before, _ := p.Before["kai"].(map[string]any)
					cpu, _ := before["cpu"].(map[string]any)
					if cpu["quota"] != "64" || cpu["over_quota_weight"] != nil || before["priority"] != nil {
						return fmt.Errorf("the import has read %v", before)
					}
					return warnings.ExpectText("The queue keeps kai.priority of another client",
						"kai.display_name has the value Vision", "kai.cpu.over_quota_weight has the value 3")
				}}),
				Check: resource.ComposeAggregateTestCheckFunc(field(t, ns, "priority", "7"),
					field(t, ns, "resources.gpu", `{"limit":-1,"overQuotaWeight":1.5,"quota":8}`)),
			},
			{Config: config, ConfigPlanChecks: acctest.PreApply(plancheck.ExpectEmptyPlan())},
		},
	})
}

func removed(address string) string {
	return "removed {\n from = " + address + "\n lifecycle {\n destroy = false\n }\n}\n"
}

func imported(address, id string) string {
	return fmt.Sprintf("import {\n to = %s\n id = %q\n}\n", address, id)
}

func importsUnchanged(p acctest.Plan) error {
	if !p.Imports {
		return errors.New("the plan does not import it")
	}
	return acctest.PlanShows(nil, nil)(p)
}

func TestAccKAIExampleAppliesWithAnEmptySecondPlan(t *testing.T) {
	t.Parallel()
	acctest.Example{Dir: "resources/kt_queue", Without: []string{"identity.tf", "import-by-string-id.tf",
		"resource.tf"}}.Run(t, withKAI(t))
}

// A default installation of KAI accepts both.
func TestAccKAIQueueBelowAMissingOrSmallerParentIsAWarning(t *testing.T) {
	t.Parallel()
	ns := withKAI(t).Namespace(t)
	var warnings acctest.Warnings
	expect := func(text string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if all := warnings.Text(); !strings.Contains(all, text) {
				return fmt.Errorf("the warnings are %q, want %q", all, text)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: warnings.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{
				Config: cluster.Config(ns, queueOf("team", ns+"-team", "1", `parent_queue = "nobody"`)),
				Check:  expect("The parent queue does not exist yet"),
			},
			{Config: cluster.Config(ns, tree(ns, "8", "1", ""))},
			{
				Config: cluster.Config(ns, tree(ns, "8", "9", "")),
				Check:  expect("Quota above that of the parent queue"),
			},
		},
	})
}

// KAI with --enable-quota-validation rejects the child queue until the parent queue exists.
func TestAccKAIQueueWithQuotaValidationIsPlannedWithItsParent(t *testing.T) {
	t.Parallel()
	ns := withKAI(t).Namespace(t)
	var warnings acctest.Warnings
	validated := "labels = { \"" + validationLabel + "\" = \"on\" }\n"
	config := strings.Replace(tree(ns, "8", "1", ""), "name = \""+ns+"-team\"", "name = \""+ns+"-team\"\n"+validated, 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: warnings.WatchPlans(acctest.Factories(t)),
		Steps:                    []resource.TestStep{{Config: cluster.Config(ns, config)}},
	})
	if text := warnings.Text(); !strings.Contains(text, "Planned without the check of KAI") ||
		strings.Contains(text, "does not exist yet") {
		t.Errorf("the warnings are %q", text)
	}
}

func TestAccKAIQueueThatBecomesOneOfKueueIsReplaced(t *testing.T) {
	t.Parallel()
	ns := withKAI(t).Namespace(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(ns, queueOf("team", ns, "1", ""))},
			{
				Config: cluster.Config(ns, fmt.Sprintf(`
resource "kt_queue" "team" {
	name    = %q
	flavors = [{ name = "all", quotas = { cpu = { nominal = "1" } } }]
}`, ns)),
				PlanOnly: true, ExpectNonEmptyPlan: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(team, plancheck.ResourceActionReplace)}},
			},
		},
	})
}

func TestAccComputeInAKAIQueueOfTheSameRunIsPlannedWithoutWarning(t *testing.T) {
	t.Parallel()
	ns := withKAI(t).Namespace(t)
	var warnings acctest.Warnings
	compute := func(queue string) string {
		return fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n name = \"trainer\"\n gpus = 1\n"+
			" queue_name = %s\n queue_scheduler = \"kai\"\n}\n", queue)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: warnings.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{
				Config:   cluster.Config(ns, queueOf("team", ns, "1", "")+compute("kt_queue.team.name")),
				PlanOnly: true, ExpectNonEmptyPlan: true,
			},
			{
				PreConfig: func() {
					if text := warnings.Text(); strings.Contains(text, "queue") {
						t.Errorf("the plan warns: %s", text)
					}
				},
				Config:   cluster.Config(ns, compute(`"nobody"`)),
				PlanOnly: true, ExpectNonEmptyPlan: true,
			},
		},
	})
	if text := warnings.Text(); !strings.Contains(text, "The queue will not admit the compute") {
		t.Errorf("the plan with a missing queue does not warn: %s", text)
	}
}
