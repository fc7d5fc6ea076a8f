package failures_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// gated holds the pods back as Kueue does: with a scheduling gate, which
// another client removes.
const gated = `service_template = jsonencode({ spec = { template = { spec = {
  schedulingGates = [{ name = "example.com/quota" }] } } } })
`

// ungate removes the gates of all pods of a namespace.
func ungate(t *testing.T, ns string) {
	t.Helper()
	waitForPods(t, ns, 1)
	for pod := range strings.FieldsSeq(cluster.Kubectl(t, "get", "pods", "-n", ns, "-o", "name")) {
		cluster.Kubectl(t, "patch", pod, "-n", ns, "--type=json", "-p",
			`[{"op": "remove", "path": "/spec/schedulingGates"}]`)
	}
}

// one is the only instance in state.
func one(t *testing.T, cli *acctest.CLI) acctest.Instance {
	t.Helper()
	state := cli.State(t)
	if len(state) != 1 {
		t.Fatalf("%d instances are in state, want one: %+v", len(state), state)
	}
	return state[0]
}

// planned runs a plan, and returns its action for an address, or "" for none.
func planned(t *testing.T, cli *acctest.CLI, address string) string {
	t.Helper()
	a := cli.RunJSON(t, "plan")
	if a.Failed {
		t.Fatalf("the plan failed:\n%s", a)
	}
	return a.Planned[address]
}

func TestAccComputeThatTimesOutInAQueueIsNotReplaced(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.ComputeWithTimeout(acctest.ShortTimeout, gated)))

	var uid string
	for range 2 { // a creation, then an update that waits again
		a := cli.RunJSON(t, "apply", "-auto-approve")
		if a.Failed {
			t.Fatalf("a wait that timed out failed the apply:\n%s", a)
		}
		acctest.ExpectDiagnostic(t, a.Diagnostics("warning", acctest.Trainer), true, "is not ready: queued",
			"example.com/quota", "The next apply waits for it again")
		got := one(t, cli)
		if got.Status != "" || got.Attributes.Ready || got.Attributes.UID == "" || uid != "" &&
			got.Attributes.UID != uid {
			t.Fatalf("the state is %+v, want UID %q, not tainted, and not ready", got, uid)
		}
		uid = got.Attributes.UID
		if action := planned(t, cli, acctest.Trainer); action != "update" {
			t.Errorf("the next plan has the action %q, want an update that waits again", action)
		}
	}
	ungate(t, ns)
	cli.Write(t, cluster.Config(ns, acctest.ComputeWithTimeout("2m", gated)))
	cli.MustRun(t, "apply", "-auto-approve")
	if got := one(t, cli); !got.Attributes.Ready || got.Attributes.UID != uid {
		t.Errorf("the state is %+v, want the same compute, ready", got)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A postcondition fails a run whose compute is not ready, and taints nothing.
func TestAccComputePostconditionFailsTheRunWithoutATaint(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.ComputeWithTimeout(acctest.ShortTimeout, gated+`
  lifecycle {
    postcondition {
      condition     = self.ready
      error_message = "The compute must run."
    }
  }`)))
	a := cli.RunJSON(t, "apply", "-auto-approve")
	if !a.Failed || !strings.Contains(a.String(), "The compute must run.") {
		t.Errorf("the run succeeded in spite of its postcondition:\n%s", a)
	}
	if got := one(t, cli); got.Status != "" || got.Attributes.Ready {
		t.Errorf("the state is %+v, want it not tainted and not ready", got)
	}
	ungate(t, ns)
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// An autoscaler that has no status in the cluster still writes events.
func TestAccComputeWaitsForANodeThatAnAutoscalerAdds(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t, cluster.Config(ns, acctest.ComputeWithTimeout("1m", `node_selector = { pool = "empty" }`)))
	done := make(chan acctest.Result, 1)
	go func() { done <- cli.RunJSON(t, "apply", "-auto-approve") }()
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
	if a.Failed {
		t.Fatalf("the wait ended although a node is being added:\n%s", a)
	}
	acctest.ExpectDiagnostic(t, a.Diagnostics("warning", acctest.Trainer), true, "waiting for capacity",
		"A node is being added: pod triggered scale-up: [{empty 0->1 (max: 4)}]")
	cli.MustRun(t, "destroy", "-auto-approve")
}

