package ready

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// crashLoopBackOff is the waiting reason of a container that exited, and that
// the kubelet restarts after a delay.
const crashLoopBackOff = "CrashLoopBackOff"

// containerCauses returns the causes of all containers that do not run
// correctly.
func (s *diagnosis) containerCauses(p *corev1.Pod) []*Cause {
	return causesOf(containerStatuses(p), func(cs corev1.ContainerStatus) *Cause { return s.containerCause(p, cs) })
}

func (s *diagnosis) containerCause(p *corev1.Pod, cs corev1.ContainerStatus) *Cause {
	state := cs.State
	switch {
	case cs.Ready, state.Terminated != nil && state.Terminated.ExitCode == 0:
		return nil
	case state.Waiting != nil && imageUnavailable(state.Waiting.Reason):
		return s.imageCause(p, cs.Name, *state.Waiting)
	case state.Waiting != nil && state.Waiting.Reason == "CreateContainerConfigError":
		return s.configCause(p, cs.Name, state.Waiting.Message)
	}
	end, previous := lastEnd(cs)
	outOfMemory := end != nil && end.Reason == oomKilled
	switch {
	case state.Waiting != nil && startFailure(state.Waiting.Reason) && !outOfMemory:
		return s.startCause(p, cs.Name, *state.Waiting)
	case state.Waiting != nil && state.Waiting.Reason != crashLoopBackOff && !outOfMemory,
		state == corev1.ContainerState{}:
		return nil
	case state.Running != nil && !outOfMemory && cs.RestartCount < crashLoopRestarts:
		return s.probeCause(p, cs)
	}
	// A restarted container may work now: not permanent until it fails again.
	final := state.Running == nil && s.keepsFailing(p, cs, outOfMemory)
	var c *Cause
	switch {
	case outOfMemory:
		c = s.oomCause(p, cs, previous)
	case cs.RestartCount >= crashLoopRestarts || end == nil:
		c = s.crashCause(p, cs, end)
	default:
		c = s.exitCause(p, cs, end)
	}
	if final {
		c.terminal(0)
	}
	return c
}

// oomKilled is the reason of a container that was killed because memory ran
// out.
const oomKilled = "OOMKilled"

// Numbers of failed restarts after which the wait ends. A kubelet restarts
// after about 0, 10, 20, 40 and 80 s. An init container or sidecar often waits
// for a dependency by failing, and gets over a minute.
const (
	crashLoopRestarts = 2
	oomRestarts       = 1
	helperRestarts    = 4
)

// keepsFailing reports whether a container has failed so often that another
// restart will not help. If the controller of the pod counts failures, the
// controller decides.
func (s *diagnosis) keepsFailing(p *corev1.Pod, cs corev1.ContainerStatus, outOfMemory bool) bool {
	limit := int32(crashLoopRestarts)
	switch {
	case s.retriesAreCounted(p):
		return false
	case cs.Name != MainContainer(p):
		limit = helperRestarts
	case outOfMemory && hasMemoryLimit(p, cs.Name):
		limit = oomRestarts // without a limit, its node ran out of memory, which may not recur
	}
	return cs.RestartCount >= limit
}

func hasMemoryLimit(p *corev1.Pod, name string) bool {
	_, limited := container(p, name).Resources.Limits[corev1.ResourceMemory]
	return limited
}

// retriesAreCounted reports whether the controller of a pod fails the workload
// when its pods have failed too often. A Job does so by its backoffLimit, as
// does a job of the training operator that sets one.
func (s *diagnosis) retriesAreCounted(p *corev1.Pod) bool {
	if owner := metav1.GetControllerOf(p); owner != nil && owner.Kind == "Job" {
		return true
	}
	_, limited, _ := unstructured.NestedFieldNoCopy(s.Workload.Object, "spec", "runPolicy", "backoffLimit")
	return limited
}

// MainContainer returns the name of the main container: the default container
// by annotation, which injectors of sidecars set
// (https://kubernetes.io/docs/reference/labels-annotations-taints/), the
// container of Kubetorch or of a tensor server, or otherwise the first
// container.
func MainContainer(p *corev1.Pod) string {
	if name := p.Annotations["kubectl.kubernetes.io/default-container"]; name != "" {
		return name
	}
	for _, c := range p.Spec.Containers {
		if c.Name == kind.ContainerName || c.Name == kind.TensorServerContainer {
			return c.Name
		}
	}
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Name
}

