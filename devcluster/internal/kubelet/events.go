package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Event is an event to record for a pod.
type Event struct {
	Container string // path of the container in the pod's spec, or empty for the pod
	Type      string // corev1.EventTypeNormal or EventTypeWarning
	Reason    string
	Message   string
}

// changes returns the events that the kubelet records between two consecutive statuses of a container.
func changes(pod *corev1.Pod, container corev1.Container, old, next corev1.ContainerStatus) []Event {
	normal := func(reason, format string, args ...any) Event {
		return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	warning := func(reason, format string, args ...any) Event {
		return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	if next.State.Running != nil && (old.State.Running == nil || old.RestartCount != next.RestartCount) {
		if faultOf(container.Image) == faultNone {
			return nil // like KWOK: ordinary starts have no events, of which hundreds would displace other events
		}
		pulled := normal("Pulled", "Container image %q already present on machine and can be accessed by the pod",
			container.Image)
		if old.State.Waiting != nil && old.LastTerminationState.Terminated == nil {
			pulled = normal("Pulled", "Successfully pulled image %q in 1s (1s including waiting). Image size: "+
				"1048576 bytes.", container.Image)
		}
		return []Event{
			pulled,
			normal("Created", "Container created"),
			normal("Started", "Container started"),
		}
	}
	now, was := next.State.Waiting, old.State.Waiting
	if now == nil || was != nil && *was == *now {
		return nil
	}
	switch now.Reason {
	case reasonCreating:
		if faultOf(container.Image) != faultNone {
			return []Event{normal("Pulling", "Pulling image %q", container.Image)}
		}
	case reasonErrPull:
		return []Event{
			normal("Pulling", "Pulling image %q", container.Image),
			warning("Failed", "Failed to pull image %q: %s", container.Image, now.Message),
			warning("Failed", "Error: %s", now.Reason),
		}
	case reasonPullBackOff:
		return []Event{
			normal("BackOff", "Back-off pulling image %q", container.Image),
			warning("Failed", "Error: %s", now.Reason),
		}
	case reasonConfigError:
		return []Event{warning("Failed", "Error: %s", now.Message)}
	case reasonCrashLoop:
		return []Event{warning("BackOff", "Back-off restarting failed container %s in pod %s", container.Name,
			podID(pod))}
	}
	return nil
}
