package manifest

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// autoscaleDefaults suit servers that take minutes to start; they are
// Kubetorch's. Each gives way to an annotation of the user's.
func autoscaleDefaults(c Compute) map[string]string {
	launch := cmp.Or(c.LaunchTimeout, DefaultLaunchTimeout)
	annotations := map[string]string{
		kind.ProgressDeadlineAnnotation: shortDuration(max(10*time.Minute, launch+time.Minute, launch+launch/5)),
	}
	if c.Autoscale != nil {
		annotations[kind.PodRetentionAnnotation] = "10m"
		if cmp.Or(c.Autoscale.AutoscalerClass, kind.KPAClass) == kind.KPAClass {
			annotations[kind.ScaleDownDelayAnnotation] = "1m"
		}
	}
	return annotations
}

// autoscaleAnnotations say what the user asked of the autoscaler. validate has
// seen that they are well formed.
func autoscaleAnnotations(c Compute) map[string]string {
	a := c.Autoscale
	if a == nil {
		return nil
	}
	annotations := map[string]string{}
	for key, value := range a.ExtraAnnotations {
		annotations[autoscalingKey(key)] = value
	}
	for key, number := range map[string]*int64{
		kind.MinScaleAnnotation: a.MinScale, kind.MaxScaleAnnotation: a.MaxScale, kind.InitialScaleAnnotation: a.InitialScale,
		kind.TargetAnnotation: a.Target, kind.UtilizationAnnotation: a.TargetUtilization,
	} {
		if number != nil {
			annotations[key] = strconv.FormatInt(*number, 10)
		}
	}
	maps.Copy(annotations, autoscaleTexts(a))
	for _, d := range autoscaleDurations(a) {
		annotations[d.annotation] = knativeDuration(d.value)
	}
	return annotations
}

func autoscaleTexts(a *Autoscale) map[string]string {
	texts := map[string]string{kind.ClassAnnotation: a.AutoscalerClass, kind.MetricAnnotation: a.Metric}
	maps.DeleteFunc(texts, func(_, text string) bool { return text == "" })
	return texts
}

func autoscalingKey(key string) string {
	if strings.Contains(key, "/") {
		return key
	}
	return kind.AutoscalingDomain + key
}

// An autoscaleDuration is a duration that was given, with what Knative takes.
// The limits are those of knative.dev/serving/pkg/apis/autoscaling.
type autoscaleDuration struct {
	field, annotation, value string
	least, most              time.Duration // most of zero: no limit
}

func autoscaleDurations(a *Autoscale) []autoscaleDuration {
	var given []autoscaleDuration
	for _, d := range []autoscaleDuration{
		{"window", kind.WindowAnnotation, a.Window, 6 * time.Second, time.Hour},
		{"scale_down_delay", kind.ScaleDownDelayAnnotation, a.ScaleDownDelay, 0, time.Hour},
		{"scale_to_zero_pod_retention_period", kind.PodRetentionAnnotation, a.ScaleToZeroPodRetentionPeriod, 0, time.Hour},
		{"progress_deadline", kind.ProgressDeadlineAnnotation, a.ProgressDeadline, time.Second, 0},
	} {
		if d.value != "" {
			given = append(given, d)
		}
	}
	return given
}

// knativeDuration is a duration as Go reads it: the user's own wording where
// that is one.
func knativeDuration(s string) string {
	if _, err := time.ParseDuration(s); err == nil {
		return s
	}
	d, _ := ParseDuration(s)
	return shortDuration(d)
}

