package ready

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// inTheWay is a pod from before a change that keeps a StatefulSet from making the new one; nil if there is none. Where pods
// are managed in order, as by the operators of SkyTorch 0.1.0 and KPU, the controller waits for it to become ready, for ever:
// https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback
func (s Snapshot) inTheWay(set *appsv1.StatefulSet) *corev1.Pod {
	if set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement || set.Status.UpdateRevision == "" {
		return nil
	}
	for _, p := range s.Pods {
		if p != nil && p.DeletionTimestamp == nil && !podReady(p) && p.Labels[appsv1.StatefulSetRevisionLabel] != set.Status.UpdateRevision {
			return p
		}
	}
	return nil
}

// oldPodCause says that a pod from before the change has to go. What that one logs, or why it fails, tells nothing of the
// change. One that has not failed yet may become ready, and is then replaced.
func (s *scene) oldPodCause(p *corev1.Pod) *Cause {
	c := s.newPodCause(p, ReasonOldPodInTheWay, "", fmt.Sprintf(
		"Pod %s/%s is from before the change and not ready. The operator's StatefulSet manages its pods in order: it makes the new pod only once this one is ready.", p.Namespace, p.Name),
		fmt.Sprintf("Delete the pod with `%s`. The StatefulSet then makes one with the change.", kubectl(p.Namespace, "delete pod "+p.Name)))
	c.Events = nil
	if slices.ContainsFunc(p.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		waiting := status.State.Waiting
		return status.State.Terminated != nil || waiting != nil && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing"
	}) {
		return c.terminal(shortGrace)
	}
	return c
}
