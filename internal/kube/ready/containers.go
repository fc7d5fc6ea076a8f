package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// crashLoopBackOff is the waiting reason of a container that exited, and that
// the kubelet restarts after a delay.
const crashLoopBackOff = "CrashLoopBackOff"

// containerDiagnosis is the diagnosis of a container of a pod.
type containerDiagnosis struct {
	podDiagnosis
	status corev1.ContainerStatus
	spec   corev1.Container                 // zero if the pod has no such container
	end    *corev1.ContainerStateTerminated // last termination, or nil
	list   advice.Field                     // the list that contains it if it has an image of its own, or ""
}

func (d podDiagnosis) container(status corev1.ContainerStatus) containerDiagnosis {
	return containerDiagnosis{
		podDiagnosis: d, status: status, spec: container(d.pod, status.Name),
		end: cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated),
	}
}

// containerCause returns the cause of a container that does not run correctly.
func (d podDiagnosis) containerCause(status corev1.ContainerStatus) *Cause {
	of, isIt := d.container(status), func(c corev1.Container) bool { return c.Name == status.Name }
	switch main := container(d.pod, MainContainer(d.pod)); {
	case of.spec.Image == main.Image: // an operator may have added it, as KubeRay does
	case of.spec.RestartPolicy == nil && slices.ContainsFunc(d.pod.Spec.InitContainers, isIt):
		of.list = advice.InitContainers
	default:
		of.list = advice.Sidecars
	}
	return of.stateCause()
}

// field returns a field of the container for a next step.
func (d containerDiagnosis) field(f advice.Field) advice.Text {
	if d.list == "" {
		return advice.Of("%s", f)
	}
	return advice.Of("%s of container %s in %s", string(f), d.status.Name, d.list)
}

// stateCause returns the cause by the state of the container.
func (d containerDiagnosis) stateCause() *Cause {
	status, state := d.status, d.status.State
	switch {
	case status.Ready, state.Terminated != nil && state.Terminated.ExitCode == 0:
		return nil
	case state.Waiting != nil && imageUnavailable(state.Waiting.Reason):
		return d.imageCause(state.Waiting)
	case state.Waiting != nil && state.Waiting.Reason == "CreateContainerConfigError":
		return d.configCause(state.Waiting.Message)
	case state.Waiting != nil && startFailure(state.Waiting.Reason) && !d.outOfMemory():
		return d.startCause(state.Waiting)
	case state.Waiting != nil && state.Waiting.Reason != crashLoopBackOff && !d.outOfMemory(),
		state == corev1.ContainerState{}:
		return nil
	case state.Running != nil && !d.outOfMemory() && status.RestartCount < crashLoopRestarts:
		return d.probeCause()
	}
	c := d.endCause()
	// A restarted container may work now: not permanent until it fails again.
	if state.Running == nil && d.keepsFailing() {
		c.terminal(0)
	}
	return c
}

func (d containerDiagnosis) outOfMemory() bool { return d.end != nil && d.end.Reason == OOMKilled }

// fault sets the common fields of the causes of a container.
func (d containerDiagnosis) fault(reason, summary, next string, values ...any) *Cause {
	return d.cause(reason, "container "+d.status.Name, summary, next, values...)
}

// OOMKilled is the reason of a container that was killed because memory ran
// out.
const OOMKilled = "OOMKilled"

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
func (d containerDiagnosis) keepsFailing() bool {
	limit := int32(crashLoopRestarts)
	_, limited := d.spec.Resources.Limits[corev1.ResourceMemory]
	switch {
	case d.retriesAreCounted():
		return false
	case d.status.Name != MainContainer(d.pod):
		limit = helperRestarts
	case d.outOfMemory() && limited:
		limit = oomRestarts // without a limit, its node ran out of memory, which may not recur
	}
	return d.status.RestartCount >= limit
}

// retriesAreCounted reports whether the controller of a pod fails the workload
// when its pods have failed too often. A Job does so by its backoffLimit, as
// does a job of the training operator that sets one.
func (d podDiagnosis) retriesAreCounted() bool {
	if owner := metav1.GetControllerOf(d.pod); owner != nil && owner.Kind == "Job" {
		return true
	}
	_, limited, _ := unstructured.NestedFieldNoCopy(d.workload.Workload.Object, "spec", "runPolicy", "backoffLimit")
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
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return cmp.Or(first(p.Spec.Containers, func(c corev1.Container) bool {
		return c.Name == kind.ContainerName || c.Name == kind.TensorServerContainer
	}).Name, p.Spec.Containers[0].Name)
}

