package ready

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// diagnosis is a snapshot prepared for diagnosis, with only the relevant pods and
// sorted events.
type diagnosis struct {
	Snapshot
	namespace string
	desired   int           // requested pods; 0 means unknown
	together  int           // pods of one template that must run at the same time; 0 means unknown
	pods      []*corev1.Pod // of the current template and not being deleted, oldest first
	events    eventLog
}

// podDiagnosis is the diagnosis of one pod.
type podDiagnosis struct {
	workload *diagnosis
	pod      *corev1.Pod
	events   eventLog // about the pod
}

func (s *diagnosis) of(p *corev1.Pod) podDiagnosis {
	return podDiagnosis{workload: s, pod: p, events: s.events.about("Pod", p.Name)}
}

func newDiagnosis(s Snapshot, current []*corev1.Pod) *diagnosis {
	return &diagnosis{
		Snapshot:  s,
		namespace: s.Workload.GetNamespace(),
		pods:      living(current),
		events:    newEventLog(s.Events),
	}
}

// living excludes pods that are being deleted or that succeeded, and sorts the
// others by age, so that every snapshot selects the same pod.
func living(pods []*corev1.Pod) []*corev1.Pod {
	out := filter(pods, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded
	})
	slices.SortFunc(out, byAge)
	return out
}

func byAge(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// worst selects the most relevant cause: permanent before temporary causes,
// then the shortest grace period, then the cause furthest from ready.
func worst(causes []*Cause) *Cause {
	if len(causes) == 0 {
		return nil
	}
	return slices.MinFunc(causes, func(a, b *Cause) int {
		return cmp.Or(
			cmp.Compare(endsAfter(a), endsAfter(b)),
			cmp.Compare(severity(a), severity(b)),
		)
	})
}

// endsAfter returns how long a cause must be observed until it ends a wait.
func endsAfter(c *Cause) time.Duration {
	if c.Terminal {
		return c.Grace
	}
	return math.MaxInt64
}

// severity orders otherwise equal causes. Those furthest from ready are first.
func severity(c *Cause) int {
	switch c.Reason {
	case ReasonQuotaExceeded, ReasonServiceAccountMissing, ReasonPodsRefused:
		return 0
	case ReasonCrashLoop, ReasonContainerExited, ReasonOutOfMemory, ReasonFailed:
		return 1
	case ReasonInvalidImageName, ReasonImagePullFailed:
		return 2
	case ReasonUnschedulable, ReasonWaitingForCapacity, ReasonVolumeMissing, ReasonVolumeNotBound,
		ReasonVolumeLost, ReasonClaimDeleted:
		return 3
	case ReasonPaused, ReasonPodFailed:
		return 5
	case ReasonQueued, ReasonQueueMissing, ReasonQueueInactive:
		return 6
	}
	return 4 // it starts
}

// podCauses returns the causes of all pods that are not ready.
func (s *diagnosis) podCauses() []*Cause {
	var causes []*Cause
	for _, p := range s.pods {
		if !PodReady(p) {
			causes = append(causes, s.of(p).causes()...)
		}
	}
	return causes
}

// causes returns the causes that block a pod, by its stage.
func (d podDiagnosis) causes() []*Cause {
	var causes []*Cause
	otherwise := d.nodeCause
	switch p := d.pod; {
	case p.Status.Phase == corev1.PodFailed:
		otherwise = d.failed
	case IsQueued(p):
		otherwise = d.queued
	case p.Spec.NodeName == "":
		causes, otherwise = causesOf(ClaimNames(p), d.claimCause), d.schedulingCause
	default:
		causes = causesOf(containerStatuses(p), d.containerCause)
	}
	if len(causes) > 0 {
		return causes
	}
	return causesOf([]func() *Cause{otherwise}, func(cause func() *Cause) *Cause { return cause() })
}

// causesOf returns the causes of those items that have one.
func causesOf[T any](items []T, cause func(T) *Cause) []*Cause {
	var causes []*Cause
	for _, item := range items {
		if c := cause(item); c != nil {
			causes = append(causes, c)
		}
	}
	return causes
}

// causeIn returns a cause that an object shows, with the fields that are the same
// for all problems of the object. The events are those about it.
func causeIn(of schema.GroupVersionKind, namespace, name string, events eventLog) *Cause {
	return &Cause{
		Object:  fmt.Sprintf("%s %s/%s", kind.Kind{GroupVersionKind: of}.Word(), namespace, name),
		Command: describe(of, namespace, name),
		Events:  events.render(),
	}
}

// cause sets the common fields of all causes of a pod. The next step is formatted by [advice.Of], as that of others.
func (d podDiagnosis) cause(reason, subject, summary, next string, values ...any) *Cause {
	c := causeIn(kind.Pod().GroupVersionKind, d.pod.Namespace, d.pod.Name, d.events)
	c.Reason, c.Subject, c.Summary, c.Hint = reason, subject, summary, advice.Of(next, values...)
	return c
}

// terminal marks a cause as permanent.
func (c *Cause) terminal(grace time.Duration) *Cause {
	c.Terminal, c.Grace = true, grace
	return c
}

// cause sets the common fields of the causes of the workload.
func (s *diagnosis) cause(reason, summary, next string, values ...any) *Cause {
	gvk, name := s.Workload.GroupVersionKind(), s.Workload.GetName()
	c := causeIn(gvk, s.namespace, name, s.events.about(gvk.Kind, name))
	c.Reason, c.Summary, c.Hint = reason, summary, advice.Of(next, values...)
	return c
}

// failed reports that the workload has failed, without a more specific cause.
func (s *diagnosis) failed(message string) *Cause {
	return s.cause(ReasonFailed, fmt.Sprintf("%s has failed: %s", object(s.Workload), clip(message)),
		"Check the conditions and events of the workload.").terminal(shortGrace)
}

// unprocessed explains a custom object without a status and pods.
func (s *diagnosis) unprocessed() *Cause {
	custom := kind.Guess(s.Workload.GroupVersionKind()).Custom()
	if custom && s.Workload.Object["status"] == nil && s.Pods != nil && len(s.Pods) == 0 {
		return s.operatorSilent("status")
	}
	return nil
}

// operatorSilent explains an object that lacks what its operator writes first.
func (s *diagnosis) operatorSilent(missing string) *Cause {
	c := s.cause(ReasonOperatorSilent, object(s.Workload)+" has no "+missing+": its operator may not be running.",
		"Check that the operator of its API group is running, and read its log.")
	c.Command = "kubectl get deployments -A"
	return c
}

// Durations of a cause before it ends a wait. The same run may still create a
// missing object, a volume provisioner retries within seconds, and a kubelet
// retries a pull after about 0, 10 and 30 s.
const (
	shortGrace  = 10 * time.Second
	volumeGrace = 30 * time.Second
	pullGrace   = 40 * time.Second
	// scaleGrace is the time for an autoscaler to report an event. The cluster
	// autoscaler checks for pods without a node every 10 s, and its presence is
	// not always visible otherwise.
	scaleGrace = 45 * time.Second
	// recoverGrace applies to temporary problems of a new node, or during the
	// update of a registry. A kubelet has retried at least five times by then.
	recoverGrace = 5 * time.Minute
)
