package actions_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const suspendAndResume = `
action "kt_suspend" "trainer" {
  config {
    name = "trainer"
  }
}

action "kt_resume" "trainer" {
  config {
    name = "trainer"
  }
}

action "kt_resume" "five" {
  config {
    name     = "trainer"
    replicas = 5
  }
}`

func TestAccActionSuspendShowsAsDriftUntilResume(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 3")+suspendAndResume))
	cli.MustRun(t, "apply", "-auto-approve")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_suspend.trainer"),
		"Suspended Deployment "+ns+"/trainer.",
		"Deployment "+ns+"/trainer is suspended, and has no pods left.")
	if left := podNames(t, ns); len(left) > 0 {
		t.Errorf("pods %v are left after kt_suspend", left)
	}
	acctest.ExpectText(t, cli.MustRun(t, "plan"),
		"spec.replicas: changed by terraform-provider-kt-action", "~ replicas = 0 -> 3", "1 to change")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_suspend.trainer"),
		"Deployment "+ns+"/trainer is already suspended.")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.trainer"),
		"Resumed Deployment "+ns+"/trainer with 3 pods.", "is running: 3 of 3 pods ready.")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.trainer"),
		"Deployment "+ns+"/trainer is not suspended.")
}

// The metric of the autoscaler does not exist, so it changes nothing while the test runs. A refresh writes the
// suspension to the state.
func TestAccActionResumeOfAnAutoscaledComputeIsNoDrift(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("autoscale = {\nscaler = \"hpa\"\nmax_scale = 8\nmetrics = "+
		"[{ external = { metric = { name = \"missing\" }, target = { average_value = \"10\" } } }]\n}")+
		suspendAndResume))
	cli.MustRun(t, "apply", "-auto-approve")
	cluster.Kubectl(t, "scale", "-n", ns, "deployment/trainer", "--replicas=5")
	cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_suspend.trainer")
	cli.MustRun(t, "apply", "-auto-approve", "-refresh-only")
	cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.trainer")
	cli.MustRun(t, "plan", "-detailed-exitcode")
}

func TestAccActionResumeNeedsAnUnrecordedNumberOfPods(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 2\nsuspend = true")+suspendAndResume))
	cli.MustRun(t, "apply", "-auto-approve")
	out, err := cli.Run(t, "apply", "-auto-approve", "-invoke=action.kt_resume.trainer")
	if err == nil {
		t.Errorf("kt_resume guesses the number of pods:\n%s", out)
	}
	acctest.ExpectText(t, out, "Error: Unknown number of pods", "Next step: Set `replicas`",
		"The action has not changed anything.")
	acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_resume.five"),
		"Resumed Deployment "+ns+"/trainer with 5 pods.")
	acctest.ExpectText(t, cli.MustRun(t, "plan"), "~ suspend", "spec.replicas: changed by terraform-provider-kt-action")
}

func TestAccActionResumeIgnoresARecordOfAnEarlierSuspension(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := cluster.Namespace(t)
	cli.Write(t, cluster.Config(ns, acctest.Compute("replicas = 3")+suspendAndResume))
	cli.MustRun(t, "apply", "-auto-approve")
	suspend := func() { cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_suspend.trainer") }
	suspend()
	cli.MustRun(t, "apply", "-auto-approve") // resumes
	if out := cluster.Kubectl(t, "get", "-n", ns, "deployment", "trainer", "-o", "yaml"); strings.Contains(out,
		kind.SuspendedAnnotation) {
		t.Errorf("the record is left after an apply that resumes the compute:\n%s", out)
	}
	suspend()
	cluster.Kubectl(t, "scale", "-n", ns, "deployment/trainer", "--replicas=2")
	cluster.Kubectl(t, "scale", "-n", ns, "deployment/trainer", "--replicas=0")
	out, err := cli.Run(t, "apply", "-auto-approve", "-invoke=action.kt_resume.trainer")
	if err == nil {
		t.Errorf("kt_resume restores the number of an earlier suspension:\n%s", out)
	}
	acctest.ExpectText(t, out, "Error: Unknown number of pods", "Next step: Set `replicas`")
}

func TestAccActionScaleIsDriftUnlessReplicasIsIgnored(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	ns := withCRDs.Namespace(t)
	for name, compute := range map[string]struct{ attributes, ignored string }{
		"deployment": {"replicas = 2", "replicas"},
		"ray": {"distribute = { type = \"ray\", workers = 2 }\non_not_ready = \"ignore\"",
			"replicas, distribute"},
	} {
		scale := `
action "kt_scale" "x" {
  config {
    name     = "` + name + `"
    replicas = 4
    wait     = false
  }
}`
		cli.Write(t, withCRDs.Config(ns, acctest.ComputeNamed(name, compute.attributes)+scale))
		cli.MustRun(t, "apply", "-auto-approve")
		acctest.ExpectText(t, cli.MustRun(t, "apply", "-auto-approve", "-invoke=action.kt_scale.x"),
			ns+"/"+name+" from 2 to 4 pods.")
		acctest.ExpectText(t, cli.MustRun(t, "plan"), "changed by terraform-provider-kt-action", "1 to change")
		cli.Write(t, withCRDs.Config(ns, acctest.ComputeNamed(name, compute.attributes+
			"\nlifecycle {\n  ignore_changes = ["+compute.ignored+"]\n}")+scale))
		if out, err := cli.Run(t, "plan", "-detailed-exitcode"); err != nil {
			t.Errorf("%s: the plan with ignored replicas is not empty:\n%s", name, out)
		}
		cli.MustRun(t, "destroy", "-auto-approve")
	}
}
