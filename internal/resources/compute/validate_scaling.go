package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// nested reports what is wrong with the attributes of an object.
type nested struct {
	object string
	diags  diag.Diagnostics
}

// refuse adds an error. The format is a sentence without its subject, the
// attribute.
func (n *nested) refuse(attribute, format string, args ...any) {
	n.refuseAt(path.Root(n.object).AtName(attribute), format, args...)
}

func (n *nested) refuseAt(at path.Path, format string, args ...any) {
	n.diags.AddAttributeError(at, "Invalid "+n.object, at.String()+" "+fmt.Sprintf(format, args...))
}

// checkAutoscale finds what Knative's webhook would refuse
// (knative.dev/serving/pkg/apis/autoscaling), and what its autoscaler passes
// over.
func checkAutoscale(ctx context.Context, object types.Object) diag.Diagnostics {
	var a autoscaleModel
	if !isGiven(object) || tf.Object(ctx, object, &a).HasError() {
		return nil
	}
	n := nested{object: "autoscale"}
	// Knative takes a maximum of zero for none.
	if least, most := a.MinScale.ValueInt64(), a.MaxScale.ValueInt64(); most > 0 && least > most {
		n.refuse("min_scale", "is %d, more than autoscale.max_scale, %d: lower the one or raise the other.", least, most)
	}
	kpa := a.AutoscalerClass.IsNull() || a.AutoscalerClass.ValueString() == kind.KPAClass
	if metric := a.Metric.ValueString(); kpa && metric != "" && metric != "concurrency" && metric != "rps" {
		n.refuse("metric", "is %q, but %s knows concurrency and rps only: give autoscaler_class = %q for other metrics.", metric, kind.KPAClass, kind.HPAClass)
	}
	if a.AutoscalerClass.ValueString() == kind.HPAClass && isGiven(a.ScaleDownDelay) {
		n.refuse("scale_down_delay", "is %q, but only %s has such a delay: leave it out.", a.ScaleDownDelay.ValueString(), kind.KPAClass)
	}
	checkAutoscaleTimes(&a, &n)
	checkExtraAnnotations(&a, &n)
	return n.diags
}

func checkAutoscaleTimes(a *autoscaleModel, n *nested) {
	for _, d := range []struct {
		attribute   string
		text        tf.Duration
		least, most time.Duration // most of zero: no limit
		limits      string
	}{
		{"window", a.Window, 6 * time.Second, time.Hour, "6s to 1h"},
		{"scale_down_delay", a.ScaleDownDelay, 0, time.Hour, "0s to 1h"},
		{"scale_to_zero_pod_retention_period", a.ScaleToZeroPodRetentionPeriod, 0, time.Hour, "0s to 1h"},
		{"progress_deadline", a.ProgressDeadline, time.Second, 0, "no less than 1s"},
	} {
		value, ok := parsed(d.text)
		switch {
		case !ok: // not given, not known, or for the type to report
		case value%time.Second != 0:
			n.refuse(d.attribute, "is %q, but Knative wants whole seconds: give %s.", d.text.ValueString(), max(d.least, value.Round(time.Second)))
		case value < d.least || d.most > 0 && value > d.most:
			n.refuse(d.attribute, "is %q, but Knative takes %s: give a duration within that.", d.text.ValueString(), d.limits)
		}
	}
}

// checkExtraAnnotations finds annotations that an attribute of autoscale sets
// already, to something else.
func checkExtraAnnotations(a *autoscaleModel, n *nested) {
	extra := a.ExtraAnnotations.Elements()
	for _, set := range []struct {
		attribute, annotation string
		value                 attr.Value
	}{
		{"min_scale", kind.MinScaleAnnotation, a.MinScale},
		{"max_scale", kind.MaxScaleAnnotation, a.MaxScale},
		{"initial_scale", kind.InitialScaleAnnotation, a.InitialScale},
		{"target", kind.TargetAnnotation, a.Target},
		{"target_utilization", kind.UtilizationAnnotation, a.TargetUtilization},
		{"metric", kind.MetricAnnotation, a.Metric},
		{"window", kind.WindowAnnotation, a.Window},
		{"scale_down_delay", kind.ScaleDownDelayAnnotation, a.ScaleDownDelay},
		{"scale_to_zero_pod_retention_period", kind.PodRetentionAnnotation, a.ScaleToZeroPodRetentionPeriod},
		{"autoscaler_class", kind.ClassAnnotation, a.AutoscalerClass},
		{"progress_deadline", kind.ProgressDeadlineAnnotation, a.ProgressDeadline},
	} {
		for _, key := range slices.Sorted(maps.Keys(extra)) {
			text, _ := extra[key].(types.String)
			sameKey := key == set.annotation || kind.AutoscalingDomain+key == set.annotation
			if sameKey && isGiven(text) && isGiven(set.value) && textOf(set.value) != text.ValueString() {
				n.refuseAt(path.Root("autoscale").AtName("extra_annotations").AtMapKey(key),
					"is %q, but autoscale.%s sets this annotation to %q: leave out one of the two.", text.ValueString(), set.attribute, textOf(set.value))
			}
		}
	}
}

func textOf(value attr.Value) string {
	if text, ok := value.(interface{ ValueString() string }); ok {
		return text.ValueString()
	}
	return value.String()
}

// checkDistribute finds settings of the workers that do not fit each other.
func checkDistribute(ctx context.Context, config *model) diag.Diagnostics {
	var d distributeModel
	if !isGiven(config.Distribute) || tf.Object(ctx, config.Distribute, &d).HasError() {
		return nil
	}
	n := nested{object: "distribute"}
	quorum, workers := d.QuorumWorkers.ValueInt64(), d.Workers.ValueInt64()
	switch {
	case d.Workers.IsNull() && !config.Manifest.IsNull(): // it says how many there are
	case d.Workers.IsNull() && quorum > 1:
		n.refuse("quorum_workers", "is %d, but without distribute.workers there is one worker: give distribute.workers.", quorum)
	case workers > 0 && quorum > workers:
		n.refuse("quorum_workers", "is %d, but there are %d workers: give no more than that, or raise distribute.workers.", quorum, workers)
	}
	var args map[string]any
	if !isGiven(d.Args) || json.Unmarshal([]byte(d.Args.ValueString()), &args) != nil {
		return n.diags
	}
	for _, own := range []struct{ key, attribute string }{
		{"distribution_type", "type"}, {"quorum_workers", "quorum_workers"}, {"quorum_timeout", "quorum_timeout"}, {"monitor_members", "monitor_members"},
	} {
		if _, ok := args[own.key]; ok {
			n.refuse("args", "has %s, which is distribute.%s: give that, and leave it out of args.", own.key, own.attribute)
		}
	}
	version, given := args[kind.RayVersionArg]
	if text, _ := version.(string); given && text == "" && d.Type.ValueString() == kind.DistributionRay {
		n.refuse("args", "has %v as rayVersion, which must be a text: give it as in jsonencode({ rayVersion = \"2.46.0\" }).", version)
	}
	return n.diags
}
