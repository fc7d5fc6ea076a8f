package ready

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// podCondition is the condition of a type; a zero one if the pod has none.
func podCondition(p *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

func podReady(p *corev1.Pod) bool {
	return podCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}

// readyPods is how many of those that live are ready.
func readyPods(pods []*corev1.Pod) int {
	n := 0
	for _, p := range living(pods) {
		if podReady(p) {
			n++
		}
	}
	return n
}

// sandboxReady is whether the pod's volumes are mounted and its network is up.
// Kubelets report it since 1.29.
func sandboxReady(p *corev1.Pod) bool {
	return podCondition(p, corev1.PodReadyToStartContainers).Status == corev1.ConditionTrue
}

// containerStatuses are those of init containers, then of containers.
func containerStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, 0, len(p.Status.InitContainerStatuses)+len(p.Status.ContainerStatuses))
	return append(append(out, p.Status.InitContainerStatuses...), p.Status.ContainerStatuses...)
}

// container is the spec of the container of a name; a zero one if there is none.
func container(p *corev1.Pod, name string) corev1.Container {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for _, c := range list {
			if c.Name == name {
				return c
			}
		}
	}
	return corev1.Container{}
}

func failed(t *corev1.ContainerStateTerminated) bool {
	return t != nil && t.ExitCode != 0
}

// failedPod explains a pod that ended and is not run again: its controller
// makes another in its place.
func (s *scene) failedPod(p *corev1.Pod) *Cause {
	summary := fmt.Sprintf("Pod %s failed", p.Name)
	if p.Status.Reason != "" {
		summary += fmt.Sprintf(" (%s)", p.Status.Reason)
	}
	if p.Status.Message != "" {
		summary += ": " + clip(p.Status.Message)
	}
	hint := "Check this pod if the one that takes its place fails as well."
	if p.Status.Reason == "Evicted" {
		hint = "Ask for what the pod really uses with `memory` and `disk_size`: its node ran short."
	}
	c := s.newPodCause(p, ReasonPodFailed, p.Status.Reason, summary, hint)
	if cs := failedContainer(p); cs != nil {
		end := cs.State.Terminated
		c.Summary += fmt.Sprintf(": container %s ended with %s.%s", cs.Name, exit(end), lastWords(end))
		c.Hint = exitHint(end)
		return c.withLogs(p, cs.Name, false)
	}
	return c
}

// nodeCauses explains a pod that its node does not get to run.
func (s *scene) nodeCauses(p *corev1.Pod) []*Cause {
	if c := s.nodeDown(p); c != nil {
		return []*Cause{c}
	}
	if sandboxReady(p) {
		return nil
	}
	if c := s.mountCause(p); c != nil {
		return []*Cause{c}
	}
	if c := s.sandboxCause(p); c != nil {
		return []*Cause{c}
	}
	return nil
}

func (s *scene) nodeDown(p *corev1.Pod) *Cause {
	for _, n := range s.Nodes {
		if n == nil || n.Name != p.Spec.NodeName {
			continue
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				cause := s.newPodCause(p, ReasonNodeNotReady, n.Name,
					fmt.Sprintf("Pod %s is on node %s, which is not ready: %s", p.Name, n.Name, clip(c.Message)),
					"Repair the node, or delete the pod so that it runs elsewhere.")
				cause.Command = "kubectl describe node " + n.Name
				return cause
			}
		}
	}
	return nil
}

func (s *scene) sandboxCause(p *corev1.Pod) *Cause {
	e := s.events.about("Pod", p.Name).latest("FailedCreatePodSandBox")
	if e == nil {
		return nil
	}
	return s.newPodCause(p, ReasonSandboxFailed, "",
		andThen("The node cannot set the pod up: "+clip(e.Message), "The kubelet tries again."),
		"Check the node's network plugin and its container runtime if this lasts.")
}
