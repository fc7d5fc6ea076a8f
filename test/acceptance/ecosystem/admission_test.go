package ecosystem_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// queueCLI returns a working directory of the CLI for a namespace.
func queueCLI(t *testing.T, ns string) *acctest.CLI {
	t.Helper()
	cli := acctest.NewAttachedCLI(t)
	cli.Setenv("KUBE_CONFIG_PATH", cluster.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	t.Cleanup(func() {
		if out, err := cli.Run(t, "destroy", "-auto-approve"); err != nil {
			t.Errorf("destroy: %v\n%s", err, out)
		}
	})
	return cli
}

func readyReplicas(t *testing.T, ns, deployment string) string {
	t.Helper()
	return cluster.Kubectl(t, "get", "-n", ns, "deployment/"+deployment, "-o", "jsonpath={.status.readyReplicas}")
}

const (
	notAdmitted = "The queue will not admit the compute immediately"
	maybeLater  = "The queue may not admit the compute immediately"
)

// What the plan of a compute says about its queue is what Kueue then does.
func TestEcoPlanWarningsOfTheQueueComeTrue(t *testing.T) {
	t.Parallel()
	vision, speech := cluster.Namespace(t), cluster.Namespace(t)
	cohort := fmt.Sprintf("cohort = %q\n", vision)
	queues := "provider \"kt\" {}\n" +
		queueNamed("vision", vision, flavor(vision, "2", `borrowing_limit = "2"`, "node_labels = {}"), cohort) +
		queueNamed("speech", speech, flavor(vision, "2", "", ""), cohort+fmt.Sprintf(
			"namespace = %q\n depends_on = [kt_queue.vision]", speech))
	cli := queueCLI(t, vision)
	cli.Write(t, queues)
	cli.MustRun(t, "apply", "-auto-approve")
	for _, c := range []struct {
		name     string
		replicas int
		limit    string   // of the creation
		warnings []string // of the plan; none if empty
		runs     string   // pods that become ready
	}{
		{"its own quota suffices", 2, "2m", nil, "2"},
		{"the cohort lends the rest", 4, "2m", []string{maybeLater, "4 nvidia.com/gpu requested, it has 2",
			"until cohort " + vision + " lends the rest"}, "4"},
		{"it exceeds what it may borrow", 5, "20s", []string{notAdmitted, "it can never admit more than 4"}, "4"},
	} {
		cli.Write(t, queues+onGPUs("trainer", vision, "kt_queue.vision.name", c.replicas,
			fmt.Sprintf("timeouts = { create = %q }", c.limit)))
		out := cli.MustRun(t, "apply", "-auto-approve")
		acctest.ExpectText(t, out, c.warnings...)
		if len(c.warnings) == 0 && strings.Contains(acctest.Unwrap(out), "admit the compute immediately") {
			t.Errorf("%s: a warning about the queue:\n%s", c.name, out)
		}
		cluster.Await(t, vision, "deployment/trainer", "jsonpath={.status.readyReplicas}="+c.runs)
		if got := readyReplicas(t, vision, "trainer"); got != c.runs {
			t.Errorf("%s: %s pods are ready, want %s\n%s", c.name, got, c.runs, out)
		}
		cli.Write(t, queues)
		cli.MustRun(t, "apply", "-auto-approve")
		cluster.Await(t, vision, "clusterqueue/"+vision, "jsonpath={.status.reservingWorkloads}=0")
	}
}

func TestEcoTeamQueuePreemptsLowerPriorities(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	for name, value := range map[string]int{"low": 1, "high": 100} {
		cluster.Apply(t, fmt.Sprintf("apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"+
			"metadata: {name: %s-%s}\nvalue: %d\npreemptionPolicy: Never", ns, name, value))
		t.Cleanup(func() { cluster.Kubectl(t, "delete", fmt.Sprintf("priorityclass/%s-%s", ns, name)) })
	}
	config := "provider \"kt\" {}\n" + queueNamed("team", ns, flavor(ns, "2", "", "node_labels = {}"),
		`preemption = { within_cluster_queue = "LowerPriority" }`)
	computeOf := func(priority string) string {
		return onGPUs(priority, ns, "kt_queue.team.name", 2,
			fmt.Sprintf("priority_class_name = \"%s-%s\"\n on_not_ready = \"ignore\"", ns, priority))
	}
	cli := queueCLI(t, ns)
	cli.Write(t, config)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, config+computeOf("low"))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Await(t, ns, "deployment/low", "jsonpath={.status.readyReplicas}=2")
	// Kueue updates this status some time after it has admitted the pods. The plan would not warn until then.
	cluster.Await(t, ns, "clusterqueue/"+ns, "jsonpath={.status.reservingWorkloads}=2")
	cli.Write(t, config+computeOf("low")+computeOf("high"))
	out := cli.MustRun(t, "apply", "-auto-approve")
	acctest.ExpectText(t, out, maybeLater, "until Kueue preempts other workloads")
	cluster.Await(t, ns, "deployment/high", "jsonpath={.status.readyReplicas}=2")
	if low := readyReplicas(t, ns, "low"); low != "" {
		t.Errorf("%s pods of the lower priority are ready, want none\n%s", low, out)
	}
	// The preempted workloads wait, and start again once the quota suffices for both.
	cli.Write(t, strings.Replace(config, `nominal = "2"`, `nominal = "4"`, 1)+computeOf("low")+computeOf("high"))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Await(t, ns, "deployment/low", "jsonpath={.status.readyReplicas}=2")
}

