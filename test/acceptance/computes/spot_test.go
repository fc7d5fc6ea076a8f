package computes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The compute is that of the guide to spot nodes.
func TestAccComputeMovesOffALostSpotNodeWithoutDrift(t *testing.T) {
	t.Parallel()
	const spot = "name=spot-0,gpus=4,product=NVIDIA-L4,label.kubernetes.azure.com/scalesetpriority=spot," +
		"taint.kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
	on := acctest.OwnCluster(t, "--node", spot, "--node", "name=l4-0,gpus=4,product=NVIDIA-L4")
	ns := on.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Setenv("KUBE_CONFIG_PATH", on.Kubeconfig())
	cli.Setenv("KT_NAMESPACE", ns)
	text, err := os.ReadFile(filepath.Join(acctest.Root(), "examples", "guides", "spot", "main.tf"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text) + "\noutput \"ready\" { value = kt_compute.trainer.ready }\n"
	cli.Write(t, config)
	cli.MustRun(t, "apply", "-auto-approve")
	nodes := []string{"get", "pods", "-n", ns, "-o", "jsonpath={.items[*].spec.nodeName}"}
	if got := on.Kubectl(t, nodes...); got != "spot-0" {
		t.Fatalf("the pod is on node %s, want the spot node", got)
	}
	drain := func(node string) {
		on.Kubectl(t, "drain", node, "--delete-emptydir-data", "--force")
		on.Kubectl(t, "delete", "node", node)
	}

	drain("spot-0")
	on.WaitForOutput(t, "l4-0", true, nodes...)
	on.Await(t, ns, "deployment/trainer", "jsonpath={.status.readyReplicas}=1")
	cli.MustRun(t, "plan", "-detailed-exitcode") // an error if there is anything to do

	drain("l4-0")
	on.WaitForOutput(t, "l4-0", false, nodes...)
	cli.MustRun(t, "apply", "-refresh-only", "-auto-approve")
	acctest.ExpectText(t, cli.MustRun(t, "output", "ready"), "false")
	acctest.ExpectText(t, cli.MustRun(t, "plan"), "No changes.")
	cli.Write(t, strings.Replace(config, "kt_compute\" \"trainer\" {", `kt_compute" "trainer" {
  lifecycle {
    postcondition {
      condition     = self.ready
      error_message = "The compute must be ready."
    }
  }`, 1))
	if out, err := cli.Run(t, "plan"); err == nil || !strings.Contains(out, "The compute must be ready.") {
		t.Errorf("the plan did not fail on the postcondition: %v\n%s", err, out)
	}
	cli.Write(t, config)
	cli.MustRun(t, "destroy", "-auto-approve")
}