func TestAccVolumeThatTimesOutIsKept(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	cli.Write(t,
		cluster.Config(ns,
			acctest.Volume(fmt.Sprintf("size = \"1Gi\"\n volume_name = %q\n timeouts = { create = %q }",
				"pv-"+ns, acctest.ShortTimeout))))
	a := cli.RunJSON(t, "apply", "-auto-approve")
	if a.Failed {
		t.Fatalf("a wait that timed out failed the apply:\n%s", a)
	}
	acctest.ExpectDiagnostic(t, a.Diagnostics("warning", acctest.DataVolume), true, "is not ready: volume not bound",
		"does not exist", "The next apply waits for it again")
	before := one(t, cli)
	if before.Status != "" || before.Attributes.UID == "" {
		t.Fatalf("the state is %+v, want the volume, not tainted", before)
	}
	if action := planned(t, cli, acctest.DataVolume); action != "update" {
		t.Errorf("the next plan has the action %q, want an update that waits again", action)
	}
	cluster.PersistentVolume(t, ns, "")
	cli.MustRun(t, "apply", "-auto-approve")
	if after := one(t, cli); after.Attributes.UID != before.Attributes.UID {
		t.Errorf("the volume was replaced: %+v, then %+v", before, after)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "destroy", "-auto-approve")
}

// A claim that has never been bound holds no data, so it gives way. One that was
// bound between plan and apply does not.
func TestAccVolumeThatIsNotBoundIsReplaced(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	cli := acctest.NewAttachedCLI(t)
	unbound := fmt.Sprintf("volume_name = %q\n timeouts = { create = %q }\n", "pv-"+ns, acctest.ShortTimeout)
	cli.Write(t, cluster.Config(ns, acctest.Volume("size = \"1Gi\"\n"+unbound)))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, cluster.Config(ns, acctest.Volume("size = \"2Gi\"\n"+unbound)))
	if action := planned(t, cli, acctest.DataVolume); action != "replace" {
		t.Errorf("another size of an empty volume is %q, want a replacement", action)
	}
	cli.MustRun(t, "plan", "-out=late.tfplan")
	cluster.PersistentVolume(t, ns, "")
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	uid := one(t, cli).Attributes.UID
	out, err := cli.Run(t, "apply", "late.tfplan")
	if err == nil {
		t.Errorf("a volume that was bound after the plan is replaced:\n%s", out)
	}
	acctest.ExpectText(t, out, "Replacement of a bound volume was not requested", "bound now and may contain data")
	if got := one(t, cli); got.Attributes.UID != uid || got.Status != "" {
		t.Errorf("the state is %+v, want the volume %s as before", got, uid)
	}
	cli.Write(t, cluster.Config(ns, acctest.Volume("size = \"1Gi\"\n"+unbound)))
	cli.MustRun(t, "plan")
	cli.MustRun(t, "apply", "-auto-approve")
	cli.MustRun(t, "plan", "-detailed-exitcode")
	cli.MustRun(t, "apply", "-auto-approve", "-replace="+acctest.DataVolume) // which asks for its end
	cli.MustRun(t, "destroy", "-auto-approve")
}

// While the deletion waits for a pod, the claim is bound and the pod can write data.
func TestAccVolumeThatIsBoundWhileItsDeletionWaitsIsKept(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	var armed atomic.Bool
	waits := make(chan struct{})
	proxy := acctest.NewLossyProxy(t, cluster, func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/pods") && armed.CompareAndSwap(true, false) {
			close(waits)
		}
		return false
	})
	cli := acctest.NewAttachedCLI(t)
	unbound := fmt.Sprintf("volume_name = %q\n timeouts = { create = %q }\n", "pv-"+ns, acctest.ShortTimeout)
	cli.Write(t, proxy.Config(ns, acctest.Volume("size = \"1Gi\"\n"+unbound)))
	cli.MustRun(t, "apply", "-auto-approve")
	cli.Write(t, proxy.Config(ns, acctest.Volume("size = \"2Gi\"\n"+unbound)))
	cli.MustRun(t, "plan", "-out=late.tfplan")
	cluster.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  nodeName: elsewhere # the scheduler would wait for the claim
  containers: [{name: main, image: "main:1", volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`, "-n", ns)
	armed.Store(true)
	type result struct {
		out string
		err error
	}
	applied := make(chan result, 1)
	go func() {
		out, err := cli.Run(t, "apply", "late.tfplan")
		applied <- result{out, err}
	}()
	select {
	case <-waits:
	case got := <-applied:
		t.Fatalf("the deletion did not wait for the pod: %v\n%s", got.err, got.out)
	}
	cluster.PersistentVolume(t, ns, "")
	cluster.Kubectl(t, "wait", "persistentvolumeclaim/data", "-n", ns, "--for=jsonpath={.status.phase}=Bound",
		"--timeout=60s")
	cluster.Kubectl(t, "delete", "pod/writer", "-n", ns, "--force", "--grace-period=0")
	got := <-applied
	if got.err == nil {
		t.Errorf("a volume that may contain data was replaced:\n%s", got.out)
	}
	acctest.ExpectText(t, got.out, "Replacement of a bound volume was not requested")
	cli.Write(t, proxy.Config(ns, acctest.Volume("size = \"1Gi\"\n"+unbound)))
	cli.MustRun(t, "destroy", "-auto-approve")
}
