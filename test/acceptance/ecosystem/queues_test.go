package ecosystem_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// teamQueue is the address of the queue in most configurations.
const teamQueue = "kt_queue.team"

// queueConfig returns a queue with the name of its namespace, which is unique in the cluster.
func queueConfig(ns, gpus, more string) string {
	return cluster.Config(ns, queueNamed("team", ns, flavor(ns, gpus, "", "node_labels = {}"), more))
}

func queueNamed(address, name, flavors, more string) string {
	return fmt.Sprintf("resource \"kt_queue\" %q {\n name = %q\n flavors = [%s]\n %s\n}\n", address, name, flavors,
		more)
}

// flavor returns a flavor with a quota of GPUs, and large quotas of other resources.
func flavor(name, gpus, limits, definition string) string {
	return fmt.Sprintf(`{
		name   = %q
		quotas = {
			"nvidia.com/gpu"  = { nominal = %q, %s }
			cpu               = { nominal = "100k" }
			memory            = { nominal = "100Ti" }
			ephemeral-storage = { nominal = "100Ti" }
		}
		%s
	}`, name, gpus, limits, definition)
}

// onGPUs returns a compute with one GPU for each replica.
func onGPUs(address, namespace, queue string, replicas int, more string) string {
	return fmt.Sprintf("resource \"kt_compute\" %q {\n name = %q\n namespace = %q\n queue_name = %s\n gpus = 1\n "+
		"replicas = %d\n strategy = \"RollingUpdate\"\n %s\n}\n", address, address, namespace, queue, replicas, more)
}

func TestEcoTeamQueueLifeCycle(t *testing.T) {
	t.Parallel()
	ns, second := cluster.Namespace(t), cluster.Namespace(t)
	isActive := resource.TestCheckResourceAttr(teamQueue, "active", "true")
	quota := func(want string) resource.TestCheckFunc {
		return func(*terraform.State) error {
			got := cluster.Kubectl(t, "get", "clusterqueue/"+ns, "-o",
				`jsonpath={.spec.resourceGroups[0].flavors[0].resources[?(@.name=="nvidia.com/gpu")].nominalQuota}`)
			if got != want {
				return fmt.Errorf("the quota is %s, want %s", got, want)
			}
			return nil
		}
	}
	others := fmt.Sprintf("namespaces = [%q]\n labels = { team = \"vision\" }", second)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		CheckDestroy: func(*terraform.State) error {
			left := cluster.Kubectl(t, "get", "clusterqueue/"+ns, "resourceflavor/"+ns, "--ignore-not-found") +
				cluster.Kubectl(t, "get", "localqueue", "-A", "--field-selector", "metadata.name="+ns)
			if left != "" && !strings.Contains(left, "No resources found") {
				return errors.New("left in the cluster: " + left)
			}
			return nil
		},
		Steps: []resource.TestStep{
			{
				Config: queueConfig(ns, "4", ""),
				Check: resource.ComposeAggregateTestCheckFunc(isActive, quota("4"),
					resource.TestCheckResourceAttr(teamQueue, "id", ns+"/"+ns),
					resource.TestCheckResourceAttr(teamQueue, "admitted_workloads", "0"),
					resource.TestCheckResourceAttrSet(teamQueue, "uid")),
			},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "patch", "clusterqueue/"+ns, "--type=json", "-p", `[{"op": "replace", "path":
						"/spec/resourceGroups/0/flavors/0/resources/3/nominalQuota", "value": 5}]`)
				},
				Config: queueConfig(ns, "4", ""),
				ConfigPlanChecks: acctest.PreApply(acctest.PlanChecks{teamQueue: acctest.PlanShows(
					[]string{"flavors", "active", "admitted_workloads", "pending_workloads", "usage"},
					[]string{"ClusterQueue spec.resourceGroups.0.flavors.0.resources.3.nominalQuota"})}),
				Check: resource.ComposeAggregateTestCheckFunc(isActive, quota("4")),
			},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "-n", ns, "localqueue/"+ns) },
				Config:    queueConfig(ns, "6", others),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(teamQueue, plancheck.ResourceActionUpdate)),
				Check: resource.ComposeAggregateTestCheckFunc(isActive, quota("6"), func(*terraform.State) error {
					cluster.Kubectl(t, "get", "-n", ns, "localqueue/"+ns)
					cluster.Kubectl(t, "get", "-n", second, "localqueue/"+ns)
					return nil
				}),
			},
			{Config: cluster.Config(ns, "removed {\n from = "+teamQueue+"\n lifecycle {\n destroy = false\n }\n}")},
			{
				Config: queueConfig(ns, "6", others) +
					fmt.Sprintf("\nimport {\n to = %s\n id = \"%s/%[2]s\"\n}", teamQueue, ns),
				ConfigPlanChecks: acctest.PreApply(acctest.PlanChecks{teamQueue: func(p acctest.Plan) error {
					if !p.Imports {
						return errors.New("the plan does not import it")
					}
					return acctest.PlanShows(nil, nil)(p)
				}}),
				Check: isActive,
			},
			{
				Config: queueConfig(ns, "6", ""), // the LocalQueue of the second namespace is deleted
				Check: func(*terraform.State) error {
					found := cluster.Kubectl(t, "get", "-n", second, "localqueue/"+ns, "--ignore-not-found")
					if found != "" {
						return errors.New("not deleted: " + found)
					}
					return nil
				},
			},
			{
				PreConfig: func() {
					cluster.Kubectl(t, "delete", "clusterqueue/"+ns)
				},
				Config: queueConfig(ns, "6", ""),
				ConfigPlanChecks: acctest.PreApply(
					plancheck.ExpectResourceAction(teamQueue, plancheck.ResourceActionUpdate)),
				Check: resource.ComposeAggregateTestCheckFunc(isActive, quota("6")),
			},
		},
	})
}