// startFailure reports whether a container waits because it cannot be started.
// The reasons are those of the kubelet (pkg/kubelet/kuberuntime,
// pkg/kubelet/container).
func startFailure(waiting string) bool {
	switch waiting {
	case "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError", "PostStartHookError":
		return true
	}
	return false
}

// isBeingCreated reports whether a container waits only because its pod is
// being set up.
func isBeingCreated(w *corev1.ContainerStateWaiting) bool {
	return w.Reason == "ContainerCreating" || w.Reason == "PodInitializing"
}

// lastEnd returns the last termination of the container, and whether the
// container was restarted since (its log is then the previous one).
func lastEnd(cs corev1.ContainerStatus) (end *corev1.ContainerStateTerminated, previous bool) {
	if cs.State.Terminated != nil {
		return cs.State.Terminated, false
	}
	return cs.LastTerminationState.Terminated, true
}

func (s *diagnosis) crashCause(p *corev1.Pod, cs corev1.ContainerStatus, end *corev1.ContainerStateTerminated) *Cause {
	summary := fmt.Sprintf("Container %s crashes repeatedly (%s).", cs.Name, Number(int(cs.RestartCount), "restart"))
	if end != nil {
		summary = fmt.Sprintf("Container %s crashes repeatedly: %s, %s.%s",
			cs.Name, exit(end), Number(int(cs.RestartCount), "restart"), terminationMessage(end))
	}
	if e := s.containerEvents(p, cs.Name).latestWhere(killingProbe); e != nil {
		summary += " Previous event: " + clip(e.Message) + "."
	}
	c := s.newPodCause(p, ReasonCrashLoop, "container "+cs.Name, summary, exitHint(end))
	return c.withLogs(p, cs.Name, cs.State.Terminated == nil)
}

func (s *diagnosis) exitCause(p *corev1.Pod, cs corev1.ContainerStatus, end *corev1.ContainerStateTerminated) *Cause {
	c := s.newPodCause(p, ReasonContainerExited, "container "+cs.Name,
		fmt.Sprintf("Container %s ended: %s.%s The kubelet restarts it.", cs.Name, exit(end), terminationMessage(end)),
		exitHint(end))
	return c.withLogs(p, cs.Name, cs.State.Terminated == nil)
}

func (s *diagnosis) oomCause(p *corev1.Pod, cs corev1.ContainerStatus, previous bool) *Cause {
	summary := fmt.Sprintf("Container %s was killed because it ran out of memory", cs.Name)
	var hint Advice
	resources := container(p, cs.Name).Resources
	limit, limited := resources.Limits[corev1.ResourceMemory]
	request, requested := resources.Requests[corev1.ResourceMemory]
	switch {
	case limited:
		summary += fmt.Sprintf(": the memory limit is %s.", amount(corev1.ResourceMemory, limit))
		hint = "Raise " + FieldMemoryLimit + ", or the default limit in the LimitRange of the namespace."
	case requested:
		summary += fmt.Sprintf(" on its node: it has no memory limit and requests %s.",
			amount(corev1.ResourceMemory, request))
		hint = "Increase " + FieldMemory +
			" to the actual usage of the container, so that it is scheduled on a node with " +
			"enough free memory."
	default:
		summary += " on its node: it has neither a memory limit nor a request."
		hint = "Set " + FieldMemory + " to the actual usage of the container, so that it is scheduled on a node with " +
			"enough free memory."
	}
	hint += " Files in /dev/shm also count, up to " + FieldSharedMemory + "."
	c := s.newPodCause(p, ReasonOutOfMemory, "container "+cs.Name, summary, hint)
	return c.withLogs(p, cs.Name, previous)
}

// unfinishedNode matches errors of a runtime that disappear when its node is
// set up: the runtime is slow, or the GPU driver is still being installed
// (messages of containerd, of the kubelet's pkg/kubelet/cm and of
// nvidia-container-cli).
var unfinishedNode = regexp.MustCompile(`(?i)deadline exceeded|is reserved for|nvidia-container-cli|\bnvml\b|no ` +
	`runtime for|` +
	`connection refused|unavailable|device plugin`)

