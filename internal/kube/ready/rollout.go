package ready

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// isReady, completed, noPodsRequested, notReady and notObserved return verdicts that do not depend
// on pods.
func isReady(message string, args ...any) Verdict {
	return Verdict{Ready: true, Message: fmt.Sprintf(message, args...)}
}

func completed(message string) Verdict { return Verdict{Ready: true, Complete: true, Message: message} }

func noPodsRequested(message string) Verdict { return Verdict{Suspended: true, Message: message} }

func notReady(message string, args ...any) Verdict {
	return Verdict{Message: fmt.Sprintf(message, args...)}
}

func (s Snapshot) notObserved() string {
	return fmt.Sprintf("the controller of %s has not observed the last change yet", object(s.Workload))
}

// observed reports whether a controller has processed the current generation of
// the workload. There is nothing to process in one that was created without pods.
func (s Snapshot) observed(processed int64, desired int) bool {
	generation := s.Workload.GetGeneration()
	return processed >= generation || desired == 0 && generation == 1
}

// counted returns the progress by the counts of the workload, if pods are
// unknown.
func (s Snapshot) counted(ready, desired int) string {
	if s.Pods != nil {
		return fmt.Sprintf("waiting for the status of the %s", s.Workload.GetKind())
	}
	return fmt.Sprintf("%d of %d pods ready; without permission to list and watch pods, the reason is unknown", ready,
		desired)
}

// toZero returns the verdict on a workload that requests no pods.
func toZero(left int) Verdict {
	if left > 0 {
		return notReady("scaling to zero: %s left", advice.Number(left, "pod"))
	}
	return noPodsRequested("scaled to zero, no pods requested")
}

// run describes the requested pods of a workload, as input of a verdict.
type run struct {
	desired int           // requested pods; 0 means unknown
	alike   bool          // all pods have one template and run at the same time
	pods    []*corev1.Pod // the relevant pods
	remark  string        // progress if there are no pods to count
}

// diagnose returns the verdict on a workload that is not ready. own returns the
// causes in the status of the workload. Queue, rejected pods and pods are
// checked for all kinds.
func (s Snapshot) diagnose(r run, own ...func(*diagnosis) *Cause) Verdict {
	return s.diagnoseBy(r, append(own, (*diagnosis).queueCause, (*diagnosis).creationRefused,
		(*diagnosis).unprocessed)...)
}

// diagnoseBy is like diagnose, but checks only the pods in addition to own.
func (s Snapshot) diagnoseBy(r run, own ...func(*diagnosis) *Cause) Verdict {
	d := newDiagnosis(s, r.pods)
	d.desired = r.desired
	if r.alike {
		d.together = r.desired
	}
	left := filter(d.pods, func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodFailed })
	if len(left) >= d.desired { // the failed pods have been replaced
		d.pods = left
	}
	if s.Pods == nil {
		d.desired = 0 // the status counts them
	}
	causes := causesOf(own, func(cause func(*diagnosis) *Cause) *Cause { return cause(d) })
	return Verdict{Message: d.progress(r.remark), Cause: worst(append(causes, d.podCauses()...))}
}

// statefulSet follows the rollout status of kubectl
// (k8s.io/kubectl/pkg/polymorphichelpers), and also supports OnDelete.
func statefulSet(s Snapshot, set *appsv1.StatefulSet) Verdict {
	desired, st := orOne(set.Spec.Replicas), set.Status
	if !s.observed(st.ObservedGeneration, desired) {
		return s.diagnose(run{remark: s.notObserved()})
	}
	if desired == 0 {
		return toZero(int(st.Replicas))
	}
	updated, first := desired, 0
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		updated, first = 0, desired
	} else if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		first = int(*rolling.Partition)
		updated = desired - first
	}
	available := int(st.ReadyReplicas)
	if set.Spec.MinReadySeconds > 0 {
		available = int(st.AvailableReplicas)
	}
	if int(st.Replicas) == desired && available >= desired && int(st.UpdatedReplicas) >= updated {
		return isReady("%d of %d pods ready", available, desired)
	}
	replaced := updated > 0 && set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
	return s.diagnose(run{desired: desired, alike: true, pods: s.updatedPods(st.UpdateRevision, first, replaced),
		remark: s.counted(available, desired)})
}

