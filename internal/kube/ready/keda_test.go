package ready_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// The conditions are those that KEDA 2.21 sets in the ecosystem tests.
func TestScaledObjectIsReadyWhenItsTriggersAreChecked(t *testing.T) {
	t.Parallel()
	const usable = "{type: Ready, status: 'True', reason: ScaledObjectReady}, "
	const failing = "{type: Ready, status: 'False', reason: TriggerError, message: Triggers do not work}, " +
		"{type: Active, status: 'False', reason: ScalerNotActive}"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	failedBefore := func(age time.Duration, reason string) []*corev1.Event {
		return []*corev1.Event{{InvolvedObject: corev1.ObjectReference{Kind: "ScaledObject", Name: "llm"},
			ObjectMeta: metav1.ObjectMeta{Name: "llm.1"}, EventTime: metav1.NewMicroTime(now.Add(-age)), Reason: reason,
			Message: "connection refused"}}
	}
	failed := func(reason string) []*corev1.Event { return failedBefore(time.Hour, reason) }
	for name, test := range map[string]struct {
		conditions string
		polls      int64
		events     []*corev1.Event
		ready      bool
		says       string // in the summary, or in the hint
		grace      time.Duration
	}{
		"an active trigger":   {conditions: usable + "{type: Active, status: 'True'}", ready: true},
		"no active trigger":   {conditions: usable + "{type: Active, status: 'False'}", ready: true},
		"before the check":    {conditions: "{type: Ready, status: Unknown}, {type: Active, status: Unknown}"},
		"before the poll":     {conditions: usable + "{type: Active, status: Unknown}"},
		"without a condition": {conditions: usable},
		"without any":         {},
		"paused": {conditions: usable + "{type: Active, status: Unknown}, " +
			"{type: Paused, status: 'True'}", ready: true},
		"paused while failing": {conditions: failing + ", {type: Paused, status: 'True'}", ready: true},
		"overwritten after the last poll": {conditions: usable + "{type: Active, status: 'False'}",
			events: failedBefore(40*time.Second, "KEDAScalerFailed"), says: "(TriggerError): connection refused",
			grace: 40 * time.Second},
		"overwritten before the first poll": {conditions: usable + "{type: Active, status: Unknown}",
			events: failedBefore(0, "KEDAScalerFailed"), says: "(TriggerError): connection refused",
			grace: 40 * time.Second},
		"a later poll": {conditions: usable + "{type: Active, status: 'False'}",
			events: failedBefore(41*time.Second, "KEDAScalerFailed"), ready: true},
		"an unknown type": {conditions: "{type: Ready, status: 'False', reason: ScaledObjectCheckFailed, message: " +
			"no scaler found}", says: "no scaler found", grace: 10 * time.Second},
		"a failing trigger": {conditions: failing, events: failed("KEDAScalerFailed"),
			says: "(TriggerError): connection refused", grace: 40 * time.Second},
		"a failing part of a formula": {conditions: failing, events: failed("KEDAMetricSourceFailed"),
			says: "(TriggerError): connection refused", grace: 40 * time.Second},
		"another event": {conditions: failing, events: failed("ScaledObjectReady"),
			says: "(TriggerError): Triggers do not work", grace: 40 * time.Second},
		"without events": {conditions: failing, polls: 5, says: "(TriggerError): Triggers do not work",
			grace: 15 * time.Second},
		"one of the triggers": {conditions: "{type: Ready, status: Unknown, reason: PartialTriggerError}, " +
			"{type: Active, status: 'True'}", events: failed("KEDAScalerFailed"),
			says:  "by some of the triggers, because others fail (PartialTriggerError): connection refused",
			grace: 40 * time.Second},
		"an autoscaler without metrics": {conditions: usable + "{type: Active, status: 'True'}, {type: HPAActive, " +
			"status: 'False', reason: FailedGetExternalMetric, message: HPA is not actively scaling}",
			says: "its metrics adapter", grace: 105 * time.Second},
		"an autoscaler with metrics": {conditions: usable + "{type: Active, status: 'True'}, {type: HPAActive, " +
			"status: 'True'}", ready: true},
	} {
		u := scaler(t, "keda.sh/v1alpha1", "ScaledObject", strings.TrimSuffix(test.conditions, ", "))
		if test.polls > 0 {
			kind.SetAt(u.Object, []string{"spec", "pollingInterval"}, test.polls)
		}
		v := ready.AssessAutoscaler(u, test.events, now)
		switch {
		case v.Ready != test.ready || (v.Cause != nil) != (test.says != ""):
			t.Errorf("%s: %+v", name, v)
		case v.Cause != nil && (!strings.Contains(v.Cause.Summary+v.Cause.Hint.In(), test.says) ||
			!v.Cause.Terminal || v.Cause.Grace != test.grace || len(v.Cause.Events) != len(test.events)):
			t.Errorf("%s: %+v", name, v.Cause)
		}
	}
}