func (s *diagnosis) startCause(p *corev1.Pod, name string, w corev1.ContainerStateWaiting) *Cause {
	if unfinishedNode.MatchString(w.Message) {
		return s.newPodCause(p, ReasonContainerStartFailed, "container "+name,
			andThen(fmt.Sprintf("Container %s cannot be started yet (%s): %s", name, w.Reason, clip(w.Message)),
				"A new node may still be setting up its container runtime or its GPU driver."),
			"Check the container runtime and the GPU driver of the node if this persists.")
	}
	return s.newPodCause(p, ReasonContainerStartFailed, "container "+name,
		fmt.Sprintf("Container %s cannot be started (%s): %s", name, w.Reason, clip(w.Message)),
		"Check that the image contains the command, and check the working directory and the mounts of the "+
			"container.").terminal(pullGrace)
}

// probeCause reports the failing probe of a running container. The container
// may only need longer to start.
func (s *diagnosis) probeCause(p *corev1.Pod, cs corev1.ContainerStatus) *Cause {
	e := s.containerEvents(p, cs.Name).latest("Unhealthy")
	if e == nil || LastSeen(e).Before(cs.State.Running.StartedAt.Time) {
		return nil
	}
	c := s.newPodCause(p, ReasonProbeFailing, "container "+cs.Name,
		fmt.Sprintf("Container %s is running, but is not healthy: %s", cs.Name, clip(e.Message)),
		"Read the log of the container. If the server needs longer to start than "+FieldStartupTime+
			" allows, increase it. This restarts the pods. To only wait longer, increase "+FieldTimeLimit+".")
	return c.withLogs(p, cs.Name, false)
}

// withLogs sets the log and the command of a cause to those of a container.
func (c *Cause) withLogs(p *corev1.Pod, name string, previous bool) *Cause {
	c.Logs = &LogRef{
		Namespace: p.Namespace, Pod: p.Name, Container: name, Previous: previous,
		Restarts: StatusOf(p, name).RestartCount,
	}
	c.Command = Kubectl(p.Namespace, "logs", p.Name, "-c", name)
	if previous {
		c.Command += " --previous"
	}
	return c
}

// containerEvents returns the events of the pod about one container.
func (s *diagnosis) containerEvents(p *corev1.Pod, name string) eventLog {
	return filter(s.events.about("Pod", p.Name), func(e *corev1.Event) bool {
		return strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+name+"}")
	})
}

// killingProbe reports whether an event belongs to a probe that makes the
// kubelet kill the container.
func killingProbe(e *corev1.Event) bool {
	return e.Reason == "Unhealthy" &&
		(strings.HasPrefix(e.Message, "Liveness probe") || strings.HasPrefix(e.Message, "Startup probe"))
}

// exit formats a termination: "exit code 1 (Error)".
func exit(t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("exit code %d", t.ExitCode)
	if t.Reason != "" {
		text += fmt.Sprintf(" (%s)", t.Reason)
	}
	return text
}

// terminationMessage formats a termination message.
func terminationMessage(t *corev1.ContainerStateTerminated) string {
	if t.Message == "" {
		return ""
	}
	return fmt.Sprintf(" Its last message: %s", clipEnd(t.Message))
}

// exitHint returns the next step by exit code. Codes over 128 are 128 plus a
// signal.
func exitHint(t *corev1.ContainerStateTerminated) Advice {
	if t == nil {
		return "Read the log of the container."
	}
	switch t.ExitCode {
	case 0:
		return "Check the command: it exited without an error, but should keep running."
	case 126:
		return "Check permissions and architecture: the command exists, but cannot be executed."
	case 127:
		return "Check the image, its PATH and the startup script: a command was not found."
	case 128:
		return "Check that the image contains the command: the runtime could not start it."
	case 137:
		return "Read the log of the container. Check its probes, its node and shared memory: the container was " +
			"killed (SIGKILL)."
	case 139:
		return "Check that the libraries are compatible with the GPU driver: the container crashed with a " +
			"segmentation fault."
	case 143:
		return "Read the log of the container. Check its probes: the container was terminated (SIGTERM), usually by " +
			"a failing probe."
	}
	return "Read the log of the container."
}

// StatusOf returns the status of a container of the pod, or the zero value.
func StatusOf(p *corev1.Pod, name string) corev1.ContainerStatus {
	return first(containerStatuses(p), func(cs corev1.ContainerStatus) bool { return cs.Name == name })
}
