package kubelet

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// retryMount is the interval between attempts to mount a volume, unless an object changes.
const retryMount = 10 * time.Second

// Result is the result of Sync.
type Result struct {
	Status corev1.PodStatus
	Events []Event
	Again  time.Duration // time until the next call; 0 if nothing changes over time
}

// Sync returns the status of the pod at the given time, the events since its current status, and
// the time of the next change. It keeps no other state: the times of two conditions record since
// when init containers and containers could have run.
func Sync(pod *corev1.Pod, objects Objects, now time.Time, hostIP, podIP string) (Result, error) {
	result := Result{Status: *pod.Status.DeepCopy()}
	status := &result.Status
	if status.StartTime == nil {
		started := stamp(now)
		status.StartTime = &started
	}
	status.HostIP, status.HostIPs = hostIP, []corev1.HostIP{{IP: hostIP}}

	unmounted, err := missingForVolumes(pod, objects)
	if err != nil {
		return Result{}, err
	}
	// A mounted volume stays mounted, even if its object is deleted while the pod is running.
	mounted := len(unmounted) == 0 || conditionTrue(status, corev1.PodReadyToStartContainers)
	setCondition(status, corev1.PodReadyToStartContainers, mounted, "", "", now)
	if !mounted {
		for _, message := range unmounted {
			result.Events = append(result.Events, Event{Type: corev1.EventTypeWarning, Reason: "FailedMount",
				Message: message})
		}
		result.Again = retryMount
	} else if status.PodIP == "" {
		status.PodIP, status.PodIPs = podIP, []corev1.PodIP{{IP: podIP}}
	}

	player := player{pod: pod, objects: objects, now: now, result: &result}
	begin := transition(status, corev1.PodReadyToStartContainers)
	initialized := true
	inits := make([]corev1.ContainerStatus, 0, len(pod.Spec.InitContainers))
	for i, container := range pod.Spec.InitContainers {
		path := fmt.Sprintf("spec.initContainers{%s}", container.Name)
		next, err := player.init(i, container, path, begin, mounted, initialized)
		if err != nil {
			return Result{}, err
		}
		inits = append(inits, next)
		initialized = initialized && initDone(container, next)
	}
	setCondition(status, corev1.PodInitialized, initialized, "ContainersNotInitialized",
		"containers with incomplete status", now)
	if done := transition(status, corev1.PodInitialized); done.After(begin) {
		begin = done
	}

	containers := make([]corev1.ContainerStatus, 0, len(pod.Spec.Containers))
	for i, container := range pod.Spec.Containers {
		path := fmt.Sprintf("spec.containers{%s}", container.Name)
		next, err := player.main(i, container, path, begin, mounted, initialized)
		if err != nil {
			return Result{}, err
		}
		containers = append(containers, next)
	}
	status.InitContainerStatuses, status.ContainerStatuses = inits, containers
	status.Phase = phase(pod, initialized, append(slices.Clone(inits), containers...))
	setReady(status, now)
	return result, nil
}

// phase computes the phase from the containers like the kubelet does.
func phase(pod *corev1.Pod, initialized bool, statuses []corev1.ContainerStatus) corev1.PodPhase {
	var pending, running, stopped, succeeded int
	for i, status := range statuses {
		isInit := i < len(pod.Spec.InitContainers)
		switch {
		case status.State.Running != nil:
			running++
		case status.State.Terminated != nil && status.State.Terminated.ExitCode == 0:
			if !isInit {
				stopped++
				succeeded++
			}
		case status.State.Terminated != nil, status.LastTerminationState.Terminated != nil:
			stopped++
		default:
			pending++
		}
	}
	never := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	switch {
	case never && !initialized && stopped > 0:
		return corev1.PodFailed
	case !initialized || pending > 0:
		return corev1.PodPending
	case running > 0:
		return corev1.PodRunning
	case stopped == succeeded && stopped > 0 && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways:
		return corev1.PodSucceeded
	case never:
		return corev1.PodFailed
	}
	return corev1.PodRunning
}
