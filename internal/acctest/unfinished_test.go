package acctest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// gated holds the pods back as Kueue does: with a scheduling gate, which
// somebody else removes.
const gated = `service_template = jsonencode({ spec = { template = { spec = { schedulingGates = [{ name = "example.com/quota" }] } } } })
`

// ungate removes the gates of all pods of a namespace.
func ungate(t *testing.T, ns string) {
	t.Helper()
	waitForPods(t, ns, 1)
	for pod := range strings.FieldsSeq(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "name")) {
		cluster.Kubectl(t, "patch", pod, "-n", ns, "--type=json", "-p", `[{"op": "remove", "path": "/spec/schedulingGates"}]`)
	}
}

// one is the only instance in state.
func one(t *testing.T, cli *acctest.CLI) instance {
	t.Helper()
	state := readState(t, cli)
	if len(state) != 1 {
		t.Fatalf("%d instances are in state, want one: %+v", len(state), state)
	}
	return state[0]
}

// planned runs a plan, and says which action it has for an address: "" for none.
func planned(t *testing.T, cli *acctest.CLI, address string) string {
	t.Helper()
	a := ask(t, cli, "plan")
	if a.failed {
		t.Fatalf("the plan failed:\n%s", a)
	}
	return a.planned[address]
}

func TestAccComputeThatTimesOutInAQueueKeepsItsPlace(t *testing.T) {
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, computeWaiting("3s", gated)))

	var uid string
	for range 2 { // a creation, then an update that waits again
		a := ask(t, cli, "apply", "-auto-approve")
		if a.failed {
			t.Fatalf("a wait that timed out is an error:\n%s", a)
		}
		says(t, a.of("warning", trainer), true, "is not ready: queued", "example.com/quota", "The next plan waits for it again")
		got := one(t, cli)
		if got.Status != "" || got.Attributes.Ready || got.Attributes.UID == "" || uid != "" && got.Attributes.UID != uid {
			t.Fatalf("state holds %+v, want UID %q, not tainted, and not ready", got, uid)
		}
		uid = got.Attributes.UID
		if action := planned(t, cli, trainer); action != "update" {
			t.Errorf("the next plan has the action %q, want an update that waits again", action)
		}
	}
	ungate(t, ns)
	cli.Write(t, cluster.Config(ns, computeWaiting("2m", gated)))
	cli.MustRun(t, "apply", "-auto-approve")
	if got := one(t, cli); !got.Attributes.Ready || got.Attributes.UID != uid {
		t.Errorf("state holds %+v, want the same compute, ready", got)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A postcondition fails a run whose compute is not ready, and taints nothing.
func TestAccComputePostconditionFailsTheRunWithoutATaint(t *testing.T) {
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, computeWaiting("3s", gated+`
  lifecycle {
    postcondition {
      condition     = self.ready
      error_message = "The compute must run."
    }
  }`)))
	a := ask(t, cli, "apply", "-auto-approve")
	if !a.failed || !strings.Contains(a.String(), "The compute must run.") {
		t.Errorf("the postcondition does not fail the run:\n%s", a)
	}
	if got := one(t, cli); got.Status != "" || got.Attributes.Ready {
		t.Errorf("state holds %+v, want it not tainted and not ready", got)
	}
	ungate(t, ns)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// An autoscaler that has no status in the cluster still writes events.
func TestAccComputeWaitsForANodeThatAnAutoscalerAdds(t *testing.T) {
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, computeWaiting("1m", `node_selector = { pool = "empty" }`)))
	done := make(chan answer, 1)
	go func() { done <- ask(t, cli, "apply", "-auto-approve") }()
	waitForPods(t, ns, 1)
	pod := strings.TrimPrefix(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "name"), "pod/")
	cluster.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Event
metadata: {name: %[1]s.scale-up}
involvedObject: {apiVersion: v1, kind: Pod, namespace: %[2]s, name: %[1]s}
type: Normal
reason: TriggeredScaleUp
message: "pod triggered scale-up: [{empty 0->1 (max: 4)}]"
source: {component: cluster-autoscaler}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
`, pod, ns), "-n", ns)
	a := <-done
	if a.failed {
		t.Fatalf("a pod is given up that a node is being added for:\n%s", a)
	}
	says(t, a.of("warning", trainer), true, "waiting for capacity", "A node is being added: pod triggered scale-up: [{empty 0->1 (max: 4)}]")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// computeWaiting is a compute that is waited for so long.
func computeWaiting(limit, attributes string) string {
	return fmt.Sprintf("resource \"kt_compute\" \"trainer\" {\n  name = \"trainer\"\n  cpus = \"1\"\n  timeouts = { create = %[1]q, update = %[1]q }\n  %[2]s\n}\n", limit, attributes)
}

func TestAccVolumeThatTimesOutIsKept(t *testing.T) {
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	cli.Write(t, cluster.Config(ns, volume(fmt.Sprintf("size = \"1Gi\"\n volume_name = %q\n timeouts = { create = \"2s\" }", "pv-"+ns))))
	a := ask(t, cli, "apply", "-auto-approve")
	if a.failed {
		t.Fatalf("a wait that timed out is an error:\n%s", a)
	}
	says(t, a.of("warning", dataVolume), true, "is not ready: volume not bound", "does not exist", "The next plan waits for it again")
	before := one(t, cli)
	if before.Status != "" || before.Attributes.UID == "" {
		t.Fatalf("state holds %+v, want the volume, not tainted", before)
	}
	if action := planned(t, cli, dataVolume); action != "update" {
		t.Errorf("the next plan has the action %q, want an update that waits again", action)
	}
	byHand(t, ns, "")
	cli.MustRun(t, "apply", "-auto-approve")
	if after := one(t, cli); after.Attributes.UID != before.Attributes.UID {
		t.Errorf("the volume was replaced: %+v, then %+v", before, after)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A claim that has never been bound holds no data, so it gives way. One that was
// bound between plan and apply does not.
func TestAccVolumeThatIsNotBoundGivesWayToAnother(t *testing.T) {
	if cluster == nil {
		t.Skip("TF_ACC is not set")
	}
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewCLI(t)
	unbound := fmt.Sprintf("volume_name = %q\n timeouts = { create = \"2s\" }\n", "pv-"+ns)
	cli.Write(t, cluster.Config(ns, volume("size = \"1Gi\"\n"+unbound)))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, cluster.Config(ns, volume("size = \"2Gi\"\n"+unbound)))
	if action := planned(t, cli, dataVolume); action != "replace" {
		t.Errorf("another size of an empty volume is %q, want a replacement", action)
	}
	cli.MustRun(t, "plan", "-out=late.tfplan")
	byHand(t, ns, "")
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
	uid := one(t, cli).Attributes.UID
	out, err := cli.Run(t, "apply", "late.tfplan")
	if err == nil {
		t.Errorf("a volume that was bound after the plan is replaced:\n%s", out)
	}
	said(t, out, "A volume with data is not replaced unasked", "bound now and may hold data")
	if got := one(t, cli); got.Attributes.UID != uid || got.Status != "" {
		t.Errorf("state holds %+v, want the volume %s as before", got, uid)
	}
	cli.Write(t, cluster.Config(ns, volume("size = \"1Gi\"\n"+unbound)))
	cli.MustRun(t, "plan")
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "apply", "-auto-approve", "-replace="+dataVolume) // which asks for its end
	cli.MustRun(t, "destroy", "-auto-approve")
}
