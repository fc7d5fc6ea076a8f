package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Durations on a fake node. Back-offs equal those of the kubelet: 10 s, doubled up to 5 min.
const (
	healsAfter   = 20 * time.Second
	slowFor      = 15 * time.Second
	runFor       = 1 * time.Second // each run of a failing container
	showExit     = 1 * time.Second // time for which a failed run is shown as terminated before it restarts or waits
	showPullFail = 2 * time.Second // time for which ErrImagePull is shown before ImagePullBackOff
	firstBackOff = 10 * time.Second
	maxBackOff   = 5 * time.Minute
)

// Waiting reasons of containers in the spelling of the kubelet.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonErrPull      = "ErrImagePull"
	reasonPullBackOff  = "ImagePullBackOff"
	reasonConfigError  = "CreateContainerConfigError"
	reasonCrashLoop    = "CrashLoopBackOff"
)

// moment is the state of a container at some time.
type moment struct {
	state    corev1.ContainerState
	last     corev1.ContainerState // the previous termination, if any
	restarts int32
	ready    bool
	ends     time.Duration // since the start of the container; 0 if it is permanent
}

// timeline is a container with a fixed start: the time at which it could first be created.
type timeline struct {
	pod       *corev1.Pod
	container corev1.Container
	begin     time.Time
}

// at returns the state of the container at some time after its start.
func (s timeline) at(elapsed time.Duration) moment {
	switch faultOf(s.container.Image) {
	case faultPull:
		return s.pulling(elapsed)
	case faultHeals:
		if elapsed < healsAfter {
			m := s.pulling(elapsed)
			m.ends = min(m.ends, healsAfter)
			return m
		}
		return s.running(healsAfter)
	case faultCrash:
		return s.failing(elapsed, "Error", 1)
	case faultOOM:
		return s.failing(elapsed, "OOMKilled", 137)
	case faultConfig:
		return waiting(reasonConfigError, fmt.Sprintf("secret %q not found", s.configSecret()), 0)
	case faultSlow:
		if elapsed < slowFor {
			return waiting(reasonCreating, "", slowFor)
		}
		return s.running(slowFor)
	case faultNever:
		return waiting(reasonCreating, "", 0)
	case faultNone:
	}
	return s.running(0)
}

// configSecret returns the missing Secret of a config fault: the rest of the image's path, if there is one.
func (s timeline) configSecret() string {
	name, _, _ := strings.Cut(strings.TrimPrefix(s.container.Image, brokenPrefix+string(faultConfig)), ":")
	if name = strings.Trim(name, "/"); name != "" {
		return name
	}
	return "broken-config"
}

// pulling alternates between a failed pull and the back-off before the next one.
func (s timeline) pulling(elapsed time.Duration) moment {
	var attempt time.Duration
	for backOff := firstBackOff; ; backOff = min(2*backOff, maxBackOff) {
		failed := attempt + showPullFail
		next := failed + backOff
		switch {
		case elapsed < failed:
			return waiting(reasonErrPull, pullError(s.container.Image), failed)
		case elapsed < next:
			message := fmt.Sprintf("Back-off pulling image %q: %s: %s", s.container.Image, reasonErrPull,
				pullError(s.container.Image))
			return waiting(reasonPullBackOff, message, next)
		}
		attempt = next
	}
}

// failing runs, exits and restarts: the first time immediately, then after increasing back-offs.
// It is never ready, because its process exits before a probe could succeed.
func (s timeline) failing(elapsed time.Duration, reason string, code int32) moment {
	never := s.pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	var start, backOff time.Duration
	var last corev1.ContainerState
	for restarts := int32(0); ; restarts++ {
		exit := start + runFor
		ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode:    code,
			Reason:      reason,
			Message:     s.terminationMessage(),
			StartedAt:   s.time(start),
			FinishedAt:  s.time(exit),
			ContainerID: s.containerID(restarts),
		}}
		next := exit + max(showExit, backOff)
		switch {
		case elapsed < exit:
			m := s.running(start)
			m.last, m.restarts, m.ready, m.ends = last, restarts, false, exit
			return m
		case never:
			return moment{state: ended, last: last, restarts: restarts}
		case elapsed < exit+showExit:
			return moment{state: ended, last: last, restarts: restarts, ends: exit + showExit}
		case elapsed < next:
			m := waiting(reasonCrashLoop, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", backOff,
				s.container.Name, podID(s.pod)), next)
			m.last, m.restarts = ended, restarts
			return m
		}
		start, last = next, ended
		backOff = min(max(2*backOff, firstBackOff), maxBackOff)
	}
}

// terminationMessage returns the end of the log for containers with the policy FallbackToLogsOnError.
func (s timeline) terminationMessage() string {
	if s.container.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
		return ""
	}
	var text strings.Builder
	for _, line := range logLines(s.container, s.begin, s.begin) {
		text.WriteString(line.text + "\n")
	}
	return text.String()
}

func (s timeline) running(started time.Duration) moment {
	return moment{state: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: s.time(started)}},
		ready: true}
}

func (s timeline) time(elapsed time.Duration) metav1.Time {
	return stamp(s.begin.Add(elapsed))
}

func (s timeline) containerID(restarts int32) string {
	return fmt.Sprintf("fake://%s/%s/%d", s.pod.UID, s.container.Name, restarts)
}

func waiting(reason, message string, ends time.Duration) moment {
	return moment{
		state: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		ends:  ends,
	}
}

// pullError returns the error of containerd for a registry whose name cannot be resolved.
func pullError(image string) string {
	repository, tag := strings.TrimPrefix(image, brokenPrefix), "latest"
	if at := strings.LastIndexAny(repository, ":@"); at >= 0 {
		repository, tag = repository[:at], repository[at+1:]
	}
	host := strings.TrimSuffix(brokenPrefix, "/")
	return fmt.Sprintf("failed to pull and unpack image %q: failed to resolve reference %q: failed to do request: "+
		"Head \"https://%s/v2/%s/manifests/%s\": dial tcp: lookup %s: no such host", image, image, host, repository,
		tag, host)
}

// podID formats a pod like the kubelet does in messages.
func podID(pod *corev1.Pod) string {
	return fmt.Sprintf("%s_%s(%s)", pod.Name, pod.Namespace, pod.UID)
}