// startFailure reports whether a container waits because it cannot be started.
// The reasons are those of the kubelet (pkg/kubelet/kuberuntime,
// pkg/kubelet/container).
func startFailure(waiting string) bool {
	return slices.Contains([]string{"CreateContainerError", "RunContainerError", "PreCreateHookError",
		"PreStartHookError", "PostStartHookError"}, waiting)
}

// isBeingCreated reports whether a container waits only because its pod is
// being set up.
func isBeingCreated(w *corev1.ContainerStateWaiting) bool {
	return w.Reason == "ContainerCreating" || w.Reason == "PodInitializing"
}

// endCause explains a container that ended. If it was restarted since, the log
// of its end is the previous one.
func (d containerDiagnosis) endCause() *Cause {
	var c *Cause
	switch {
	case d.outOfMemory():
		c = d.oomCause()
	case d.status.RestartCount >= crashLoopRestarts || d.end == nil:
		c = d.crashCause()
	default:
		c = d.fault(ReasonContainerExited, fmt.Sprintf("Container %s ended: %s.%s The kubelet restarts it.",
			d.status.Name, exit(d.end), terminationMessage(d.end)), "%s", exitHint(d.end))
	}
	return d.withLogs(c, d.status.State.Terminated == nil)
}

func (d containerDiagnosis) crashCause() *Cause {
	name, restarts := d.status.Name, advice.Number(d.status.RestartCount, "restart")
	summary := fmt.Sprintf("Container %s crashes repeatedly (%s).", name, restarts)
	if d.end != nil {
		summary = fmt.Sprintf("Container %s crashes repeatedly: %s, %s.%s", name, exit(d.end), restarts,
			terminationMessage(d.end))
	}
	hint := exitHint(d.end)
	if e := d.containerEvents().latestWhere(killingProbe); e != nil {
		summary += " Previous event: " + clip(e.Message) + "."
		if d.spec.StartupProbe == nil || strings.HasPrefix(e.Message, "Startup probe") {
			hint = probeHint(e.Message, d.spec.StartupProbe != nil)
		}
	}
	return d.fault(ReasonCrashLoop, summary, "%s", hint)
}

func (d containerDiagnosis) oomCause() *Cause {
	summary := fmt.Sprintf("Container %s was killed because it ran out of memory", d.status.Name)
	const use = "%s %s to the actual usage of the container, so that it is scheduled on a node with enough free memory."
	var hint advice.Text
	limit, limited := d.spec.Resources.Limits[corev1.ResourceMemory]
	request, requested := d.spec.Resources.Requests[corev1.ResourceMemory]
	switch {
	case limited:
		summary += fmt.Sprintf(": the memory limit is %s.", amount(corev1.ResourceMemory, limit))
		hint = advice.Of("Raise %s, or the default limit in the LimitRange of the namespace.",
			d.field(advice.MemoryLimit))
	case requested:
		summary += fmt.Sprintf(" on its node: it has no memory limit and requests %s.",
			amount(corev1.ResourceMemory, request))
		hint = advice.Of(use, "Increase", d.field(advice.Memory))
	default:
		summary += " on its node: it has neither a memory limit nor a request."
		hint = advice.Of(use, "Set", d.field(advice.Memory))
	}
	return d.fault(ReasonOutOfMemory, summary, "%s Files in /dev/shm also count, up to %s.", hint, advice.SharedMemory)
}

// unfinishedNode matches errors of a runtime that disappear when its node is
// set up: the runtime is slow, or the GPU driver is still being installed
// (messages of containerd, of the kubelet's pkg/kubelet/cm and of
// nvidia-container-cli).
var unfinishedNode = regexp.MustCompile(`(?i)deadline exceeded|is reserved for|nvidia-container-cli|\bnvml\b|` +
	`no runtime for|connection refused|unavailable|device plugin`)