// shortDuration is a duration without its zero units: "10m" for ten minutes.
// What is less than a second is rounded up.
func shortDuration(d time.Duration) string {
	if whole := d.Truncate(time.Second); whole < d {
		d = whole + time.Second
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func validateAutoscale(c Compute, errs *Errors) {
	a := c.Autoscale
	if a == nil {
		return
	}
	if c.Manifest != nil && !kindOf(c).Autoscales {
		errs.add("autoscale", "needs a Knative Service, but manifest is a %s: remove one of the two.", kindOf(c).Kind)
	}
	if c.Distribute != nil {
		errs.add("autoscale", "lets the number of pods change, while distribute needs it fixed: remove one of the two.")
	}
	if _, attribute := askedReplicas(c); attribute == "replicas" && c.Manifest == nil {
		errs.add("replicas", "is %d, but with autoscale Knative decides how many pods run: remove it, or set min_scale and max_scale of autoscale.", c.Replicas)
	}
	validateScale(a, errs)
	validateClass(a, errs)
	for _, d := range autoscaleDurations(a) {
		switch value, err := ParseDuration(d.value); {
		case err != nil:
			errs.add("autoscale", "%s %v.", d.field, err)
		case value%time.Second != 0:
			errs.add("autoscale", "%s is %q, but Knative wants whole seconds.", d.field, d.value)
		case value < d.least || d.most > 0 && value > d.most:
			errs.add("autoscale", "%s is %q, but Knative takes %s.", d.field, d.value, d.limits())
		}
	}
	typed := autoscaleAnnotations(Compute{Autoscale: a})
	for _, key := range slices.Sorted(maps.Keys(a.ExtraAnnotations)) {
		value := a.ExtraAnnotations[key]
		if set := typed[autoscalingKey(key)]; set != value {
			errs.add("autoscale", "extra_annotations sets %s to %q, but another field of autoscale sets it to %q: remove one of the two.", key, value, set)
		}
	}
}

func (d autoscaleDuration) limits() string {
	if d.most == 0 {
		return "no less than " + shortDuration(d.least)
	}
	return shortDuration(d.least) + " to " + shortDuration(d.most)
}

func validateScale(a *Autoscale, errs *Errors) {
	for _, n := range []struct {
		field string
		value *int64
		least int64
		most  int64
	}{
		{"min_scale", a.MinScale, 0, 1<<31 - 1},
		{"max_scale", a.MaxScale, 0, 1<<31 - 1},
		{"initial_scale", a.InitialScale, 0, 1<<31 - 1},
		{"target", a.Target, 1, 1<<31 - 1},
		{"target_utilization", a.TargetUtilization, 1, 100},
		{"concurrency", a.Concurrency, 0, 1<<31 - 1},
	} {
		if n.value != nil && (*n.value < n.least || *n.value > n.most) {
			errs.add("autoscale", "%s is %d: give a number from %d to %d.", n.field, *n.value, n.least, n.most)
		}
	}
	// Knative takes a maximum of zero for none.
	if a.MinScale != nil && a.MaxScale != nil && *a.MaxScale > 0 && *a.MinScale > *a.MaxScale {
		errs.add("autoscale", "min_scale is %d, which is more than max_scale, %d: lower the one or raise the other.", *a.MinScale, *a.MaxScale)
	}
}

func validateClass(a *Autoscale, errs *Errors) {
	class := cmp.Or(a.AutoscalerClass, kind.KPAClass)
	switch {
	case class != kind.KPAClass && class != kind.HPAClass:
		errs.add("autoscale", "autoscaler_class is %q: give %q or %q.", class, kind.KPAClass, kind.HPAClass)
	case class == kind.KPAClass && a.Metric != "" && a.Metric != "concurrency" && a.Metric != "rps":
		errs.add("autoscale", "metric is %q, which needs autoscaler_class %q: %q knows concurrency and rps only.", a.Metric, kind.HPAClass, kind.KPAClass)
	case class == kind.HPAClass && a.ScaleDownDelay != "":
		errs.add("autoscale", "scale_down_delay is %q, which only autoscaler_class %q has: remove it.", a.ScaleDownDelay, kind.KPAClass)
	}
}

// observeAutoscale reads back what autoscaleAnnotations and the defaults give.
func observeAutoscale(workload map[string]any) *Autoscale {
	annotations := kind.TextsAt(workload, "spec", "template", "metadata", "annotations")
	take := func(key string) string {
		text := annotations[key]
		delete(annotations, key)
		return text
	}
	number := func(key string) *int64 {
		n, err := strconv.ParseInt(annotations[key], 10, 64)
		if err != nil {
			return nil
		}
		delete(annotations, key)
		return &n
	}
	a := &Autoscale{
		MinScale: number(kind.MinScaleAnnotation), MaxScale: number(kind.MaxScaleAnnotation), InitialScale: number(kind.InitialScaleAnnotation),
		Target: number(kind.TargetAnnotation), TargetUtilization: number(kind.UtilizationAnnotation),
		Metric: take(kind.MetricAnnotation), Window: take(kind.WindowAnnotation), AutoscalerClass: take(kind.ClassAnnotation),
		ScaleDownDelay: take(kind.ScaleDownDelayAnnotation), ScaleToZeroPodRetentionPeriod: take(kind.PodRetentionAnnotation),
		ProgressDeadline: take(kind.ProgressDeadlineAnnotation),
	}
	if n, ok := kind.NumberAt(workload, []string{"spec", "template", "spec", "containerConcurrency"}); ok {
		a.Concurrency = &n
	}
	for key, value := range annotations {
		if name, ok := strings.CutPrefix(key, kind.AutoscalingDomain); ok {
			if a.ExtraAnnotations == nil {
				a.ExtraAnnotations = map[string]string{}
			}
			a.ExtraAnnotations[name] = value
		}
	}
	return a
}
