package ready_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// scaler returns an autoscaler with the maximum of four pods and the conditions of a YAML flow sequence.
func scaler(t *testing.T, apiVersion, kind, conditions string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: llm, namespace: ml}\nspec: {maxReplicas: 4}\n"+
		"status: {conditions: [%s]}\n", apiVersion, kind, conditions)
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestAutoscalerIsReadyIfItCanComputeANumberOfPods(t *testing.T) {
	t.Parallel()
	const hpa = "autoscaling/v2 HorizontalPodAutoscaler"
	const able = "{type: AbleToScale, status: 'True', reason: ReadyForNewScale}, "
	inactive := func(reason, message string) string {
		return able + fmt.Sprintf("{type: ScalingActive, status: 'False', reason: %s, message: %q}", reason, message)
	}
	for name, test := range map[string]struct {
		of, conditions string
		toZero, ready  bool
		says           string // in the summary, or in the hint
		grace          time.Duration
	}{
		"active": {of: hpa, conditions: able + "{type: ScalingActive, status: 'True'}", ready: true},
		"scaled to zero": {of: hpa, conditions: inactive("ScalingDisabled", "scaling is disabled"), toZero: true,
			ready: true},
		"stopped by another client": {of: hpa, conditions: inactive("ScalingDisabled", "scaling is disabled"),
			says: "Start a pod of the workload", grace: 75 * time.Second},
		"not processed": {of: hpa},
		"without rights": {of: hpa, conditions: "{type: AbleToScale, status: 'False', reason: FailedGetScale}",
			says: "FailedGetScale", grace: 10 * time.Second},
		"without a request": {of: hpa, conditions: inactive("FailedGetResourceMetric", "missing request for cpu"),
			says: "Set the CPU request or the memory request", grace: 10 * time.Second},
		"without metrics-server": {of: hpa, conditions: inactive("FailedGetResourceMetric",
			"the server could not find the requested resource (get pods.metrics.k8s.io)"),
			says: "Install metrics-server", grace: 10 * time.Second},
		"before the first scrape": {of: hpa, conditions: inactive("FailedGetResourceMetric",
			"no metrics returned from resource metrics API"), says: "kubectl top pods", grace: 75 * time.Second},
		"without an adapter": {of: hpa, conditions: inactive("FailedGetExternalMetric", "unable to get"),
			says: "external.metrics.k8s.io", grace: 10 * time.Second},
		"two of the same pods": {of: hpa, conditions: inactive("AmbiguousSelector", "pods by selector are controlled "+
			"by multiple HPAs"), says: "Delete the other", grace: 10 * time.Second},
	} {
		apiVersion, kind, _ := strings.Cut(test.of, " ")
		u := scaler(t, apiVersion, kind, strings.TrimSuffix(test.conditions, ", "))
		if test.toZero {
			_ = unstructured.SetNestedField(u.Object, int64(0), "spec", "minReplicas")
		}
		v := ready.AssessAutoscaler(u, nil, time.Time{})
		switch {
		case v.Ready != test.ready || (v.Cause != nil) != (test.says != "") || v.Message == "":
			t.Errorf("%s: %+v", name, v)
		case v.Cause != nil && (!strings.Contains(v.Cause.Summary+v.Cause.Hint.In(), test.says) ||
			!v.Cause.Terminal || v.Cause.Grace != test.grace):
			t.Errorf("%s: %+v", name, v.Cause)
		}
	}
}

func TestMaximumOfAnAutoscalerIsReportedOnlyIfItLimits(t *testing.T) {
	t.Parallel()
	for conditions, limits := range map[string]bool{
		"": false,
		"{type: ScalingLimited, status: 'True', reason: TooManyReplicas, message: more}":     true,
		"{type: ScalingLimited, status: 'True', reason: TooFewReplicas}":                     false,
		"{type: ScalingLimited, status: 'False', reason: DesiredWithinRange, message: fine}": false,
	} {
		cause := ready.AtMaximum(scaler(t, "autoscaling/v2", "HorizontalPodAutoscaler", conditions))
		const says = "the maximum of 4 (TooManyReplicas)"
		if (cause != nil) != limits || limits && !strings.Contains(cause.Summary, says) {
			t.Errorf("%q: %+v", conditions, cause)
		}
	}
}
