package ready

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	onceThereIsRoom = "It starts once the queue has room."
	seeWorkload     = "Check the conditions of its Workload for what is short."
)

func (s *scene) queued(p *corev1.Pod) *Cause {
	var gates []string
	for _, g := range p.Spec.SchedulingGates {
		gates = append(gates, g.Name)
	}
	switch {
	case gatedByKueue(p):
		c := s.newPodCause(p, ReasonQueued, "kueue", "Kueue has not admitted the pod yet"+inQueue(p.Labels[kueueQueue])+s.schedulerSays(p)+". "+onceThereIsRoom,
			seeWorkload)
		c.Command = kubectl(p.Namespace, "get workloads.kueue.x-k8s.io -o wide")
		return c
	case len(gates) > 0:
		return s.newPodCause(p, ReasonQueued, "gates", "The pod is held by scheduling gates: "+listed(gates, 5)+". It starts once the controllers that set the gates remove them.", "")
	}
	return s.newPodCause(p, ReasonQueued, "kai", "KAI has not scheduled the pod yet"+inQueue(p.Labels[kaiQueue])+s.schedulerSays(p)+". "+onceThereIsRoom, "")
}

func inQueue(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (queue %s)", name)
}

// schedulerSays appends what a scheduler wrote on the pod or in an event.
func (s *scene) schedulerSays(p *corev1.Pod) string {
	message := schedulerMessage(p)
	if message == "" {
		if e := s.events.about("Pod", p.Name).latest("Unschedulable", "NotEnoughResources", "FailedScheduling"); e != nil {
			message = e.Message
		}
	}
	if message == "" {
		return ""
	}
	return ": " + strings.TrimSuffix(clip(message), ".")
}

// schedulerMessage is why the scheduler found no node; "" while it has not tried.
func schedulerMessage(p *corev1.Pod) string {
	c := podCondition(p, corev1.PodScheduled)
	if c.Status != corev1.ConditionFalse || c.Reason == corev1.PodReasonSchedulingGated {
		return ""
	}
	if c.Message == "" {
		return c.Reason
	}
	return c.Message
}

// schedulingCauses explains a pod for which the scheduler found no node.
func (s *scene) schedulingCauses(p *corev1.Pod) []*Cause {
	message := schedulerMessage(p)
	if message == "" {
		return nil
	}
	short := filterMessage(message)
	if said := s.events.about("Pod", p.Name).latestWhere(ofAutoscaler); s.Autoscaler || said != nil {
		return []*Cause{s.autoscaled(p, short, said)}
	}
	if len(s.Nodes) == 0 || !defaultScheduler(p) {
		why, hint := messageHint(message)
		summary := andThen("No node takes the pod: "+clip(short), why)
		if s.Nodes == nil {
			summary = andThen(summary, "Without permission to list nodes, it is not known whether any node can ever hold the pod.")
		}
		return []*Cause{s.newPodCause(p, ReasonWaitingForCapacity, "pods", summary, hint)}
	}
	if why, never := neverFits(p, s.Nodes, s.together); never {
		c := s.newPodCause(p, ReasonUnschedulable, "pods", why.summary, why.hint)
		switch {
		case why.mayHeal:
			return []*Cause{c}
		case s.FixedNodes:
			return []*Cause{c.terminal(shortGrace)}
		}
		c.Hint += " If nodes are added on demand, set `node_autoscaling = true` in the provider."
		return []*Cause{c.terminal(scaleGrace)}
	}
	summary := fmt.Sprintf("No node has room for the pod now: it asks for %s. The scheduler: %s", amounts(requests(p)), clip(short))
	why, hint := messageHint(message)
	return []*Cause{s.newPodCause(p, ReasonWaitingForCapacity, "pods", andThen(summary, why), hint)}
}

// defaultScheduler is whether the rules of Kubernetes' own scheduler hold.
func defaultScheduler(p *corev1.Pod) bool {
	return p.Spec.SchedulerName == "" || p.Spec.SchedulerName == corev1.DefaultSchedulerName
}