func TestEcoTeamQueueBorrowsAndIsReclaimed(t *testing.T) {
	t.Parallel()
	vision, speech := cluster.Namespace(t), cluster.Namespace(t)
	cohort := fmt.Sprintf("cohort = %q\n", vision)
	queues := queueNamed("vision", vision, flavor(vision, "2", `borrowing_limit = "2"`, "node_labels = {}"), cohort) +
		queueNamed("speech", speech, flavor(vision, "2", "", ""), cohort+fmt.Sprintf(
			"namespace = %q\n preemption = { reclaim_within_cohort = \"Any\" }\n depends_on = [kt_queue.vision]",
			speech))
	borrower := onGPUs("borrower", vision, "kt_queue.vision.name", 4, "")
	owner := onGPUs("owner", speech, "kt_queue.speech.name", 2, "")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{Config: cluster.Config(vision, queues+borrower),
				Check: resource.TestCheckResourceAttr("kt_compute.borrower", "ready", "true")},
			{
				RefreshState: true,
				Check:        resource.TestCheckResourceAttr("kt_queue.vision", "usage."+vision+".nvidia.com/gpu", "4"),
			},
			{ // the borrowed GPUs are reclaimed: two pods of the borrower wait
				Config: cluster.Config(vision, queues+
					onGPUs("borrower", vision, "kt_queue.vision.name", 4, `on_not_ready = "ignore"`)+owner),
				Check: resource.TestCheckResourceAttr("kt_compute.owner", "ready", "true"),
			},
			{
				RefreshState: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr("kt_queue.speech", "usage."+vision+".nvidia.com/gpu", "2"),
					resource.TestCheckResourceAttr("kt_queue.vision", "usage."+vision+".nvidia.com/gpu", "2")),
			},
		},
	})
}

// runs is the condition that the Deployment of startWorkload has while it is admitted.
const runs = "jsonpath={.status.readyReplicas}=1"

// startWorkload creates the Deployment busy in the queue with the name of the namespace. Terraform does not manage it.
func startWorkload(t *testing.T, ns string) {
	t.Helper()
	cluster.Apply(t, strings.NewReplacer("NAME", ns).Replace(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: busy, labels: {kueue.x-k8s.io/queue-name: NAME}}
spec:
  selector: {matchLabels: {app: busy}}
  template:
    metadata: {labels: {app: busy, kueue.x-k8s.io/queue-name: NAME}}
    spec:
      containers: [{name: c, image: busybox, command: [sleep, infinity], resources: {requests: {nvidia.com/gpu: 1},
        limits: {nvidia.com/gpu: 1}}}]
`), "-n", ns)
}

func TestEcoTeamQueueIsDeletedAfterItsWorkloads(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	seen := &acctest.Warnings{}
	const short = `timeouts = { delete = "30s" }`
	startWorkload(t, ns)
	const waits = "jsonpath={.status.unavailableReplicas}=1"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: seen.WatchPlans(acctest.Factories(t)),
		Steps: []resource.TestStep{
			{
				Config: queueConfig(ns, "2", short),
				Check: func(*terraform.State) error {
					cluster.Await(t, ns, "deployment/busy", runs)
					cluster.Await(t, ns, "clusterqueue/"+ns, "jsonpath={.status.reservingWorkloads}=1")
					return nil
				},
			},
			{ // a quota below the usage evicts nothing
				Config: queueConfig(ns, "0", short),
				Check: func(*terraform.State) error {
					if got := readyReplicas(t, ns, "busy"); got != "1" {
						return errors.New("the workload was evicted")
					}
					return seen.ExpectText("1 of nvidia.com/gpu in flavor "+ns+" is in use",
						"Admitted workloads continue")
				},
			},
			{
				Config: queueConfig(ns, "0", short+"\n stop_policy = \"HoldAndDrain\""),
				Check: func(*terraform.State) error {
					const eviction = "evict the workloads of the queue with reserved quota: 1 now"
					if err := seen.ExpectText(eviction); err != nil {
						return err
					}
					cluster.Await(t, ns, "deployment/busy", waits)
					return nil
				},
			},
			{
				Config: queueConfig(ns, "2", short),
				Check: func(*terraform.State) error {
					cluster.Await(t, ns, "deployment/busy", runs)
					return nil
				},
			},
			{
				Config:      queueConfig(ns, "2", short),
				Destroy:     true,
				ExpectError: regexp.MustCompile(`(?s)is still being deleted.*HoldAndDrain`),
			},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "-n", ns, "deployment/busy") },
				Config:    queueConfig(ns, "2", short),
				Destroy:   true,
			},
		},
	})
}