// Workloads that wait have no reserved quota, so they do not delay the deletion of their queue. They wait for it.
func TestEcoTeamQueueIsDeletedWhileWorkloadsWait(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	startWorkload(t, ns)
	t.Cleanup(func() { cluster.Kubectl(t, "delete", "-n", ns, "deployment/busy", "--ignore-not-found") })
	config := func(gpus string) string { return queueConfig(ns, gpus, `timeouts = { delete = "2m" }`) }
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(t),
		Steps: []resource.TestStep{
			{
				Config: config("0"),
				Check: func(*terraform.State) error {
					cluster.Await(t, ns, "clusterqueue/"+ns, "jsonpath={.status.pendingWorkloads}=1")
					return nil
				},
			},
			{
				RefreshState: true,
				Check: resource.ComposeAggregateTestCheckFunc(
					resource.TestCheckResourceAttr(teamQueue, "pending_workloads", "1"),
					resource.TestCheckResourceAttr(teamQueue, "admitted_workloads", "0")),
			},
			{Config: config("0"), Destroy: true},
			{
				PreConfig: func() {
					if got := readyReplicas(t, ns, "busy"); got != "" {
						t.Errorf("%s pods run without a queue", got)
					}
				},
				Config: config("1"),
				Check: func(*terraform.State) error {
					cluster.Await(t, ns, "deployment/busy", runs)
					return nil
				},
			},
			{
				PreConfig: func() { cluster.Kubectl(t, "delete", "-n", ns, "deployment/busy") },
				Config:    config("1"),
			},
		},
	})
}

// What a queue uses beyond a reduced quota counts as borrowed, so another queue of the cohort can reclaim it.
func TestEcoTeamQueueReducedBelowItsUsageIsReclaimed(t *testing.T) {
	t.Parallel()
	vision, speech := cluster.Namespace(t), cluster.Namespace(t)
	queues := func(ofVision, ofSpeech string) string {
		cohort := fmt.Sprintf("cohort = %q\n", vision)
		return "provider \"kt\" {}\n" +
			queueNamed("vision", vision, flavor(vision, ofVision, "", "node_labels = {}"), cohort) +
			queueNamed("speech", speech, flavor(vision, ofSpeech, "", ""), cohort+fmt.Sprintf("namespace = %q\n"+
				"preemption = { reclaim_within_cohort = \"Any\" }\n depends_on = [kt_queue.vision]", speech))
	}
	user := onGPUs("user", vision, "kt_queue.vision.name", 2, `on_not_ready = "ignore"`)
	cli := queueCLI(t, vision)
	cli.Write(t, queues("2", "2"))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, queues("2", "2")+user)
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Await(t, vision, "deployment/user", "jsonpath={.status.readyReplicas}=2")
	cluster.Await(t, vision, "clusterqueue/"+vision, "jsonpath={.status.reservingWorkloads}=2")

	cli.Write(t, queues("1", "3")+user)
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), "2 of nvidia.com/gpu in flavor "+vision+
		" is in use, and the plan reduces nominal to 1. The rest then counts as borrowed")
	if got := readyReplicas(t, vision, "user"); got != "2" {
		t.Errorf("%s pods are ready after the reduction alone, want 2", got)
	}
	cli.Write(t, queues("1", "3")+user+onGPUs("owner", speech, "kt_queue.speech.name", 3, ""))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Await(t, vision, "deployment/user", "jsonpath={.status.readyReplicas}=1")
	if owner, got := readyReplicas(t, speech, "owner"), readyReplicas(t, vision, "user"); owner != "3" || got != "1" {
		t.Errorf("%s pods of the owner and %s of the other queue are ready, want 3 and 1", owner, got)
	}
}

// Kueue's configuration excludes XGBoostJobs. With a queue, they are created suspended, and nothing starts them.
func TestEcoAQueueOfAKindThatKueueExcludesIsReported(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	queue := cluster.Queue(t, ns, 1)
	cli := acctest.NewAttachedCLI(t)
	compute := func(queue string) string {
		return cluster.Config(ns, acctest.BareCompute(
			roles("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost", 2)+"\nqueue_name = "+queue))
	}
	const add = `Add "kubeflow.org/xgboostjob" to integrations.frameworks`
	cli.Write(t, compute(fmt.Sprintf("%q", queue)))
	acctest.ExpectText(t, acctest.Unwrap(cli.MustRun(t, "plan")), "The queue has no effect",
		"nothing starts the compute", add)
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Error("the apply succeeds")
	}
	acctest.ExpectText(t, acctest.Unwrap(out), "the configuration of Kueue excludes its kind", add)
	cli.Write(t, compute("null"))
	if out := cli.MustRun(t, "apply", "-auto-approve"); strings.Contains(out, "has no effect") {
		t.Errorf("reported without a queue:\n%s", out)
	}
	cli.MustRun(t, "destroy", "-auto-approve")
}
