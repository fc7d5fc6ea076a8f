package ecosystem_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// These tests verify what the tests of the provider assume: the controllers run, and are the
// real ones.

func TestEcoRayClusterBecomesReadyAndSuspends(t *testing.T) {
	t.Parallel()
	ns := applied(t, rayCluster)
	cluster.Await(t, ns, "raycluster/ray", "jsonpath={.status.state}=ready")
	expectFields(t, ns, "raycluster/ray", "{.status.readyWorkerReplicas} {.status.head.serviceName}", "2 ray-head-svc")

	cluster.Kubectl(t, "patch", "-n", ns, "raycluster/ray", "--type=merge", "-p", `{"spec": {"suspend": true}}`)
	cluster.Await(t, ns, "raycluster/ray", "jsonpath={.status.state}=suspended")
}

func TestEcoJobSetCompletesOnceItIsNotSuspended(t *testing.T) {
	t.Parallel()
	ns := applied(t, suspendedJobSet)
	cluster.Await(t, ns, "jobset/set", "condition=Suspended")

	cluster.Kubectl(t, "patch", "-n", ns, "jobset/set", "--type=merge", "-p", `{"spec": {"suspend": false}}`)
	cluster.Await(t, ns, "jobset/set", "condition=Completed")
	expectFields(t, ns, "jobset/set", "{.status.replicatedJobsStatus[0].succeeded}", "2")
}

func TestEcoJobSetWebhookSetsDefaults(t *testing.T) {
	t.Parallel()
	ns := applied(t, suspendedJobSet)
	expectFields(t, ns, "jobset/set", "{.spec.replicatedJobs[0].template.spec.completionMode}", "Indexed")
}

func TestEcoLeaderWorkerSetBecomesAvailable(t *testing.T) {
	t.Parallel()
	ns := applied(t, leaderWorkerSet)
	cluster.Await(t, ns, "leaderworkerset/groups", "condition=Available")
	expectFields(t, ns, "leaderworkerset/groups", "{.status.readyReplicas} {.spec.networkConfig.subdomainPolicy}",
		"2 Shared")
	expectFields(t, ns, "pod/groups-1-2", `{.metadata.labels.leaderworkerset\.sigs\.k8s\.io/worker-index}`, "2")
}

func TestEcoPyTorchJobRuns(t *testing.T) {
	t.Parallel()
	ns := applied(t, pyTorchJob)
	cluster.Await(t, ns, "pytorchjob/train", "condition=Running")
	expectFields(t, ns, "pytorchjob/train",
		"{.status.replicaStatuses.Master.active} {.status.replicaStatuses.Worker.active}", "1 2")
}

func TestEcoQueueAdmitsPodsOfADeploymentUpToItsQuota(t *testing.T) {
	t.Parallel()
	ns := appliedToQueue(t, deployment, 4)
	cluster.Await(t, ns, "deployment/gpus", "jsonpath={.status.replicas}=6")
	cluster.Await(t, ns, "deployment/gpus", "jsonpath={.status.readyReplicas}=4")
	if got := gated(t, ns); got != 2 {
		t.Errorf("%d pods are gated; want 2", got)
	}
	cluster.SetQuota(t, ns, 6)
	cluster.Await(t, ns, "deployment/gpus", "jsonpath={.status.readyReplicas}=6")
}

func TestEcoQueueHoldsAJobUntilThereIsQuota(t *testing.T) {
	t.Parallel()
	ns := appliedToQueue(t, job, 4)
	cluster.Await(t, ns, "job/gpus", "jsonpath={.spec.suspend}=true")
	workload := workloadOf(t, ns, "Job")
	cluster.Await(t, ns, workload, "condition=QuotaReserved=false")
	acctest.WaitUntil(t, "Kueue reports the lack of GPUs", func() bool { // it may see the LocalQueue later
		got := reason(t, ns, workload)
		return strings.Contains(got, "insufficient") && strings.Contains(got, "nvidia.com/gpu")
	})
	cluster.SetQuota(t, ns, 6)
	cluster.Await(t, ns, workload, "condition=Admitted")
	cluster.Await(t, ns, "job/gpus", "condition=Complete")
}