// autoscaled explains a pod where nodes may still come. said is the last event
// of an autoscaler about it, nil if there is none.
func (s *scene) autoscaled(p *corev1.Pod, short string, said *corev1.Event) *Cause {
	c := s.newPodCause(p, ReasonWaitingForCapacity, "pods", "No node takes the pod yet: "+clip(short),
		"Check that a node pool fits what the pod asks for, and that it is not at its limit.")
	switch {
	case said == nil:
		c.Summary = andThen(c.Summary, "An autoscaler may add a node.")
		return c
	case said.Reason == triggeredScaleUp || said.Reason == nominated:
		c.Summary = andThen(c.Summary, "A node is being added: "+clip(said.Message))
		c.Hint = "Wait for the new node; GPU nodes take several minutes."
		return c
	}
	c.Hint = "Ask for what a node pool can have (`gpu_type`, `gpus`, `cpus`, `memory`, `node_selector`, `tolerations`), or have a pool's limit raised."
	why, never := neverFits(p, s.Nodes, 0)
	coming := s.events.about("Pod", p.Name).latest(triggeredScaleUp, nominated) != nil
	if len(s.Nodes) == 0 || !never || why.mayHeal || coming || !noPoolFits(said) {
		c.Summary = andThen(c.Summary, "The autoscaler adds no node for it: "+clip(said.Message))
		return c
	}
	c.Reason, c.Summary = ReasonUnschedulable, why.summary+" The autoscaler adds no node for it: "+clip(said.Message)
	return c.terminal(scaleGrace)
}

// noPoolFits says whether the cluster autoscaler has looked at all node groups,
// and found none that could ever hold the pod. One that has its most nodes, that
// failed a moment ago, or that is not ready may hold it later (the reasons are of
// cluster-autoscaler/core/scaleup/orchestrator/skippedreasons.go).
func noPoolFits(e *corev1.Event) bool {
	_, reasons, said := strings.Cut(e.Message, "scale-up: ")
	return e.Reason == notTriggerScaleUp && said && strings.TrimSpace(reasons) != "" && !fullPool.MatchString(reasons)
}

// Reasons of the events of the cluster autoscaler and of Karpenter about pods.
const (
	notTriggerScaleUp = "NotTriggerScaleUp"
	triggeredScaleUp  = "TriggeredScaleUp"
	nominated         = "Nominated"
)

var fullPool = regexp.MustCompile(`max node group size reached|limit reached|in backoff|not ready`)

// ofAutoscaler goes by the events of the cluster autoscaler and of Karpenter.
func ofAutoscaler(e *corev1.Event) bool {
	switch e.Reason {
	case notTriggerScaleUp, triggeredScaleUp, "FailedScaleUp", nominated:
		return true
	case "FailedScheduling":
		return e.Source.Component == "karpenter" || e.ReportingController == "karpenter"
	}
	return false
}

// filterMessage leaves out what the scheduler writes about preemption, which
// repeats the counts.
func filterMessage(message string) string {
	for _, tail := range []string{"no new claims to deallocate", "preemption:"} {
		if i := strings.Index(message, tail); i > 0 {
			message = message[:i]
		}
	}
	return strings.TrimRight(message, " ,")
}

// messageHint is what a message of the scheduler means, where it says too little, and what to do. The rows go by its words
// (pkg/scheduler/framework/plugins); the first that occurs decides.
func messageHint(message string) (why, hint string) {
	for _, row := range []struct{ words, why, hint string }{
		{"Insufficient", "", "Wait until other pods make room, or ask for less (`gpus`, `cpus`, `memory`) or fewer `replicas`."},
		{"node(s) were unschedulable", "Nodes are cordoned.", "Uncordon them, or wait until somebody does."},
		{"node affinity/selector", "", "Correct `gpu_type` or `node_selector`, or wait for such a node."},
		{"untolerated taint", "", "Add `tolerations` for nodes that are meant for this pod."},
		{"didn't tolerate", "", "Add `tolerations` for nodes that are meant for this pod."},
		{"volume node affinity", "Its volume is in another zone or on another node than the ones with room.", "Make room where the volume is, or use a volume elsewhere."},
		{"PersistentVolume", "Its volume is not bound.", "Check the claim."},
		{"free ports", "Another pod holds the same host port on every node.", "Remove the host port in `service_template`, or add nodes."},
		{"anti-affinity", "Another pod keeps it away by anti-affinity.", "Relax the anti-affinity, or add nodes."},
		{"topology spread", "Its spread constraints leave no node.", "Relax them in `service_template`."},
	} {
		if strings.Contains(message, row.words) {
			return row.why, row.hint
		}
	}
	return "It starts when a node takes it.", ""
}
