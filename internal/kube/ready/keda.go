package ready

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

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
	const triggers = "Correct " + FieldTriggers + " and their authentication."
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
		v := inactive(u, events, c, triggers, polls+shortGrace) // the next poll may succeed, for example with new pods
		if partial {
			v.Cause.Summary = "KEDA scales only by some of the triggers, because others fail" + c.suffix() + "."
		}
		return v
	case c.isFalse():
		return inactive(u, events, c, triggers, shortGrace)
	case conditions.of("HPAActive").isFalse(): // as of the last poll
		return inactive(u, events, conditions.of("HPAActive"), "Check the HorizontalPodAutoscaler that KEDA has "+
			"created, and that its metrics adapter runs (`kubectl get apiservice v1beta1.external.metrics.k8s.io`).",
			metricGrace+polls)
	case c.isTrue() && cmp.Or(polled.Status, "Unknown") != "Unknown":
		return isReady("KEDA is ready to scale")
	case c.isTrue():
		return notReady("KEDA has not checked the triggers yet")
	}
	return notReady("KEDA has not checked the ScaledObject yet")
}
