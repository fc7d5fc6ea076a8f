package ready

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// metricGrace is the time until metrics-server knows the usage of new pods: two scrapes, which are 15 s apart by
// default and start up to 15 s after the pod. It includes the next sync of the HorizontalPodAutoscaler, every 15 s.
const metricGrace = 75 * time.Second

// AssessAutoscaler returns the verdict on a HorizontalPodAutoscaler or a ScaledObject of KEDA: it is ready when it can
// compute a number of pods. The status of neither has an observed generation. The events may include others.
func AssessAutoscaler(u *unstructured.Unstructured, events []*corev1.Event, now time.Time) Verdict {
	about := newEventLog(events).about(u.GetKind(), u.GetName())
	if u.GetKind() == kind.ScaledObject().Kind {
		return scaledObject(u, about, now)
	}
	conditions := conditionsOf(u)
	able, active := conditions.of(string(autoscalingv2.AbleToScale)), conditions.of(string(autoscalingv2.ScalingActive))
	least, set := kind.NumberAt(u.Object, []string{"spec", "minReplicas"})
	disabled, toZero := active.Reason == "ScalingDisabled", set && least == 0
	switch {
	case able.isFalse():
		return inactive(u, about, able, shortGrace,
			"Check that the controller manager may change the scale of the workload.")
	case active.isTrue() || disabled && toZero:
		return isReady("the autoscaler is active")
	case disabled: // since the workload has no pods, perhaps only until the next sync
		return inactive(u, about, active, metricGrace,
			"Start a pod of the workload, as with `kubectl scale`: the autoscaler does not start the first one.")
	case active.isFalse():
		hint, grace := metricAdvice(active)
		return inactive(u, about, active, grace, "%s", hint)
	}
	return notReady("the HorizontalPodAutoscaler has not been processed yet")
}

// inactive returns the verdict on an autoscaler with a condition that prevents it from scaling.
func inactive(
	u *unstructured.Unstructured, events eventLog, c condition, grace time.Duration, next string, values ...any,
) Verdict {
	cause := causeIn(u.GroupVersionKind(), u.GetNamespace(), u.GetName(), events)
	cause.Reason, cause.Subject, cause.Hint = ReasonScalingInactive, c.Reason, advice.Of(next, values...)
	cause.Summary = "The autoscaler cannot compute a number of pods" + c.suffix() + "."
	return Verdict{Message: "the autoscaler is not active", Cause: cause.terminal(grace)}
}

// metricAdvice returns the next step for a condition without a valid metric, and how long it may be temporary. The
// reasons are those of pkg/controller/podautoscaler/horizontal.go of Kubernetes.
func metricAdvice(c condition) (advice.Text, time.Duration) {
	const adapter = "Check that an adapter serves the metric (`kubectl get --raw /apis/%s`), and correct %s."
	switch c.Reason {
	case "FailedGetResourceMetric", "FailedGetContainerResourceMetric":
		switch {
		case strings.Contains(c.Message, "missing request for"):
			return advice.Of("Set %s or %s, of which a utilization is a part.", advice.CPU, advice.Memory), shortGrace
		case strings.Contains(c.Message, "could not find the requested resource"):
			return advice.Of("Install metrics-server (https://github.com/kubernetes-sigs/metrics-server)."), shortGrace
		}
		return advice.Of("Check that metrics-server has the usage of the pods, with `kubectl top pods`."), metricGrace
	case "FailedGetPodsMetric", "FailedGetObjectMetric":
		return advice.Of(adapter, "custom.metrics.k8s.io", advice.Metrics), shortGrace
	case "FailedGetExternalMetric":
		return advice.Of(adapter, "external.metrics.k8s.io", advice.Metrics), shortGrace
	case "AmbiguousSelector":
		return advice.Of("Delete the other HorizontalPodAutoscaler of the pods."), shortGrace
	}
	return advice.Of("Correct %s.", advice.Metrics), shortGrace
}

// AtMaximum returns the cause if a HorizontalPodAutoscaler needs more pods than its maximum, otherwise nil.
func AtMaximum(u *unstructured.Unstructured) *Cause {
	limited := conditionsOf(u).of(string(autoscalingv2.ScalingLimited))
	if !limited.isTrue() || limited.Reason != "TooManyReplicas" {
		return nil
	}
	most, _ := kind.NumberAt(u.Object, []string{"spec", "maxReplicas"})
	cause := causeIn(u.GroupVersionKind(), u.GetNamespace(), u.GetName(), eventLog{})
	cause.Reason, cause.Hint = ReasonScalingLimited, advice.Of("If more pods may run, increase %s.", advice.MaxScale)
	cause.Summary = fmt.Sprintf("The load requires more pods than the maximum of %d%s.", most, limited.suffix())
	return cause
}

// kedaPolls is how often KEDA checks triggers by default.
const kedaPolls = 30 * time.Second

// scaledObject returns the verdict on a ScaledObject of KEDA. Its controller sets the condition Ready of a spec that it
// can use, before the first poll of the triggers. Each poll sets Active, and Ready again: it contains that a trigger
// fails, and only an event contains why (pkg/scaling of github.com/kedacore/keda). The controller and the polls
// overwrite each other's conditions after the creation, so a poll that has failed counts until after the next one. An
// event that repeats is not written again for six minutes (k8s.io/client-go/tools/events), so with short intervals, the
// first of several polls may be the last one that an event shows.
func scaledObject(u *unstructured.Unstructured, events eventLog, now time.Time) Verdict {
	conditions := conditionsOf(u)
	c, polled := conditions.of("Ready"), conditions.of("Active")
	polls := kedaPolls
	if seconds, set := kind.NumberAt(u.Object, []string{"spec", "pollingInterval"}); set {
		polls = time.Duration(seconds) * time.Second
	}
	const triggers = "Correct %s and their authentication."
	failed := events.latest("KEDAScalerFailed", "KEDAMetricSourceFailed")
	if c.isTrue() && failed != nil && now.Sub(LastSeen(failed)) <= polls+shortGrace {
		c.Reason = "TriggerError"
	}
	switch partial := c.Reason == "PartialTriggerError"; {
	case conditions.of("Paused").isTrue():
		return isReady("KEDA is paused")
	case c.Reason == "TriggerError", partial:
		if failed != nil {
			c.Message = failed.Message
		}
		// The next poll may succeed, for example with new pods.
		v := inactive(u, events, c, polls+shortGrace, triggers, advice.Triggers)
		if partial {
			v.Cause.Summary = "KEDA scales only by some of the triggers, because others fail" + c.suffix() + "."
		}
		return v
	case c.isFalse():
		return inactive(u, events, c, shortGrace, triggers, advice.Triggers)
	case conditions.of("HPAActive").isFalse(): // as of the last poll
		return inactive(u, events, conditions.of("HPAActive"), metricGrace+polls,
			"Check the HorizontalPodAutoscaler that KEDA has created, and that its metrics adapter runs (`kubectl get "+
				"apiservice v1beta1.external.metrics.k8s.io`).")
	case c.isTrue() && cmp.Or(polled.Status, "Unknown") != "Unknown":
		return isReady("KEDA is ready to scale")
	case c.isTrue():
		return notReady("KEDA has not checked the triggers yet")
	}
	return notReady("KEDA has not checked the ScaledObject yet")
}