func TestEcoQueueStartsAPyTorchJob(t *testing.T) {
	t.Parallel()
	ns := appliedToQueue(t, pyTorchJob, 0)
	cluster.Await(t, ns, "pytorchjob/train", "jsonpath={.spec.runPolicy.suspend}=true")
	cluster.SetQuota(t, ns, 3)
	cluster.Await(t, ns, "pytorchjob/train", "condition=Running")
	expectFields(t, ns, "pytorchjob/train", "{.spec.runPolicy.suspend}", "false")
}

func TestEcoMissingQueueSuspendsAJob(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Apply(t, inQueue(job, "nowhere"), "-n", ns)
	cluster.Await(t, ns, "job/gpus", "jsonpath={.spec.suspend}=true")
	workload := workloadOf(t, ns, "Job")
	cluster.Await(t, ns, workload, "condition=QuotaReserved=false")
	if got := reason(t, ns, workload); !strings.Contains(got, "nowhere") {
		t.Errorf("not admitted for: %s; want the missing LocalQueue", got)
	}
}

func TestEcoQueueReadsAnOlderVersionOfItsAPI(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cluster.Queue(t, ns, 4)
	// A field that v1beta2 has under another name: only Kueue's conversion webhook knows.
	cluster.Kubectl(t, "patch", "clusterqueue/"+ns, "--type=merge", "-p", `{"spec": {"cohortName": "research"}}`)
	if got := cluster.Kubectl(t, "get", "clusterqueues.v1beta1.kueue.x-k8s.io", ns, "-o",
		"jsonpath={.spec.cohort}"); !strings.HasSuffix(got, "research") {
		t.Errorf("spec.cohort of v1beta1 is %q; want research", got)
	}
}

// applied creates an object in a new namespace.
func applied(t *testing.T, manifest string) (ns string) {
	t.Helper()
	ns = cluster.Namespace(t)
	cluster.Apply(t, manifest, "-n", ns)
	return ns
}

// appliedToQueue creates an object in a new namespace, and a queue for it with a quota of GPUs.
func appliedToQueue(t *testing.T, manifest string, gpus int) (ns string) {
	t.Helper()
	ns = cluster.Namespace(t)
	cluster.Apply(t, inQueue(manifest, cluster.Queue(t, ns, gpus)), "-n", ns)
	return ns
}

// inQueue labels an object of the manifests below for a LocalQueue.
func inQueue(manifest, queue string) string {
	return strings.Replace(manifest, "metadata:\n", "metadata:\n  labels: {kueue.x-k8s.io/queue-name: "+queue+"}\n", 1)
}

func expectFields(t *testing.T, ns, object, path, want string) {
	t.Helper()
	if got := cluster.Kubectl(t, "get", "-n", ns, object, "-o", "jsonpath="+path); got != want {
		t.Errorf("%s of %s is %q; want %q", path, object, got, want)
	}
}

// gated counts the pods of a namespace that wait at a gate.
func gated(t *testing.T, ns string) int {
	t.Helper()
	reasons := cluster.Kubectl(t, "get", "pods", "-n", ns, "-o",
		`jsonpath={.items[*].status.conditions[?(@.type=="PodScheduled")].reason}`)
	return strings.Count(reasons, "SchedulingGated")
}

// workloadOf waits for Kueue's Workload of the only object of a kind.
func workloadOf(t *testing.T, ns, kind string) string {
	t.Helper()
	cluster.Kubectl(t, "wait", "-n", ns, "--for=create", "workload", "-l", "kueue.x-k8s.io/job-uid", "--timeout=100s")
	name := cluster.Kubectl(t, "get", "workload", "-n", ns, "-o",
		`jsonpath={.items[?(@.metadata.ownerReferences[0].kind=="`+kind+`")].metadata.name}`)
	return "workload/" + name
}

// reason is why Kueue has not reserved quota.
func reason(t *testing.T, ns, workload string) string {
	t.Helper()
	return cluster.Kubectl(t, "get", "-n", ns, workload, "-o",
		`jsonpath={.status.conditions[?(@.type=="QuotaReserved")].message}`)
}
