package ecosystem_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// A flavor that another queue uses must survive the import of a queue that only names it, and the destruction of the
// queue that defines it.
func TestEcoTeamQueueLeavesAFlavorThatOthersUse(t *testing.T) {
	t.Parallel()
	vision, speech := cluster.Namespace(t), cluster.Namespace(t)
	owner := queueNamed("vision", vision, flavor(vision, "2", "", "node_labels = {}"), "")
	other := queueNamed("speech", speech, flavor(vision, "2", "", ""), fmt.Sprintf("namespace = %q", speech))
	exists := func(*terraform.State) error {
		if at := cluster.Kubectl(t, "get", "resourceflavor/"+vision, "-o",
			"jsonpath={.metadata.deletionTimestamp}"); at != "" {
			return errors.New("the flavor is being deleted since " + at)
		}
		return nil
	}
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "resourceflavor/"+vision, "--ignore-not-found", "--wait=false") })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(vision, owner+other)},
			{Config: cluster.Config(vision, owner+
				"removed {\n from = kt_queue.speech\n lifecycle {\n destroy = false\n }\n}")},
			{
				Config: cluster.Config(vision, owner+other) +
					fmt.Sprintf("\nimport {\n to = kt_queue.speech\n id = \"%[1]s/%[1]s\"\n}", speech),
				ConfigPlanChecks: acctest.PreApply(
					acctest.PlanChecks{"kt_queue.speech": acctest.PlanShows(nil, nil)}),
				Check: exists,
			},
			{Config: cluster.Config(vision, other), Check: exists},
		},
	})
}

// The flavor stays while its queue is replaced, and may then be defined again without adopt_existing.
func TestEcoTeamQueueDefinesAReleasedFlavorAgain(t *testing.T) {
	t.Parallel()
	vision, speech := cluster.Namespace(t), cluster.Namespace(t)
	queueOf := func(name, definition string) string {
		return queueNamed(map[string]string{vision: "vision", speech: "speech"}[name], name,
			flavor(vision, "2", "", definition), fmt.Sprintf("namespace = %q", name))
	}
	const defined = "node_labels = {}"
	isDefinedBy := func(owner string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got := cluster.Kubectl(t, "get", "resourceflavor/"+vision, "-o",
				`jsonpath={.metadata.deletionTimestamp}{.metadata.annotations.kt\.dev/queue}`)
			if got != owner {
				return fmt.Errorf("the flavor is defined by %q, want %q", got, owner)
			}
			return nil
		}
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(vision, queueOf(vision, defined)+queueOf(speech, "")),
				Check: isDefinedBy(vision + "/" + vision)},
			{
				Taint:  []string{"kt_queue.vision"},
				Config: cluster.Config(vision, queueOf(vision, defined)+queueOf(speech, "")),
				ConfigPlanChecks: acctest.PreApply(plancheck.ExpectResourceAction("kt_queue.vision",
					plancheck.ResourceActionDestroyBeforeCreate)),
				Check: isDefinedBy(vision + "/" + vision),
			},
			{Config: cluster.Config(vision, queueOf(vision, "")+queueOf(speech, "")), Check: isDefinedBy("")},
			{Config: cluster.Config(vision, queueOf(vision, "")+queueOf(speech, defined)),
				Check: isDefinedBy(speech + "/" + speech)},
			{
				Config:      cluster.Config(vision, queueOf(vision, defined)+queueOf(speech, defined)),
				PlanOnly:    true,
				ExpectError: regexp.MustCompile(`(?s)is defined by two queues.*remove.*node_labels`),
			},
		},
	})
}

// A queue that uses a flavor must not be replaced only because somebody deletes the flavor: its workloads would be
// evicted.
func TestEcoTeamQueueOutlivesTheDeletionOfItsFlavor(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{Config: queueConfig(ns, "2", "")},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "resourceflavor/"+ns, "--wait=false") },
				Config:    queueConfig(ns, "4", ""),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(teamQueue, plancheck.ResourceActionUpdate)),
				Check: func(*terraform.State) error {
					return seen.ExpectText("Kueue keeps it until no ClusterQueue uses it")
				},
			},
		},
	})
}

func TestEcoTeamQueueRemovesAQuotaThatIsInUse(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	startWorkload(t, ns)
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-n", ns, "deployment/busy", "--ignore-not-found") })
	other := queueNamed("team", ns, flavor(ns+"-other", "2", "", "node_labels = {}"), "")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{
				Config: queueConfig(ns, "2", ""),
				Check: func(*terraform.State) error {
					cluster.Await(t, ns, "deployment/busy", runs)
					cluster.Await(t, ns, "clusterqueue/"+ns, "jsonpath={.status.reservingWorkloads}=1")
					return nil
				},
			},
			{
				Config: cluster.Config(ns, other),
				Check: func(*terraform.State) error {
					const warning = "1 of nvidia.com/gpu in flavor %s is in use, and the plan removes this quota"
					if err := seen.ExpectText(fmt.Sprintf(warning, ns)); err != nil {
						return err
					}
					if got := cluster.Kubectl(t, "get", "-n", ns, "deployment/busy", "-o",
						"jsonpath={.status.readyReplicas}"); got != "1" {
						return errors.New("the workload does not run any more")
					}
					cluster.Kubectl(t, "delete", "-n", ns, "deployment/busy")
					return nil
				},
			},
		},
	})
}

func TestEcoTeamQueueWithoutItsFlavorIsInactive(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	config := cluster.Config(ns, queueNamed("team", ns, flavor(ns, "2", "", ""), `timeouts = { create = "30s" }`))
	warns := func(texts ...string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			for _, text := range texts {
				if !regexp.MustCompile(text).MatchString(seen.Text()) {
					return fmt.Errorf("no warning matches %s: %s", text, seen.Text())
				}
			}
			return nil
		}
	}
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "resourceflavor/"+ns, "--ignore-not-found", "--wait=false") })
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{
				Config: config,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(teamQueue, "active", "false"),
					warns("inactive until ResourceFlavor "+ns+" exists", "(?s)FlavorNotFound.*The next apply waits")),
				ExpectNonEmptyPlan: true, // the apply waits again
			},
			{
				PreConfig: func() {
					cluster.Apply(t, fmt.Sprintf("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\n"+
						"metadata: {name: %s}", ns))
				},
				Config: config,
				Check:  resource.TestCheckResourceAttr(teamQueue, "active", "true"),
			},
		},
	})
}
