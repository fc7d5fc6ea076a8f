package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// player simulates the containers of one pod.
type player struct {
	pod     *corev1.Pod
	objects Objects
	now     time.Time
	result  *Result
}

func (p player) main(
	i int, container corev1.Container, path string, begin time.Time, mounted, initialized bool,
) (corev1.ContainerStatus, error) {
	old := oldStatus(p.pod.Status.ContainerStatuses, i, container)
	switch {
	case !mounted && len(p.pod.Spec.InitContainers) == 0:
		return p.show(container, path, begin, old, waiting(reasonCreating, "", 0)), nil
	case !initialized || !mounted:
		return p.show(container, path, begin, old, waiting(reasonInitializing, "", 0)), nil
	}
	now, err := p.play(container, begin, old)
	return p.show(container, path, begin, old, now), err
}

// init simulates an init container: it waits for earlier init containers, and completes
// immediately unless it fails or is a sidecar.
func (p player) init(
	i int, container corev1.Container, path string, begin time.Time, mounted, before bool,
) (corev1.ContainerStatus, error) {
	old := oldStatus(p.pod.Status.InitContainerStatuses, i, container)
	if !mounted || !before {
		return p.show(container, path, begin, old, waiting(reasonInitializing, "", 0)), nil
	}
	now, err := p.play(container, begin, old)
	if now.state.Running != nil && now.ready && !isSidecar(container) {
		now.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason:      "Completed",
			StartedAt:   now.state.Running.StartedAt,
			FinishedAt:  now.state.Running.StartedAt,
			ContainerID: timeline{p.pod, container, begin}.containerID(0),
		}}
		if old.State.Terminated != nil {
			now.state = old.State
		}
	}
	return p.show(container, path, begin, old, now), err
}

// play returns the current moment of a container that may be created.
func (p player) play(container corev1.Container, begin time.Time, old corev1.ContainerStatus) (moment, error) {
	// The environment of a container that runs or has run is already resolved.
	started := old.State.Running != nil || old.State.Terminated != nil || old.LastTerminationState.Terminated != nil
	pulls := slices.Contains([]fault{faultPull, faultHeals, faultSlow, faultNever}, faultOf(container.Image))
	now := timeline{p.pod, container, begin}.at(p.now.Sub(begin))
	// The image is pulled first: before that, the environment is not checked.
	if pulls && now.state.Waiting != nil {
		p.again(begin, now)
		return now, nil
	}
	if !started {
		message, err := missingForEnv(p.pod.Namespace, container, p.objects)
		if err != nil {
			return moment{}, err
		}
		if message != "" {
			return waiting(reasonConfigError, message, 0), nil
		}
	}
	if now.state.Running != nil && now.ready {
		switch {
		case old.State.Running != nil:
			now.state = old.State // the start time does not change
		case faultOf(container.Image) == faultNone:
			now.state.Running.StartedAt = stamp(p.now)
		}
	}
	p.again(begin, now)
	return now, nil
}

func (p player) again(begin time.Time, m moment) {
	if m.ends == 0 {
		return
	}
	wait := max(begin.Add(m.ends).Sub(p.now), time.Millisecond)
	if p.result.Again == 0 || wait < p.result.Again {
		p.result.Again = wait
	}
}

// show converts a moment to a container status and records events for the changes.
func (p player) show(
	container corev1.Container, path string, begin time.Time, old corev1.ContainerStatus, m moment,
) corev1.ContainerStatus {
	next := corev1.ContainerStatus{
		Name:                 container.Name,
		Image:                container.Image,
		State:                m.state,
		LastTerminationState: m.last,
		RestartCount:         m.restarts,
		Ready:                m.ready,
		Started:              &m.ready,
	}
	if m.state.Running != nil || m.state.Terminated != nil || m.last.Terminated != nil {
		next.ImageID = "fake://" + container.Image
		next.ContainerID = timeline{p.pod, container, begin}.containerID(m.restarts)
	}
	for _, event := range changes(p.pod, container, old, next) {
		event.Container = path
		p.result.Events = append(p.result.Events, event)
	}
	return next
}

func oldStatus(statuses []corev1.ContainerStatus, i int, container corev1.Container) corev1.ContainerStatus {
	if i < len(statuses) && statuses[i].Name == container.Name {
		return statuses[i]
	}
	return corev1.ContainerStatus{}
}

func initDone(container corev1.Container, status corev1.ContainerStatus) bool {
	if isSidecar(container) {
		return status.Ready
	}
	return status.State.Terminated != nil && status.State.Terminated.ExitCode == 0
}

func isSidecar(container corev1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
