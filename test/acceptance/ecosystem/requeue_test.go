package ecosystem_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const (
	admittedAgain = "Kueue stops all pods and admits the compute again"
	notUpdated    = "Running pods are not updated"
)

// podUIDs returns the UIDs of the pods of a namespace that are not being deleted.
func podUIDs(t *testing.T, ns string) []string {
	t.Helper()
	return strings.Fields(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "go-template={{range .items}}"+
		"{{if not .metadata.deletionTimestamp}}{{.metadata.uid}} {{end}}{{end}}"))
}

func shared(before, after []string) int {
	return len(slices.DeleteFunc(slices.Clone(after), func(uid string) bool { return !slices.Contains(before, uid) }))
}

func pyTorch(workers int) string {
	return roles("PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch", workers)
}

// Kueue stops a running workload whose containers or numbers of pods change, and admits it again. The plan says so, and
// the apply waits for the new pods. The quota that the workload itself uses is free for it.
func TestEcoUpdatesThatKueueAdmitsAgain(t *testing.T) {
	t.Parallel()
	ray := func(workers int) string {
		return fmt.Sprintf("distribute = { type = \"ray\", workers = %d }\n", workers)
	}
	for name, c := range map[string]struct {
		created, changed string
		warning          string // "" for none
		kept             int    // pods that stay
		pods             int    // after the update
	}{
		"template":             {pyTorch(3), pyTorch(3) + "cpus = 1", admittedAgain, 0, 4},
		"fewer workers":        {pyTorch(3), pyTorch(2), admittedAgain, 0, 3},
		"labels of pods":       {pyTorch(3), pyTorch(3) + "pod_labels = { a = \"b\" }", notUpdated, 4, 4},
		"template of ray":      {ray(4), ray(4) + "cpus = 1", admittedAgain, 0, 4},
		"fewer workers of ray": {ray(4), ray(3), admittedAgain, 0, 3},
		"a Deployment":         {"replicas = 4", "replicas = 4\ncpus = 1", "", 0, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			queue := cluster.Queue(t, ns, 4)
			cli := queueCLI(t, ns)
			config := func(attributes string) string {
				return acctest.BareCompute(fmt.Sprintf("gpus = 1\nqueue_name = %q\n%s", queue, attributes))
			}
			cli.Write(t, config(c.created))
			cli.MustRun(t, "apply", "-auto-approve")
			before := podUIDs(t, ns)
			cli.Write(t, config(c.changed))
			out := cli.MustRun(t, "apply", "-auto-approve")
			after := podUIDs(t, ns)
			if kept := shared(before, after); kept != c.kept || len(after) != c.pods {
				t.Errorf("%d pods after the update, of which %d existed before; want %d and %d\n%s", len(after), kept,
					c.pods, c.kept, out)
			}
			for _, warning := range []string{admittedAgain, notUpdated, notAdmitted} {
				if strings.Contains(acctest.Unwrap(out), warning) != (warning == c.warning) {
					t.Errorf("want only the warning %q:\n%s", c.warning, out)
				}
			}
			if ready := strings.TrimSpace(cli.MustRun(t, "state", "show", "-no-color", acctest.Trainer)); !strings.
				Contains(strings.Join(strings.Fields(ready), " "), "ready = true") {
				t.Errorf("not ready:\n%s", ready)
			}
		})
	}
}

// The quota of a replaced compute is free for the one that replaces it, under whatever name. Kueue admits the pods of a
// Deployment one by one, so that only the pods identify what they use.
func TestEcoQuotaOfARenamedDeploymentIsFree(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	queue := cluster.Queue(t, ns, 4)
	cli := queueCLI(t, ns)
	config := acctest.BareCompute(fmt.Sprintf("gpus = 1\nreplicas = 4\nqueue_name = %q", queue))
	cli.Write(t, config)
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Await(t, ns, "clusterqueue/"+ns,
		`jsonpath={.status.flavorsReservation[*].resources[?(@.name=="nvidia.com/gpu")].total}=4`)
	cli.Write(t, strings.Replace(config, `= "trainer"`, `= "renamed"`, 1))
	out := cli.MustRun(t, "plan")
	acctest.ExpectText(t, out, "must be replaced")
	if strings.Contains(acctest.Unwrap(out), notAdmitted) {
		t.Errorf("the quota of the replaced pods is not taken for free:\n%s", out)
	}
	cli.MustRun(t, "apply", "-auto-approve")
	if pods := podUIDs(t, ns); len(pods) != 4 {
		t.Errorf("%d pods run, not 4", len(pods))
	}
}

