package ready

import (
	"cmp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// condition contains the common fields of the conditions of all kinds.
type condition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`

	ObservedGeneration int64 `json:"observedGeneration"`
}

type conditions []condition

// conditionsOf returns the conditions of an object. A field of another type
// than usual stays zero.
func conditionsOf(u *unstructured.Unstructured) conditions {
	if u == nil {
		return nil
	}
	list := kind.ListAt(u.Object, "status", "conditions")
	out := make(conditions, len(list))
	for i, fields := range list {
		_ = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &out[i])
	}
	return out
}

// of returns the condition of a type, or a zero condition.
func (c conditions) of(name string) condition {
	return first(c, func(c condition) bool { return c.Type == name })
}

// firstTrue returns the first condition of one of the types that is true, or a
// zero condition.
func (c conditions) firstTrue(names ...string) condition {
	return first(c, func(c condition) bool { return slices.Contains(names, c.Type) && c.isTrue() })
}

func (c condition) isTrue() bool  { return c.Status == metav1.ConditionTrue }
func (c condition) isFalse() bool { return c.Status == metav1.ConditionFalse }

// suffix formats the condition as a suffix of a sentence: " (Reason): message",
// or the part that is set.
func (c condition) suffix() string {
	var text string
	if c.Reason != "" {
		text = " (" + c.Reason + ")"
	}
	if c.Message != "" {
		text += ": " + strings.TrimSuffix(clip(c.Message), ".")
	}
	return text
}

// job assesses a batch Job. It is ready if all pods that it may currently run
// are ready, or if it is complete. A Job has no observed generation.
func job(s Snapshot, j *batchv1.Job) Verdict {
	if v, ended := s.ended(); ended {
		return v
	}
	wanted := orOne(j.Spec.Parallelism)
	if j.Spec.Completions != nil {
		wanted = min(wanted, int(*j.Spec.Completions-j.Status.Succeeded))
	}
	active, running := int(j.Status.Active), int(ptr.Deref(j.Status.Ready, 0))
	switch {
	case IsSuspended(s.Workload):
		return s.suspended(active)
	case orOne(j.Spec.Parallelism) == 0:
		return toZero(active)
	case running >= wanted:
		return isReady("%d of %d pods ready", running, max(wanted, running))
	case j.Spec.Completions == nil && j.Status.Succeeded > 0:
		return isReady("%s succeeded, the others are terminating", advice.Number(j.Status.Succeeded, "pod"))
	}
	return s.diagnose(run{desired: wanted, alike: true, pods: s.controlledPods(), remark: s.counted(running, wanted)})
}

// ended returns the verdict on a workload whose conditions report that it has run
// to its end, or that nothing can change how it ends, and whether they do.
func (s Snapshot) ended() (Verdict, bool) {
	reported := conditionsOf(s.Workload)
	switch failed := reported.firstTrue("Failed", "FailureTarget"); {
	case reported.firstTrue("Complete", "Completed", "Succeeded").isTrue():
		return completed("complete"), true
	case reported.firstTrue("SuccessCriteriaMet").isTrue(): // Complete follows when the last pods have ended (KEP-3998)
		return Verdict{Ready: true, Succeeds: true,
			Message: "the criteria of success are met, the last pods are terminating"}, true
	case failed.isTrue():
		return s.failedRun(failed), true
	}
	return Verdict{}, false
}

// cronJob is ready once it exists, unless it is suspended. Its Jobs run on
// schedule.
func cronJob(s Snapshot) Verdict {
	if IsSuspended(s.Workload) {
		return noPodsRequested("suspended, no Jobs requested")
	}
	schedule, _, _ := unstructured.NestedString(s.Workload.Object, "spec", "schedule")
	return isReady("scheduled: %s", clip(schedule))
}

// suspended returns the verdict on a workload with spec.suspend, which its
// queue has set if it has one, and otherwise a user.
func (s Snapshot) suspended(left int) Verdict {
	switch {
	case queueOf(s.Workload) != "":
		return s.heldByQueue()
	case left > 0:
		return notReady("suspending: %s left", advice.Number(left, "pod"))
	}
	return noPodsRequested("suspended, no pods requested")
}

// failedRun returns the verdict on a workload that reports that it has failed,
// with the last failed pod, if it still exists.
func (s Snapshot) failedRun(failed condition) Verdict {
	d := newDiagnosis(s, s.Pods)
	hint := advice.Of("Correct the problem.")
	if failed.Reason == batchv1.JobReasonDeadlineExceeded {
		hint = advice.Of("Increase %s, or check why the pods take longer.", advice.Deadline)
	}
	c := d.cause(ReasonFailed, object(s.Workload)+" has failed"+failed.suffix()+".", "").terminal(shortGrace)
	if pod := lastFailed(s.Pods); pod != nil {
		of := d.of(pod)
		shown := of.failed()
		if status := failedContainer(pod); status != nil && status.State.Terminated.Reason == OOMKilled {
			shown = of.container(*status).endCause()
		}
		c.Summary += " " + shown.Summary
		hint, c.Logs, c.Command = shown.Hint, shown.Logs, shown.Command
	}
	c.Hint = advice.Of("%s Its controller may start another one.", hint) // such as a CronJob
	if metav1.GetControllerOf(s.Workload) == nil {
		c.Hint = advice.Of("%s %s: it does not run again.", hint, advice.ReplaceObject)
	}
	return Verdict{Message: cmp.Or(clip(failed.Message), failed.Reason, "failed"), Cause: c}
}

// lastFailed returns the youngest failed pod, or nil. A pod that succeeded can
// have sidecars that failed, and the controller deletes the pods that still ran.
func lastFailed(pods []*corev1.Pod) *corev1.Pod {
	failed := filter(living(pods), func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed || failedContainer(p) != nil
	})
	if len(failed) == 0 {
		return nil
	}
	return failed[len(failed)-1]
}

// failedContainer returns the container that exited with an error, or nil: the
// main container before others, and sidecars last. The kubelet terminates
// sidecars when the other containers have ended, so their exit code says nothing.
func failedContainer(p *corev1.Pod) *corev1.ContainerStatus {
	ended := filter(containerStatuses(p), func(cs corev1.ContainerStatus) bool { return failed(cs.State.Terminated) })
	if len(ended) == 0 {
		return nil
	}
	status := slices.MinFunc(ended, func(a, b corev1.ContainerStatus) int {
		return cmp.Compare(failureOrder(p, a.Name), failureOrder(p, b.Name))
	})
	return &status
}

// failureOrder orders the failed containers of a pod, those that explain its
// failure first.
func failureOrder(p *corev1.Pod, name string) int {
	switch {
	case name == MainContainer(p):
		return 0
	case ptr.Deref(container(p, name).RestartPolicy, "") == corev1.ContainerRestartPolicyAlways:
		return 2
	}
	return 1
}
