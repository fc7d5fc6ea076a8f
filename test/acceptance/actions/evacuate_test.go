package actions_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccActionEvacuateRespectsPodDisruptionBudgets(t *testing.T) {
	t.Parallel()
	cli := newCLI(t)
	own := acctest.OwnCluster(t, "--node", "name=cpu-1")
	ns := own.Namespace(t)
	config := func(attributes string) string {
		return own.Config(ns, acctest.Compute(attributes+"\nreplicas = 2\nstrategy = \"RollingUpdate\"")+`
variable "node" {}

variable "cordon" {
  default = true
}

action "kt_evacuate" "trainer" {
  config {
    name    = "trainer"
    node    = var.node
    cordon  = var.cordon
    timeout = "20s"
  }
}`)
	}
	cli.Write(t, config("pod_disruption_budget = { min_available = \"2\" }"))
	cli.MustRun(t, "apply", "-auto-approve", "-var=node=cpu-0")
	own.WaitForOutput(t, "2", true, "get", "poddisruptionbudget/trainer", "-n", ns, "-o",
		"jsonpath={.status.currentHealthy}")
	node := own.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[0].spec.nodeName}")
	other := strings.NewReplacer("0", "1", "1", "0").Replace(node)
	invoke := func(args ...string) (string, error) {
		return cli.Run(t, append([]string{"apply", "-auto-approve", "-invoke=action.kt_evacuate.trainer"}, args...)...)
	}

	out, err := invoke("-var=node=" + node)
	if err == nil {
		t.Errorf("pods were evicted against the budget:\n%s", out)
	}
	acctest.ExpectText(t, out, "The disruption budget trainer needs 2 healthy pods and has 2 currently",
		"Error: Timeout of kt_evacuate", "Timed out after 20s (`timeout`).",
		"Done before this error:", "Marked node "+node+" as unschedulable")

	cli.Write(t, config(""))
	cli.MustRun(t, "apply", "-auto-approve", "-var=node="+node)
	out, err = invoke("-var=node=" + node)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	acctest.ExpectText(t, out, "Evicted ", "has no pods on node "+node+": 2 of 2 pods ready.",
		"Node "+node+" is already unschedulable.")
	if nodes := own.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[*].spec.nodeName}"); nodes !=
		other+" "+other {
		t.Errorf("the pods are on nodes %s, want %s", nodes, other)
	}
	out, err = invoke("-var=node=" + node)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	acctest.ExpectText(t, out, "Deployment "+ns+"/trainer has no pods on node "+node+".")
	out, err = invoke("-var=node=missing")
	if err == nil {
		t.Errorf("a missing node is no error:\n%s", out)
	}
	acctest.ExpectText(t, out, `Error: Node "missing" does not exist`,
		"The pods of Deployment "+ns+"/trainer are on: "+other+" (2 pods).")

	expectUncordon(t, own, node)
	own.Kubectl(t, "cordon", node)

	// the only other node is unschedulable
	out, err = invoke("-var=node="+other, "-var=cordon=false")
	if err == nil {
		t.Errorf("pods on the same node are no error:\n%s", out)
	}
	acctest.ExpectText(t, out, "Error: A replacement runs on the same node", "Set `cordon = true`")

	// a pod that was there before is no replacement
	own.Kubectl(t, "uncordon", node)
	own.Kubectl(t, "cordon", other)
	pod, _, _ := strings.Cut(own.Kubectl(t, "get", "pods", "-n", ns, "-o", "jsonpath={.items[*].metadata.name}"), " ")
	own.Kubectl(t, "delete", "pod", pod, "-n", ns)
	own.Kubectl(t, "rollout", "status", "deployment/trainer", "-n", ns)
	out, err = invoke("-var=node=" + node)
	if err == nil {
		t.Errorf("success although the replacement is pending:\n%s", out)
	}
	acctest.ExpectText(t, out, "Error: Deployment "+ns+"/trainer is not ready: waiting for capacity",
		"Nodes are cordoned.", "Evicted 1 pod of Deployment "+ns+"/trainer")
}
