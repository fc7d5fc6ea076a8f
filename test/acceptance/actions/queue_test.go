package actions_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// No controller of Kueue acts on the Job, so it stays suspended, as a queue holds it.
func TestAccActionsOfAWorkloadThatAQueueHolds(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := withCRDs.Namespace(t)
	cli.Write(t, withCRDs.Config(ns, acctest.Compute(acctest.Manifest(`
apiVersion: batch/v1
kind: Job
spec: {template: {spec: {containers: [{name: kubetorch, command: [python, train.py]}]}}}`)+
		"queue_name = \"team\"\non_not_ready = \"ignore\"")+
		action("suspend", "")+action("resume", "wait = false")))
	cli.MustRun(t, "apply", "-auto-approve")
	job := "Job " + ns + "/trainer"
	label := []string{"get", "job/trainer", "-n", ns, "-o", "jsonpath={.metadata.labels.kueue\\.x-k8s\\.io/queue-name}"}

	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.x"),
		job+" is not suspended by a user: queue team holds it, and starts it when it has quota.")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_suspend.x"),
		"Suspended "+job+", and removed it from queue team, which would start it again.")
	if queue := withCRDs.Kubectl(t, label...); queue != "" {
		t.Errorf("the suspended Job is in queue %s", queue)
	}
	plan := cli.MustRun(t, "plan")
	acctest.ExpectText(t, plan, "1 to change")
	if strings.Contains(plan, "must be replaced") {
		t.Errorf("a suspended compute is replaced:\n%s", plan)
	}
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.x"),
		"Returned "+job+" to queue team, which starts it when it has quota.")
	if queue := withCRDs.Kubectl(t, label...); queue != "team" {
		t.Errorf("the resumed Job is in queue %q", queue)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
}
