package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

const (
	startsWithQuota = "It starts when the queue has enough quota."
	seeWorkload     = "Check the conditions of its Workload for missing quota."
)

// queued explains a pod that a queue or another controller holds.
func (d podDiagnosis) queued() *Cause {
	p := d.pod
	gates := kind.Each(p.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) string { return g.Name })
	switch {
	case gatedByKueue(p):
		c := d.cause(ReasonQueued, kind.QueueSchedulerKueue,
			"Kueue has not admitted the pod yet"+inQueue(p.Labels[kind.KueueQueueLabel])+d.schedulerSuffix()+". "+
				startsWithQuota, seeWorkload)
		c.Command = listKueueWorkloads(p.Namespace)
		return c
	case len(gates) > 0:
		return d.cause(ReasonQueued, "gates", "The pod is held by scheduling gates: "+Listed(gates, 5)+
			". It starts when the controllers that set the gates remove them.", "")
	}
	return d.cause(ReasonQueued, kind.QueueSchedulerKAI, "KAI has not scheduled the pod yet"+
		inQueue(p.Labels[kind.KAIQueueLabel])+d.schedulerSuffix()+". "+startsWithQuota, "")
}

func inQueue(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (queue %s)", name)
}

// schedulerSuffix returns the message of a scheduler on the pod or in an event,
// as a suffix.
func (d podDiagnosis) schedulerSuffix() string {
	message := schedulerMessage(d.pod)
	if message == "" {
		if e := d.events.latest("Unschedulable", "NotEnoughResources", "FailedScheduling"); e != nil {
			message = e.Message
		}
	}
	if message == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(clip(message), ".")
}

// Unscheduled reports whether the scheduler found no node for a pod. It does
// not process pods with scheduling gates.
func Unscheduled(p *corev1.Pod) bool { return schedulerMessage(p) != "" }

// schedulerMessage returns the reason why the scheduler found no node, or "" if
// it has not tried yet.
func schedulerMessage(p *corev1.Pod) string {
	c := podCondition(p, corev1.PodScheduled)
	if c.Status != corev1.ConditionFalse || c.Reason == corev1.PodReasonSchedulingGated {
		return ""
	}
	return cmp.Or(c.Message, c.Reason)
}

// schedulingCause explains a pod for which the scheduler found no node.
func (d podDiagnosis) schedulingCause() *Cause {
	p, s, message := d.pod, d.workload, schedulerMessage(d.pod)
	if message == "" {
		return nil
	}
	short := filterMessage(message)
	if event := d.events.latestWhere(ofAutoscaler); s.Autoscaler || event != nil {
		return d.autoscaled(short, event)
	}
	if len(s.Nodes) == 0 || cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName) != corev1.DefaultSchedulerName {
		why, hint := messageHint(message)
		summary := andThen("No node can run the pod: "+clip(short), why)
		if s.Nodes == nil {
			summary = andThen(summary, "Without permission to list nodes, it is unknown whether any node can ever "+
				"run the pod.")
		}
		return d.cause(ReasonWaitingForCapacity, "pods", summary, "%s", hint)
	}
	if why, never := neverFits(p, s.Nodes, s.together); never {
		c := d.cause(ReasonUnschedulable, "pods", why.summary, "%s", why.hint)
		switch {
		case why.temporary:
			return c
		case s.FixedNodes:
			return c.terminal(shortGrace)
		}
		c.Hint = OrNodesOnDemand(c.Hint)
		return c.terminal(scaleGrace)
	}
	summary := "No node can run the pod now."
	if mentions(message, "insufficient ", "too many pods") {
		summary = fmt.Sprintf("No node has enough free capacity for the pod: it requests %s.", amounts(requests(p)))
	}
	summary += " Message of the scheduler: " + clip(short)
	why, hint := messageHint(message)
	return d.cause(ReasonWaitingForCapacity, "pods", andThen(summary, why), "%s", hint)
}

// OrNodesOnDemand completes a next step if it is unknown whether nodes are added on demand.
func OrNodesOnDemand(hint advice.Text) advice.Text {
	return advice.Of("%s If nodes are added on demand, %s.", hint, advice.DeclareNodes)
}

