package actions_test

import (
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const restartTrainer = `
action "kt_restart" "trainer" {
  config {
    id = caller.id
  }
}`

func TestAccActionRestartIsTriggeredByAnUpdateAndInvoked(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	triggered := func(replicas string) string {
		return cluster.Config(ns, acctest.Compute(replicas+`
  lifecycle {
    action_trigger {
      events  = [after_update]
      actions = [action.kt_restart.trainer]
    }
  }`)+restartTrainer)
	}
	cli.Write(t, triggered("replicas = 2"))
	cli.MustRun(t, "apply", "-auto-approve")
	created := podNames(t, ns)

	cli.Write(t, triggered("replicas = 3"))
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve"),
		"Requested the restart of Deployment "+ns+"/trainer.",
		"Deployment "+ns+"/trainer was restarted: 3 of 3 pods ready.")
	updated := podNames(t, ns)
	if common := intersection(created, updated); len(common) > 0 {
		t.Errorf("pods %v were not restarted", common)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode") // the annotation of the restart is no drift

	out := cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_restart.trainer")
	acctest.ExpectText(t, out, "was restarted: 3 of 3 pods ready.")
	if common := intersection(updated, podNames(t, ns)); len(common) > 0 {
		t.Errorf("pods %v were not restarted", common)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "apply", "-auto-approve") // keeps the annotation
	cli.MustRun(t, "destroy", "-auto-approve")
}
