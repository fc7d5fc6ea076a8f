package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// The real nodes of a cluster with controllers.
const firstNode, otherNode = "real-0", "real-1"

// unchanged is in the error of an action that has changed nothing.
const unchanged = "The action has not changed anything."

// kindOf returns the kind of a compute of workloadsOfControllers.
func kindOf(compute string) string {
	return map[string]string{"jobset": "JobSet", "groups": "LeaderWorkerSet", "ray": "RayCluster",
		"pytorch": "PyTorchJob", "tf": "TFJob", "xgboost": "XGBoostJob"}[compute]
}

// expectText expects that the output of an action on a compute contains texts.
func (c *controlled) expectText(t *testing.T, action, compute, out string, texts ...string) {
	t.Helper()
	object := fmt.Sprintf("%s %s/%s", kindOf(compute), c.namespace, compute)
	for _, text := range texts {
		if text = strings.ReplaceAll(text, "OBJECT", object); !strings.Contains(unwrapped(out), text) {
			t.Errorf("%s of %s does not show %q:\n%s", action, compute, text, out)
		}
	}
}

// expectPods expects a number of running pods of a compute, all of which are ready, and on one node.
func (c *controlled) expectPods(t *testing.T, compute string, want int, node string) {
	t.Helper()
	all := c.pods(t, compute)
	for _, pod := range all {
		if pod.Spec.NodeName != node || !ready.PodReady(&pod) {
			t.Errorf("pod %s is %s on node %s; want a ready one on %s", pod.Name, pod.Status.Phase, pod.Spec.NodeName,
				node)
		}
	}
	if len(all) != want {
		t.Errorf("%s has %d pods; want %d", compute, len(all), want)
	}
}

// expectScaling changes the number of pods of each workload that allows it, which plans show, and applies restore.
// Refusals state why, and change nothing.
func (c *controlled) expectScaling(t *testing.T) {
	t.Helper()
	c.use(t, []string{"kt_scale"}, "replicas = var.replicas")
	scale := func(compute string, replicas int) (string, error) {
		t.Helper()
		out, err := c.cli.Run(t, "apply", "-auto-approve", "-invoke=action.kt_scale."+compute,
			fmt.Sprintf("-var=replicas=%d", replicas))
		_, out, _ = strings.Cut(out, "Action started")
		return out, err
	}
	succeeds := func(compute string, replicas int, texts ...string) {
		t.Helper()
		out, err := scale(compute, replicas)
		if err != nil {
			t.Errorf("kt_scale of %s: %v", compute, err)
		}
		c.expectText(t, "kt_scale", compute, out, texts...)
		c.expectPods(t, compute, replicas, firstNode)
	}
	fails := func(compute string, replicas, before int, texts ...string) {
		t.Helper()
		out, err := scale(compute, replicas)
		if err == nil {
			t.Errorf("kt_scale of %s to %d pods succeeded", compute, replicas)
		}
		c.expectText(t, "kt_scale", compute, out, append(texts, "Next step: ", unchanged)...)
		c.expectPods(t, compute, before, firstNode)
	}
	const least, more = podsOfEach - 1, podsOfEach + 1
	fails("jobset", more, podsOfEach, "Cannot scale OBJECT", "spec.replicatedJobs, which contains the number of pods, "+
		"is immutable")
	for _, name := range []string{"groups", "pytorch", "tf", "xgboost"} {
		fails(name, 0, podsOfEach, "OBJECT cannot have this number of pods: it has at least 1 pod.", "`kt_suspend`")
	}
	fails("ray", least, podsOfEach, "it has at least 2 pods (`spec.workerGroupSpecs.0.minReplicas`)", "`kt_suspend`")
	for _, name := range c.computes {
		if name != "jobset" && name != "tf" { // an apply could not restore a TFJob, which fails with fewer pods
			succeeds(name, more, "Scaled OBJECT from 2 to 3 pods.", "OBJECT has 3 pods: ")
		}
	}
	fails("tf", least, podsOfEach, "its controller would count the removed pods as failed, and the job with them")
	c.expectUpdates(t, "kt_scale", []string{"groups", "ray", "pytorch", "xgboost"})
	for _, name := range []string{"groups", "ray", "pytorch"} {
		succeeds(name, podsOfEach, "Scaled OBJECT from 3 to 2 pods.")
	}
	succeeds("ray", podsOfEach, "OBJECT already has 2 pods.")
	c.expectUpdates(t, "kt_scale back", []string{"xgboost"})
	c.cli.MustRun(t, "apply", "-auto-approve")
	acctest.WaitUntil(t, "the apply restores the number of pods of xgboost", func() bool {
		return len(c.pods(t, "xgboost")) == podsOfEach
	})
	c.cli.MustRun(t, "plan", "-detailed-exitcode")
}

