package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// player plays the containers of one pod.
type player struct {
	pod     *corev1.Pod
	objects Objects
	now     time.Time
	result  *Result
}

func (p player) main(i int, container corev1.Container, path string, begin time.Time, mounted, initialized bool) (corev1.ContainerStatus, error) {
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

// init plays an init container: each waits for those before it, and one that would
// run is done at once unless it is a sidecar.
func (p player) init(i int, container corev1.Container, path string, begin time.Time, mounted, before bool) (corev1.ContainerStatus, error) {
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
			ContainerID: scene{p.pod, container, begin}.containerID(0),
		}}
		if old.State.Terminated != nil {
			now.state = old.State
		}
	}
	return p.show(container, path, begin, old, now), err
}

// play returns what a container that may be created shows now.
func (p player) play(container corev1.Container, begin time.Time, old corev1.ContainerStatus) (moment, error) {
	// A container that ran before, or runs, has its environment already.
	started := old.State.Running != nil || old.State.Terminated != nil || old.LastTerminationState.Terminated != nil
	pulls := slices.Contains([]fault{faultPull, faultHeals, faultSlow, faultNever}, faultOf(container.Image))
	now := scene{p.pod, container, begin}.at(p.now.Sub(begin))
	// The image comes first: what cannot be pulled is not yet looked into.
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
			now.state = old.State // since when it runs does not change
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

// show turns a moment into a container status and records what changed.
func (p player) show(container corev1.Container, path string, begin time.Time, old corev1.ContainerStatus, m moment) corev1.ContainerStatus {
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
		next.ContainerID = scene{p.pod, container, begin}.containerID(m.restarts)
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
