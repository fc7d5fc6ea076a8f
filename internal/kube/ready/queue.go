package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Queue contains the known state of the queue of a workload.
type Queue struct {
	Scheduler string // kind.QueueSchedulerKueue or kind.QueueSchedulerKAI
	Namespace string // of the workload
	Name      string
	// NotInstalled reports whether the cluster does not serve this kind of queue.
	NotInstalled bool
	// Queues are the LocalQueues of the namespace for Kueue, or all Queues for
	// KAI; nil means unknown.
	Queues []*unstructured.Unstructured
	// ClusterQueue is the ClusterQueue of the LocalQueue; nil means unknown.
	ClusterQueue *unstructured.Unstructured
	// Holds are the objects of the scheduler for this workload: Workloads of
	// Kueue, or PodGroups of KAI; nil means unknown.
	Holds []*unstructured.Unstructured
	// Excluded is the name of Kueue's integration for the kind of the workload if its configuration excludes it, or "".
	Excluded string
}

// QueueOf returns the queue of a workload or of its pods, by their labels.
func QueueOf(workload *unstructured.Unstructured, pods []*corev1.Pod) (scheduler, name string) {
	of := kind.Each(pods, (*corev1.Pod).GetLabels)
	for _, labels := range append([]map[string]string{workload.GetLabels()}, of...) {
		if queue := labels[kind.KueueQueueLabel]; queue != "" {
			return kind.QueueSchedulerKueue, queue
		}
		if queue := labels[kind.KAIQueueLabel]; queue != "" {
			return kind.QueueSchedulerKAI, queue
		}
	}
	return "", ""
}

// queueOf returns the Kueue queue of a workload.
func queueOf(workload *unstructured.Unstructured) string {
	return workload.GetLabels()[kind.KueueQueueLabel]
}

// IsQueued reports whether a queue holds a pod without a node: by a scheduling
// gate (of Kueue or another controller), or in KAI, which schedules from queues
// only.
func IsQueued(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && (len(p.Spec.SchedulingGates) > 0 || p.Spec.SchedulerName == kind.KAIScheduler)
}

func gatedByKueue(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.SchedulingGates,
		func(g corev1.PodSchedulingGate) bool { return strings.HasPrefix(g.Name, kind.KueueGroup+"/") })
}

// queueCause explains pods that a queue holds, by the status of the queue.
func (s *diagnosis) queueCause() *Cause {
	for _, p := range s.pods {
		switch {
		case s.Queue == nil || p.Spec.NodeName != "" || p.Status.Phase == corev1.PodFailed:
		case gatedByKueue(p) && s.Queue.Scheduler == kind.QueueSchedulerKueue:
			return s.Queue.kueue(s.of(p).queued(), object(s.Workload))
		case p.Spec.SchedulerName == kind.KAIScheduler && s.Queue.ofKAI():
			return s.Queue.kai(s.of(p).queued(), object(s.Workload))
		}
	}
	return nil
}

// heldByQueue returns the verdict on a workload that Kueue has suspended or not
// admitted.
func (s Snapshot) heldByQueue() Verdict {
	q := cmp.Or(s.Queue, &Queue{
		Scheduler: kind.QueueSchedulerKueue, Namespace: s.Workload.GetNamespace(), Name: queueOf(s.Workload),
	})
	if len(q.Holds) > 0 && len(q.waiting()) == 0 {
		return notReady("admitted by Kueue, starting")
	}
	d := newDiagnosis(s, s.Pods)
	c := q.kueue(d.cause(ReasonQueued, "", ""), object(s.Workload))
	c.Subject = kind.QueueSchedulerKueue
	return Verdict{Message: "held in queue " + q.Name, Cause: c}
}

// problem sets a cause in the queue itself. It returns false if there is none.
func (q *Queue) problem(c *Cause, workload string) bool {
	of, namespace, where, product := kind.LocalQueue(""), q.Namespace, "in namespace "+q.Namespace, "Kueue"
	if q.ofKAI() {
		of, namespace, where, product = kind.KAIQueue(), "", "in the cluster", "the KAI scheduler"
	}
	switch {
	case q.NotInstalled:
		c.Summary = fmt.Sprintf("%s is in queue %s, but %s is not installed. Workloads that it must admit never "+
			"start, and all others start immediately without the queue.", workload, q.Name, product)
		c.Hint = advice.Of("Install %s, or remove %s.", product, advice.Queue)
		c.Command = "kubectl get customresourcedefinitions"
	case q.Queues != nil && q.object() == nil:
		c.Summary = fmt.Sprintf("%s %q does not exist %s; %s.", of.Kind, q.Name, where, q.others())
		c.Hint = advice.Of("Correct %s, or create the queue.", advice.Queue)
		c.Command = Kubectl(namespace, "get", of.Argument())
	case q.Excluded != "":
		c.Summary = fmt.Sprintf("%s is suspended for queue %s, but the configuration of Kueue excludes its kind: "+
			"nothing starts it.", workload, q.Name)
		c.Hint = advice.Of("Add %q to integrations.frameworks of the configuration of Kueue, or remove %s.",
			q.Excluded, advice.Queue)
		c.Command = "kubectl get configmaps -n kueue-system kueue-manager-config -o yaml"
	default:
		return false
	}
	c.Reason = ReasonQueueMissing
	c.terminal(volumeGrace) // the same run may still create it
	return true
}

func (q *Queue) ofKAI() bool { return q.Scheduler == kind.QueueSchedulerKAI }

// object returns the queue, or nil if it is missing or unknown.
func (q *Queue) object() *unstructured.Unstructured {
	return first(q.Queues, func(u *unstructured.Unstructured) bool { return u.GetName() == q.Name })
}

// others lists the existing queues.
func (q *Queue) others() string {
	names := kind.Each(q.Queues, (*unstructured.Unstructured).GetName)
	if len(names) == 0 {
		return "no queues exist"
	}
	slices.Sort(names)
	return "existing queues: " + Listed(names, 8)
}

// Demand contains the requests of a compute that is not applied yet.
type Demand struct {
	Pods     int
	Requests corev1.ResourceList // of all pods together
	// Own are the Workloads of Kueue whose quota becomes free for the compute: of itself, or of the one it replaces.
	Own []*unstructured.Unstructured
}

// Forecast returns the cause that will keep a compute waiting in its queue, as
// far as it can be determined before creation, or nil. workload is the name for
// messages.
func Forecast(q *Queue, demand Demand, workload string) *Cause {
	if q == nil {
		return nil
	}
	c := &Cause{Object: "LocalQueue " + q.Namespace + "/" + q.Name, Subject: q.Scheduler}
	if q.ofKAI() {
		c.Object = "Queue " + q.Name
	}
	switch {
	case q.problem(c, workload):
		return c
	case q.ofKAI():
		return q.kaiForecast(c, demand)
	}
	return q.kueueForecast(c, demand)
}