// autoscaled explains a pod if nodes may still be added. event is the last event
// of an autoscaler about the pod, or nil.
func (d podDiagnosis) autoscaled(short string, event *corev1.Event) *Cause {
	c := d.cause(ReasonWaitingForCapacity, "pods", "No node can run the pod yet: "+clip(short),
		"Check that a node pool meets the requests of the pod, and has not reached its limit.")
	switch {
	case event == nil:
		c.Summary = andThen(c.Summary, "An autoscaler may add a node.")
		return c
	case event.Reason == triggeredScaleUp || event.Reason == nominated:
		c.Summary = andThen(c.Summary, "A node is being added: "+clip(event.Message))
		c.Hint = advice.Of("Wait for the new node. GPU nodes take several minutes.")
		return c
	}
	c.Hint = advice.Of("Match the requests, the node selector and the tolerations to a node pool, or increase the " +
		"limit of a pool.")
	why, never := neverFits(d.pod, d.workload.Nodes, 1)
	nodeAdded := d.events.latest(triggeredScaleUp, nominated) != nil
	label := missingInPools(d.pod, d.workload.NodePools)
	if len(d.workload.Nodes) == 0 || !never || why.temporary || nodeAdded || label == "" && !noPoolFits(event) {
		c.Summary = andThen(c.Summary, "The autoscaler does not add a node: "+clip(event.Message))
		return c
	}
	c.Reason, c.Summary = ReasonUnschedulable, why.summary+" The autoscaler does not add a node: "+clip(event.Message)
	if label != "" {
		c.Summary = fmt.Sprintf("%s No NodePool of Karpenter creates nodes with the label %s.", why.summary, label)
		c.Hint = advice.Of("Correct %s, or add the label to a NodePool. A label that a node gets after it has "+
			"started, such as nvidia.com/gpu.product, must be in a NodePool to create nodes for it.", advice.NodeLabels)
	}
	return c.terminal(scaleGrace)
}

// noPoolFits reports whether the cluster autoscaler has checked all node
// groups, and found none that can ever run the pod. A group that reached its
// maximum, failed recently or is not ready may run it later (for the reasons,
// see cluster-autoscaler/core/scaleup/orchestrator/skippedreasons.go).
func noPoolFits(e *corev1.Event) bool {
	_, reasons, found := strings.Cut(e.Message, "scale-up: ")
	return e.Reason == notTriggerScaleUp && found && strings.TrimSpace(reasons) != "" && !fullPool.MatchString(reasons)
}

// Reasons of the events of the cluster autoscaler and of Karpenter about pods.
const (
	notTriggerScaleUp = "NotTriggerScaleUp"
	triggeredScaleUp  = "TriggeredScaleUp"
	nominated         = "Nominated"
)

var fullPool = regexp.MustCompile(`max node group size reached|limit reached|in backoff|not ready`)

// ofAutoscaler reports whether an event belongs to the cluster autoscaler or to
// Karpenter.
func ofAutoscaler(e *corev1.Event) bool {
	switch e.Reason {
	case notTriggerScaleUp, triggeredScaleUp, "FailedScaleUp", nominated:
		return true
	case "FailedScheduling":
		return e.Source.Component == "karpenter" || e.ReportingController == "karpenter"
	}
	return false
}

// filterMessage removes the part of a scheduler message about preemption, which
// repeats the counts.
func filterMessage(message string) string {
	for _, tail := range []string{"no new claims to deallocate", "preemption:"} {
		message, _, _ = strings.Cut(message, tail)
	}
	return strings.TrimRight(message, " ,")
}

// messageHint returns an explanation of a scheduler message, if it needs one,
// and the next step. The rows match parts of the message
// (pkg/scheduler/framework/plugins); the first match applies. The scheduler
// reports of each node the first filter that rejects it, and taints, labels and
// cordons are checked first. They are last here: the other nodes got further.
func messageHint(message string) (why string, hint advice.Text) {
	type row struct {
		words, why string
		hint       advice.Text
	}
	tolerate := advice.Of("Add tolerations for the nodes that are intended for this pod.")
	of := first([]row{
		{"Insufficient", "", advice.Of("Wait until other pods finish, or reduce %s.", advice.Requests)},
		{"volume node affinity", "Its volume is in another zone or on another node than the nodes with free capacity.",
			advice.Of("Free capacity near the volume, or use a volume in another location.")},
		{"PersistentVolume", "Its volume is not bound.", advice.Of("Check the claim.")},
		{"free ports", "Another pod uses the same host port on every node.",
			advice.Of("Remove %s, or add nodes.", advice.HostPort)},
		{"anti-affinity", "The anti-affinity of a pod excludes it.",
			advice.Of("Relax the anti-affinity, or add nodes.")},
		{"pod affinity", "", advice.Of("Correct %s, or start the pods that it requires.", advice.Affinity)},
		{"topology spread", "No node meets its spread constraints.",
			advice.Of("Relax %s, or add nodes.", advice.Spread)},
		{"node(s) were unschedulable", "Nodes are cordoned.",
			advice.Of("Uncordon them, or wait until they are uncordoned.")},
		{"node affinity/selector", "", advice.Of("Correct %s, or wait for such a node.", advice.NodeLabels)},
		{"untolerated taint", "", tolerate},
		{"didn't tolerate", "", tolerate},
		{"", "It starts when a node can run it.", advice.Text{}},
	}, func(of row) bool { return strings.Contains(message, of.words) })
	return of.why, of.hint
}
