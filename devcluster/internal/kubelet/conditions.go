package kubelet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func setReady(status *corev1.PodStatus, now time.Time) {
	var unready []string
	for _, container := range status.ContainerStatuses {
		if !container.Ready {
			unready = append(unready, container.Name)
		}
	}
	message := fmt.Sprintf("containers with unready status: [%s]", strings.Join(unready, " "))
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		setCondition(status, kind, len(unready) == 0, "ContainersNotReady", message, now)
	}
}

// setCondition sets a condition. reason and message are only used for False. The time changes only with the status.
func setCondition(
	status *corev1.PodStatus, kind corev1.PodConditionType, holds bool, reason, message string, now time.Time,
) {
	next := corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: stamp(now)}
	if !holds {
		next.Status, next.Reason, next.Message = corev1.ConditionFalse, reason, message
	}
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		status.Conditions = append(status.Conditions, next)
		return
	}
	if status.Conditions[i].Status == next.Status {
		next.LastTransitionTime = status.Conditions[i].LastTransitionTime
	}
	status.Conditions[i] = next
}

func conditionTrue(status *corev1.PodStatus, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

func transition(status *corev1.PodStatus, kind corev1.PodConditionType) time.Time {
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// stamp truncates a time to seconds, like the API server does.
func stamp(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }
