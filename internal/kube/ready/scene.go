package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// scene is a snapshot made ready for diagnosis: only the pods that count, and
// events in order.
type scene struct {
	Snapshot
	namespace string
	desired   int           // pods wanted; 0 is unknown
	together  int           // pods of one template that must run side by side; 0 is unknown
	pods      []*corev1.Pod // of the current template and not being deleted, oldest first
	events    eventLog
}

func newScene(s Snapshot, current []*corev1.Pod) *scene {
	return &scene{
		Snapshot:  s,
		namespace: s.Workload.GetNamespace(),
		pods:      living(current),
		events:    newEventLog(s.Events),
	}
}

// living leaves out pods that are being deleted or that ended well, and orders
// the rest by age, so that the same pod is chosen in every snapshot.
func living(pods []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range pods {
		if p != nil && p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return out
}

// verdict is the one of a workload that is not ready. fallback is the progress
// to tell when there are no pods to count.
func (s *scene) verdict(causes []*Cause, fallback string) Verdict {
	phase, message := s.progress(fallback)
	cause := worst(causes)
	if cause == nil {
		return Verdict{Phase: phase, Message: message}
	}
	return Verdict{Phase: phaseOf(cause.Reason), Message: message, Cause: cause}
}

// worst picks the most telling cause: one that ends the wait before one that
// may heal, then the one that ends it sooner, then the one furthest from ready.
func worst(causes []*Cause) *Cause {
	if len(causes) == 0 {
		return nil
	}
	return slices.MinFunc(causes, func(a, b *Cause) int {
		return cmp.Or(
			cmp.Compare(healable(a), healable(b)),
			cmp.Compare(a.Grace, b.Grace),
			cmp.Compare(severity(a), severity(b)),
		)
	})
}

func healable(c *Cause) int {
	if c.Terminal {
		return 0
	}
	return 1
}

// severity orders causes that are equal otherwise: the phases that are furthest
// from being ready come first.
func severity(c *Cause) int {
	return slices.Index([]Phase{Refused, Crashing, Pulling, Unschedulable, Starting, Progressing, Queued}, phaseOf(c.Reason))
}

func phaseOf(reason string) Phase {
	switch reason {
	case ReasonInvalidImageName, ReasonImagePullFailed:
		return Pulling
	case ReasonCrashLoop, ReasonContainerExited, ReasonOutOfMemory, ReasonFailed:
		return Crashing
	case ReasonQuotaExceeded, ReasonServiceAccountMissing, ReasonPodsRefused:
		return Refused
	case ReasonUnschedulable, ReasonWaitingForCapacity, ReasonVolumeMissing, ReasonVolumeNotBound:
		return Unschedulable
	case ReasonQueued, ReasonQueueMissing, ReasonQueueInactive, ReasonQueueShort:
		return Queued
	case ReasonPaused, ReasonPodFailed, ReasonPodsMissing, ReasonPodsStarting:
		return Progressing
	}
	return Starting
}

// podCauses asks every pod that is not ready.
func (s *scene) podCauses() []*Cause {
	var causes []*Cause
	for _, p := range s.pods {
		if !podReady(p) {
			causes = append(causes, s.podCause(p)...)
		}
	}
	return causes
}

// podCause lists what blocks one pod, by how far it has come.
func (s *scene) podCause(p *corev1.Pod) []*Cause {
	switch {
	case p.Status.Phase == corev1.PodFailed:
		return []*Cause{s.failedPod(p)}
	case p.Spec.NodeName == "" && isQueued(p):
		return []*Cause{s.queued(p)}
	case p.Spec.NodeName == "":
		if causes := s.claimCauses(p); len(causes) > 0 {
			return causes
		}
		return s.schedulingCauses(p)
	}
	if causes := s.containerCauses(p); len(causes) > 0 {
		return causes
	}
	return s.nodeCauses(p)
}

// newPodCause fills in what all causes that a pod shows have in common.
func (s *scene) newPodCause(p *corev1.Pod, reason, subject, summary, hint string) *Cause {
	return &Cause{
		Reason:  reason,
		Object:  fmt.Sprintf("Pod %s/%s", p.Namespace, p.Name),
		Subject: subject,
		Summary: summary,
		Hint:    hint,
		Command: kubectl(p.Namespace, "describe pod "+p.Name),
		Events:  s.events.about("Pod", p.Name).render(),
	}
}

// terminal marks a cause as one that waiting does not heal.
func (c *Cause) terminal(grace time.Duration) *Cause {
	c.Terminal, c.Grace = true, grace
	return c
}

func (s *scene) workloadCause(reason, summary string) *Cause {
	kind, name := s.Workload.GetKind(), s.Workload.GetName()
	c := &Cause{
		Reason:  reason,
		Object:  object(s.Workload),
		Summary: summary,
		Hint:    "Check the workload's conditions and events.",
		Command: kubectl(s.namespace, "describe "+resourceArg(s.Workload)),
		Events:  s.events.about(kind, name).render(),
	}
	return c.terminal(shortGrace)
}

// How long a cause must last before it ends a wait. The same run may still
// create a missing object; a volume's provisioner retries within seconds; and a
// kubelet retries a pull after about 0, 10 and 30 s.
const (
	shortGrace  = 10 * time.Second
	volumeGrace = 30 * time.Second
	pullGrace   = 40 * time.Second
	// scaleGrace is for an autoscaler to speak up: the cluster autoscaler looks for
	// pods without a node every 10 s, and not all of them show what else they are.
	scaleGrace = 45 * time.Second
	// recoverGrace is for what may pass on a node that is new, or while a registry
	// is updated: by then a kubelet has tried five times or more.
	recoverGrace = 5 * time.Minute
)