// updatedPods returns the pods of a StatefulSet that have its template, or that
// are not updated yet (with a lower ordinal than first). If no pod has the
// template, the older pods block the update and are returned, unless they are
// replaced also before they are ready.
func (s Snapshot) updatedPods(revision string, first int, replaced bool) []*corev1.Pod {
	current := func(p *corev1.Pod) bool { return p.Labels[appsv1.StatefulSetRevisionLabel] == revision }
	if !replaced && !slices.ContainsFunc(s.Pods, current) {
		return s.Pods
	}
	return filter(s.Pods, func(p *corev1.Pod) bool {
		ordinal, err := strconv.Atoi(p.Name[strings.LastIndexByte(p.Name, '-')+1:])
		return current(p) || err == nil && ordinal < first
	})
}

// daemonSet follows the rollout status of kubectl, and also supports OnDelete.
func daemonSet(s Snapshot, set *appsv1.DaemonSet) Verdict {
	st, desired := set.Status, int(set.Status.DesiredNumberScheduled)
	switch {
	case st.ObservedGeneration < set.Generation:
		return s.diagnose(run{remark: s.notObserved()})
	case desired == 0 && st.CurrentNumberScheduled == 0 && st.NumberMisscheduled == 0:
		if _, off := set.Spec.Template.Spec.NodeSelector[kind.SuspendedNodeLabel]; off {
			return noPodsRequested("suspended, no pods requested")
		}
		return isReady("no node is selected, no pods requested")
	}
	updated := int(st.UpdatedNumberScheduled) >= desired ||
		set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType
	if updated && int(st.NumberAvailable) >= desired && desired > 0 {
		return isReady("%d of %d pods ready", st.NumberAvailable, desired)
	}
	generation := set.Annotations[appsv1.DeprecatedTemplateGeneration]
	pods := filter(s.Pods, func(p *corev1.Pod) bool {
		label := p.Labels["pod-template-generation"] // the template revision of the DaemonSet controller
		return generation == "" || label == "" || label == generation
	})
	return s.diagnose(run{desired: desired, pods: pods, remark: s.counted(int(st.NumberAvailable), desired)})
}

func replicaSet(s Snapshot, set *appsv1.ReplicaSet) Verdict {
	desired, st := orOne(set.Spec.Replicas), set.Status
	switch {
	case !s.observed(st.ObservedGeneration, desired):
		return s.diagnose(run{remark: s.notObserved()})
	case desired == 0:
		return toZero(int(st.Replicas))
	case int(st.Replicas) == desired && int(st.AvailableReplicas) >= desired:
		return isReady("%d of %d pods ready", st.AvailableReplicas, desired)
	}
	return s.diagnose(run{desired: desired, alike: true, pods: s.controlledPods(),
		remark: s.counted(int(st.ReadyReplicas), desired)}, func(d *diagnosis) *Cause {
		if message := replicaFailure(set); message != "" {
			return d.refusedBy(set.Kind, set.Name, message, false)
		}
		return nil
	})
}

// replicaFailure returns the message of the API server about the pods that a
// ReplicaSet could not create, or "".
func replicaFailure(set *appsv1.ReplicaSet) string {
	return first(set.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue && c.Reason == failedCreate
	}).Message
}

// controlledPods returns the pods that the workload controls directly, or all
// pods if no pod has a controller reference.
func (s Snapshot) controlledPods() []*corev1.Pod {
	controlled := filter(s.Pods, func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOf(p)
		return owner != nil && owner.Kind == s.Workload.GetKind() && owner.Name == s.Workload.GetName()
	})
	if len(controlled) == 0 {
		return s.Pods
	}
	return controlled
}

// singlePod assesses a Pod without a controller. It is not restarted after a
// failure.
func singlePod(s Snapshot, p *corev1.Pod) Verdict {
	s.Pods = []*corev1.Pod{p}
	switch {
	case p.Status.Phase == corev1.PodSucceeded:
		return completed("the pod has completed")
	case PodReady(p):
		return isReady("1 of 1 pods ready")
	case p.Status.Phase == corev1.PodFailed:
		return s.diagnose(run{desired: 1, pods: s.Pods}, func(d *diagnosis) *Cause {
			c := d.of(p).failed().terminal(0)
			c.Reason = ReasonFailed
			c.Hint = advice.Of("Replace the Pod: a failed Pod without a controller does not run again. %s", c.Hint)
			return c
		})
	}
	return s.diagnose(run{desired: 1, pods: s.Pods, remark: "not ready yet"})
}

func orOne(n *int32) int { return int(ptr.Deref(n, 1)) }
