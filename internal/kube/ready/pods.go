package ready

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
)

// podCondition returns the condition of a type, or a zero condition.
func podCondition(p *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	return first(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
}

// PodReady reports whether a pod has the condition Ready.
func PodReady(p *corev1.Pod) bool {
	return podCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

// Starts are the first and the last start of a container of a pod that its status still contains. They are zero if none
// has started.
type Starts struct{ First, Last time.Time }

// StartsOf returns the starts of the containers of a pod.
func StartsOf(p *corev1.Pod) Starts {
	var out Starts
	for _, status := range containerStatuses(p) {
		for _, state := range []corev1.ContainerState{status.State, status.LastTerminationState} {
			started := cmp.Or(ptr.Deref(state.Running, corev1.ContainerStateRunning{}).StartedAt,
				ptr.Deref(state.Terminated, corev1.ContainerStateTerminated{}).StartedAt)
			if started.IsZero() {
				continue
			}
			if out.First.IsZero() || started.Time.Before(out.First) {
				out.First = started.Time
			}
			if started.After(out.Last) {
				out.Last = started.Time
			}
		}
	}
	return out
}

// PodEnded reports whether all containers of a pod have ended, and are not started again.
func PodEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// readyPods returns the number of living pods that are ready.
func readyPods(pods []*corev1.Pod) int {
	return len(filter(living(pods), PodReady))
}

// sandboxReady reports whether the volumes of the pod are mounted and its
// network is set up. Kubelets report this since 1.29.
func sandboxReady(p *corev1.Pod) bool {
	return podCondition(p, corev1.PodReadyToStartContainers).Status == corev1.ConditionTrue
}

// containerStatuses returns the statuses of init containers, followed by those
// of containers.
func containerStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	return slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
}

// container returns the spec of the container of a name, or a zero spec.
func container(p *corev1.Pod, name string) corev1.Container {
	return first(slices.Concat(p.Spec.InitContainers, p.Spec.Containers),
		func(c corev1.Container) bool { return c.Name == name })
}

func failed(t *corev1.ContainerStateTerminated) bool {
	return t != nil && t.ExitCode != 0
}

// failed explains a failed pod. It does not run again; its controller
// replaces it.
func (d podDiagnosis) failed() *Cause {
	p := d.pod
	summary := fmt.Sprintf("Pod %s failed", p.Name)
	if p.Status.Reason != "" {
		summary += fmt.Sprintf(" (%s)", p.Status.Reason)
	}
	if p.Status.Message != "" {
		summary += ": " + clip(p.Status.Message)
	}
	hint := advice.Of("Check this pod if its replacement also fails.")
	if p.Status.Reason == "Evicted" {
		hint = advice.Of("Set %s and %s to the actual usage of the pod: its node ran out of a resource.",
			advice.Memory, advice.Disk)
	}
	c := d.cause(ReasonPodFailed, p.Status.Reason, summary, "%s", hint)
	if status := failedContainer(p); status != nil {
		end := status.State.Terminated
		c.Summary += fmt.Sprintf(": container %s exited with %s.%s", status.Name, exit(end), terminationMessage(end))
		c.Hint = exitHint(end)
		return d.container(*status).withLogs(c, false)
	}
	return c
}

// nodeCause explains a pod that its node cannot run.
func (d podDiagnosis) nodeCause() *Cause {
	if down := d.nodeDown(); down != nil || sandboxReady(d.pod) {
		return down
	}
	return cmp.Or(d.mountCause(), d.sandboxCause())
}

func (d podDiagnosis) nodeDown() *Cause {
	name := d.pod.Spec.NodeName
	node := ptr.Deref(first(d.workload.Nodes, func(n *corev1.Node) bool { return n.Name == name }), corev1.Node{})
	down := first(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
	if down.Type == "" {
		return nil
	}
	c := d.cause(ReasonNodeNotReady, name, fmt.Sprintf("Pod %s is on node %s, which is not ready: %s", d.pod.Name, name,
		clip(down.Message)),
		"Repair the node, or delete the pod so that it is scheduled on another node.")
	c.Command = Kubectl("", "describe", "node", name)
	return c
}

func (d podDiagnosis) sandboxCause() *Cause {
	e := d.events.latest("FailedCreatePodSandBox")
	if e == nil {
		return nil
	}
	return d.cause(ReasonSandboxFailed, "",
		andThen("The node cannot set up the pod: "+clip(e.Message), "The kubelet tries again."),
		"Check the network plugin and the container runtime of the node if this persists.")
}