func (d containerDiagnosis) startCause(w *corev1.ContainerStateWaiting) *Cause {
	name := d.status.Name
	if unfinishedNode.MatchString(w.Message) {
		return d.fault(ReasonContainerStartFailed,
			andThen(fmt.Sprintf("Container %s cannot be started yet (%s): %s", name, w.Reason, clip(w.Message)),
				"A new node may still be setting up its container runtime or its GPU driver."),
			"Check the container runtime and the GPU driver of the node if this persists.")
	}
	c := d.fault(ReasonContainerStartFailed,
		fmt.Sprintf("Container %s cannot be started (%s): %s", name, w.Reason, clip(w.Message)),
		"Check that the image contains the command, and check the working directory and the mounts of the "+
			"container.").terminal(pullGrace)
	if w.Reason == "PostStartHookError" { // the container has run, and the message quotes the output of its hook
		return d.withLogs(c, false)
	}
	return c
}

// probeCause reports the failing probe of a running container. The container
// may only need longer to start.
func (d containerDiagnosis) probeCause() *Cause {
	e := d.containerEvents().latest("Unhealthy")
	if e == nil || LastSeen(e).Before(d.status.State.Running.StartedAt.Time) {
		return nil
	}
	c := d.fault(ReasonProbeFailing,
		fmt.Sprintf("Container %s is running, but is not healthy: %s", d.status.Name, clip(e.Message)),
		"%s To only wait longer, increase %s.", probeHint(e.Message, d.spec.StartupProbe != nil), advice.TimeLimit)
	return d.withLogs(c, false)
}

// probeHint returns the next step for a failing probe, by the message of the kubelet (pkg/probe of Kubernetes). The
// port of Kubetorch's server cannot be wrong.
func probeHint(message string, hasStartupProbe bool) advice.Text {
	hint := advice.Of("Read the log of the container.")
	switch {
	case strings.Contains(message, "statuscode: 404"):
		hint = advice.Of("%s If the server has no such path, correct %s.", hint, advice.ProbePath)
	case mentions(message, "connection refused") && !strings.Contains(message, fmt.Sprintf(":%d", kind.ServerPort)):
		hint = advice.Of("%s If the server listens on another port, correct %s. If it listens only on localhost, let "+
			"it listen on all addresses.", hint, advice.ProbePort)
	}
	switch {
	case strings.HasPrefix(message, "Startup probe"):
		return advice.Of("%s If the server needs longer to start than %s allows, increase it, which restarts the "+
			"pods.", hint, advice.StartupTime)
	case !hasStartupProbe: // the other probes start after it
		return advice.Of("%s If the server needs longer to start, set %s.", hint, advice.StartupTime)
	}
	return hint
}

// withLogs sets the log and the command of a cause to those of the container.
func (d containerDiagnosis) withLogs(c *Cause, previous bool) *Cause {
	c.Logs = &LogRef{
		Namespace: d.pod.Namespace, Pod: d.pod.Name, Container: d.status.Name, Previous: previous,
		Restarts: d.status.RestartCount,
	}
	c.Command = Kubectl(d.pod.Namespace, "logs", d.pod.Name, "-c", d.status.Name)
	if previous {
		c.Command += " --previous"
	}
	return c
}

// containerEvents returns the events of the pod about the container.
func (d containerDiagnosis) containerEvents() eventLog {
	return filter(d.events, func(e *corev1.Event) bool {
		return strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+d.status.Name+"}")
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
func exitHint(t *corev1.ContainerStateTerminated) advice.Text {
	const read = "Read the log of the container."
	if t == nil {
		return advice.Of(read)
	}
	return advice.Of("%s", cmp.Or(map[int32]string{
		0:   "Check the command: it exited without an error, but should keep running.",
		126: "Check permissions and architecture: the command exists, but cannot be executed.",
		127: "Check the image, its PATH and the startup script: a command was not found.",
		128: "Check that the image contains the command: the runtime could not start it.",
		137: read + " Check its probes, its node and shared memory: the container was killed (SIGKILL).",
		139: "Check the libraries, and that they are compatible with the GPU driver if they use it: the container " +
			"crashed with a segmentation fault.",
		143: read + " Check its probes: the container was terminated (SIGTERM), usually by a failing probe.",
	}[t.ExitCode], read))
}

// StatusOf returns the status of a container of the pod, or the zero value.
func StatusOf(p *corev1.Pod, name string) corev1.ContainerStatus {
	return first(containerStatuses(p), func(cs corev1.ContainerStatus) bool { return cs.Name == name })
}
