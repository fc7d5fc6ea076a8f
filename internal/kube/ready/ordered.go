package ready

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// blockingPod returns an outdated pod that prevents a StatefulSet from creating
// the new one, or nil. With ordered pod management, as the operators of
// SkyTorch 0.1.0 and KPU use, the controller waits indefinitely for the old pod
// to become ready:
// https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback
func (s Snapshot) blockingPod(set *appsv1.StatefulSet) *corev1.Pod {
	if set.Spec.PodManagementPolicy != appsv1.OrderedReadyPodManagement || set.Status.UpdateRevision == "" {
		return nil
	}
	return first(s.Pods, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && !PodReady(p) &&
			p.Labels[appsv1.StatefulSetRevisionLabel] != set.Status.UpdateRevision
	})
}

// outdated reports an outdated pod that must be deleted. Its log and its
// failure are unrelated to the change. A pod that has not failed may become
// ready, and is then replaced.
func (d podDiagnosis) outdated() *Cause {
	p := d.pod
	c := d.cause(ReasonRolloutBlocked, "", fmt.Sprintf(
		"Pod %s/%s was created before the change and is not ready. The StatefulSet of the operator uses ordered pod "+
			"management: it creates the new pod only when this pod is ready.", p.Namespace, p.Name),
		"Delete the pod with `%s`. The StatefulSet then creates a pod with the change.",
		Kubectl(p.Namespace, "delete", "pod", p.Name))
	c.Events = nil
	if slices.ContainsFunc(p.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		waiting := status.State.Waiting
		return status.State.Terminated != nil || waiting != nil && !isBeingCreated(waiting)
	}) {
		return c.terminal(shortGrace)
	}
	return c
}