const evacuation = "node = \"" + firstNode + "\"\ncordon = true"

// expectPendingEvacuation evacuates a workload while no other node accepts its pods.
func (c *controlled) expectPendingEvacuation(t *testing.T) {
	t.Helper()
	c.use(t, []string{"kt_evacuate"}, evacuation+"\ntimeout = \"60s\"")
	out, err := invoke(t, c.cli, "kt_evacuate.groups")
	if err == nil {
		t.Error("kt_evacuate succeeded although the replacements are pending")
	}
	c.expectText(t, "kt_evacuate", "groups", out, "Error: OBJECT is not ready: waiting for capacity",
		"Nodes are cordoned.", "Done before this error:", "Evicted 2 pods of OBJECT from node "+firstNode)
}

// expectEvacuation evacuates the workloads to the other node. Plans show nothing afterwards.
func (c *controlled) expectEvacuation(t *testing.T) {
	t.Helper()
	acctest.WaitUntil(t, "the pending pods have a node", func() bool {
		return !slices.ContainsFunc(c.pods(t, "groups"), func(pod corev1.Pod) bool { return !ready.PodReady(&pod) })
	})
	c.use(t, []string{"kt_evacuate"}, evacuation)
	c.expectBudget(t, "ray")
	for _, name := range c.computes {
		before := uids(c.pods(t, name))
		out, err := invoke(t, c.cli, "kt_evacuate."+name)
		switch name {
		case "tf": // whose controller would count evicted pods as failed
			if err == nil {
				t.Errorf("kt_evacuate of %s succeeded:\n%s", name, out)
			}
			c.expectText(t, "kt_evacuate", name, out, "Cannot evacuate OBJECT", "Its controller counts an evicted "+
				"pod as failed", "Next step: ", unchanged)
			c.expectPods(t, name, podsOfEach, firstNode)
			continue
		case "groups", "ray":
			c.expectText(t, "kt_evacuate", name, out, "OBJECT has no pods on node "+firstNode+".")
		default:
			c.expectMoved(t, name, out, before)
		}
		if err != nil {
			t.Errorf("kt_evacuate of %s: %v\n%s", name, err, out)
		}
		c.expectPods(t, name, podsOfEach, otherNode)
	}
	c.cli.MustRun(t, "plan", "-detailed-exitcode")
}

// expectMoved expects that an evacuation has replaced all pods that were there before, and states it.
func (c *controlled) expectMoved(t *testing.T, compute, out string, before []string) {
	t.Helper()
	c.expectText(t, "kt_evacuate", compute, out, "Evicted 2 pods of OBJECT from node "+firstNode+".",
		"OBJECT has no pods on node "+firstNode+": ", "New pods: "+otherNode+" (2 pods).")
	if left := uids(c.pods(t, compute)); slices.ContainsFunc(before, func(uid string) bool {
		return slices.Contains(left, uid)
	}) {
		t.Errorf("pods %s of %s were not replaced: %s", before, compute, left)
	}
}

// expectBudget evacuates a workload whose PodDisruptionBudget forbids it until the budget is deleted.
func (c *controlled) expectBudget(t *testing.T, compute string) {
	t.Helper()
	cluster.Apply(t, "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all}\nspec: {minAvailable: "+
		"2, selector: {matchLabels: {ray.io/cluster: "+compute+"}}}\n", "-n", c.namespace)
	before := uids(c.pods(t, compute))
	i := start(t, c.cli, "kt_evacuate."+compute, "0 of 2 pods evicted.")
	if now := uids(c.pods(t, compute)); !slices.Equal(now, before) {
		t.Errorf("pods %s were evicted against the budget: %s", before, now)
	}
	cluster.Kubectl(t, "delete", "poddisruptionbudget/all", "-n", c.namespace)
	if err := i.end(2 * time.Minute); err != nil {
		t.Errorf("kt_evacuate of %s: %v", compute, err)
	}
	c.expectMoved(t, compute, i.output(), before)
}