// More than the quota is never admitted again: the apply must not report the pods before.
func TestEcoUpdateBeyondTheQuotaIsNotReady(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := queueCLI(t, ns)
	config := func(workers int) string {
		return acctest.BareCompute(fmt.Sprintf("gpus = 1\nqueue_name = %q\ntimeouts = { update = \"20s\" }\n%s",
			"team", pyTorch(workers)))
	}
	cluster.Queue(t, ns, 4)
	cli.Write(t, config(3))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, config(4))
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"), notAdmitted, admittedAgain, "is not ready: queued")
	if left := podUIDs(t, ns); len(left) > 0 {
		t.Errorf("%d pods run", len(left))
	}
}

// Kueue does not manage XGBoostJobs in this cluster, so the pods of one that was resumed stay, and the wait ends.
func TestEcoUpdateOfAKindThatKueueExcludes(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	queue := cluster.Queue(t, ns, 4)
	cli := queueCLI(t, ns)
	config := func(more string) string {
		return acctest.BareCompute(fmt.Sprintf("queue_name = %q\n%s\n%s", queue,
			roles("XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost", 2), more))
	}
	cli.Write(t, config(`on_not_ready = "ignore"`))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Kubectl(t, "patch", "xgboostjob/trainer", "-n", ns, "--type=merge", "-p",
		`{"spec": {"runPolicy": {"suspend": false}}}`)
	cluster.Await(t, ns, "xgboostjob/trainer", "condition=Running")
	before := podUIDs(t, ns)
	cli.Write(t, config("cpus = 1\ntimeouts = { update = \"20s\" }"))
	out := cli.MustRun(t, "apply", "-auto-approve")
	acctest.ExpectText(t, out, notUpdated)
	if strings.Contains(out, admittedAgain) || strings.Contains(out, "is not ready") {
		t.Errorf("the output is:\n%s", out)
	}
	if after := podUIDs(t, ns); shared(before, after) != 3 {
		t.Errorf("pods %v, before %v", after, before)
	}
}

// A training job that has ended starts no more pods, so a changed template replaces it, like that of a Job.
func TestEcoChangedTemplateReplacesATrainingJobThatHasEnded(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"Succeeded", "Failed"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			ns := cluster.Namespace(t)
			queue := cluster.Queue(t, ns, 3)
			cli := queueCLI(t, ns)
			config := func(more string) string {
				return acctest.BareCompute(fmt.Sprintf("gpus = 1\nqueue_name = %q\n%s\n%s", queue, strings.Replace(
					pyTorch(2), "Master: {", "Master: {restartPolicy: Never, ", 1), more))
			}
			cli.Write(t, config(""))
			cli.MustRun(t, "apply", "-auto-approve")
			before := podUIDs(t, ns)
			cluster.Kubectl(t, "patch", "pod/trainer-master-0", "-n", ns, "--subresource=status", "--type=merge", "-p",
				fmt.Sprintf(`{"status": {"phase": %q, "containerStatuses": [{"name": "pytorch", "image": "mine:1",
					"imageID": "", "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": %d}}}]}}`,
					end, map[string]int{"Succeeded": 0, "Failed": 1}[end]))
			cluster.Await(t, ns, "pytorchjob/trainer", "condition="+end)
			// Kueue updates this status some time after the job. The plan would warn until then.
			cluster.Await(t, ns, "clusterqueue/"+ns,
				`jsonpath={.status.flavorsReservation[*].resources[?(@.name=="nvidia.com/gpu")].total}=0`)
			cli.Write(t, config("cpus = 1"))
			out := cli.MustRun(t, "plan")
			acctest.ExpectText(t, out, "must be replaced")
			for _, warning := range []string{admittedAgain, notUpdated, notAdmitted} {
				if strings.Contains(acctest.Unwrap(out), warning) {
					t.Errorf("the warning %q is not true:\n%s", warning, out)
				}
			}
			out = cli.MustRun(t, "apply", "-auto-approve")
			if after := podUIDs(t, ns); len(after) != 3 || shared(before, after) != 0 {
				t.Errorf("pods %v, before %v\n%s", after, before, out)
			}
			cli.MustRun(t, "plan", "-detailed-exitcode")
		})
	}
}
