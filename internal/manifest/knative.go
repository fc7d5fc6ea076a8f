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

// autoscaleDefaults returns Kubetorch's annotations for servers that take minutes to
// start. Annotations of the user override them.
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

// autoscaleAnnotations returns the annotations for the attribute autoscale. validate
// has rejected contradictory ones.
func autoscaleAnnotations(c Compute) map[string]string {
	if c.Autoscale == nil {
		return nil
	}
	annotations := map[string]string{}
	for key, value := range c.Autoscale.ExtraAnnotations {
		annotations[autoscalingKey(key)] = value
	}
	for _, s := range autoscaleSettings(c.Autoscale) {
		annotations[s.annotation] = s.value
	}
	return annotations
}

// autoscaleSetting is an attribute of autoscale that is set, with its annotation.
type autoscaleSetting struct{ field, annotation, value string }

func autoscaleSettings(a *Autoscale) []autoscaleSetting {
	text := func(number *int64) string {
		if number == nil {
			return ""
		}
		return strconv.FormatInt(*number, 10)
	}
	settings := []autoscaleSetting{
		{"min_scale", kind.MinScaleAnnotation, text(a.MinScale)},
		{"max_scale", kind.MaxScaleAnnotation, text(a.MaxScale)},
		{"initial_scale", kind.InitialScaleAnnotation, text(a.InitialScale)},
		{"target", kind.TargetAnnotation, text(a.Target)},
		{"target_utilization", kind.UtilizationAnnotation, text(a.TargetUtilization)},
		{"metric", kind.MetricAnnotation, a.Metric}, {"autoscaler_class", kind.ClassAnnotation, a.AutoscalerClass},
	}
	for _, d := range autoscaleDurations(a) {
		settings = append(settings, autoscaleSetting{d.field, d.annotation, knativeDuration(d.value)})
	}
	return slices.DeleteFunc(settings, func(s autoscaleSetting) bool { return s.value == "" })
}

func autoscalingKey(key string) string {
	if strings.Contains(key, "/") {
		return key
	}
	return kind.AutoscalingDomain + key
}

// autoscaleDuration is a duration that is set, with the limits of Knative
// (knative.dev/serving/pkg/apis/autoscaling).
type autoscaleDuration struct {
	field, annotation, value string
	least, most              time.Duration // most of zero: no limit
}

func autoscaleDurations(a *Autoscale) []autoscaleDuration {
	return slices.DeleteFunc([]autoscaleDuration{
		{"window", kind.WindowAnnotation, a.Window, 6 * time.Second, time.Hour},
		{"scale_down_delay", kind.ScaleDownDelayAnnotation, a.ScaleDownDelay, 0, time.Hour},
		{"scale_to_zero_pod_retention_period", kind.PodRetentionAnnotation, a.ScaleToZeroPodRetentionPeriod, 0,
			time.Hour},
		{"progress_deadline", kind.ProgressDeadlineAnnotation, a.ProgressDeadline, time.Second, 0},
	}, func(d autoscaleDuration) bool { return d.value == "" })
}

// knativeDuration returns a duration in the notation of Go, unchanged if it is in
// that notation already.
func knativeDuration(s string) string {
	if _, err := time.ParseDuration(s); err == nil {
		return s
	}
	d, _ := ParseDuration(s)
	return shortDuration(d)
}

// shortDuration is FormatDuration with fractions of a second rounded up.
func shortDuration(d time.Duration) string {
	if whole := d.Truncate(time.Second); whole < d {
		d = whole + time.Second
	}
	return FormatDuration(d)
}

// validateAutoscale rejects settings that Knative's webhook would reject
// (knative.dev/serving/pkg/apis/autoscaling), or that its autoscaler ignores.
func validateAutoscale(c Compute, errs *Errors) {
	a := c.Autoscale
	if a == nil {
		return
	}
	at := func(field string) Path { return At("autoscale", Name(field)) }
	// For Knative, a maximum of zero means no limit.
	if a.MinScale != nil && a.MaxScale != nil && *a.MaxScale > 0 && *a.MinScale > *a.MaxScale {
		errs.At(at("min_scale"), "is %d, more than autoscale.max_scale, %d: decrease the former or increase the "+
			"latter.",
			*a.MinScale, *a.MaxScale)
	}
	class := cmp.Or(a.AutoscalerClass, kind.KPAClass)
	if class == kind.KPAClass && !slices.Contains([]string{"", "concurrency", "rps"}, a.Metric) {
		errs.At(at("metric"),
			"is %q, but %s supports only concurrency and rps: set autoscaler_class = %q for other metrics.", a.Metric,
			kind.KPAClass, kind.HPAClass).
			Concerning(at("autoscaler_class"))
	}
	if class == kind.HPAClass && a.ScaleDownDelay != "" {
		errs.At(at("scale_down_delay"), "is %q, but only %s supports it: remove it.", a.ScaleDownDelay, kind.KPAClass)
	}
	for _, d := range autoscaleDurations(a) {
		switch value, err := ParseDuration(d.value); {
		case err != nil: // for the schema to report
		case value%time.Second != 0:
			errs.At(at(d.field), "is %q, but Knative requires an integer number of seconds: use "+
				"%s.", d.value, max(d.least,
				value.Round(time.Second)))
		case value < d.least || d.most > 0 && value > d.most:
			errs.At(at(d.field), "is %q, but Knative accepts %s: use a duration in this range.", d.value, d.limits())
		}
	}
	validateExtraAnnotations(a, errs)
}

// validateExtraAnnotations rejects annotations that are set twice, with different values.
func validateExtraAnnotations(a *Autoscale, errs *Errors) {
	type setting struct {
		at    Path
		value string
	}
	set := map[string]setting{}
	for _, s := range autoscaleSettings(a) {
		set[s.annotation] = setting{At("autoscale", Name(s.field)), s.value}
	}
	for _, key := range slices.Sorted(maps.Keys(a.ExtraAnnotations)) {
		at, value := At("autoscale", Name("extra_annotations"), Entry(key)), a.ExtraAnnotations[key]
		if other, ok := set[autoscalingKey(key)]; ok && other.value != value {
			errs.At(at, "is %q, but %s sets this annotation to %q: remove one of the "+
				"two.", value, other.at, other.value).
				Concerning(other.at)
			continue
		}
		set[autoscalingKey(key)] = setting{at, value}
	}
}

func (d autoscaleDuration) limits() string {
	if d.most == 0 {
		return "no less than " + shortDuration(d.least)
	}
	return shortDuration(d.least) + " to " + shortDuration(d.most)
}

// observeAutoscale is the inverse of autoscaleAnnotations. It includes the defaults.
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
		MinScale: number(kind.MinScaleAnnotation), MaxScale: number(kind.MaxScaleAnnotation),
		InitialScale: number(kind.InitialScaleAnnotation),
		Target:       number(kind.TargetAnnotation), TargetUtilization: number(kind.UtilizationAnnotation),
		Metric: take(kind.MetricAnnotation), Window: take(kind.WindowAnnotation),
		AutoscalerClass:               take(kind.ClassAnnotation),
		ScaleDownDelay:                take(kind.ScaleDownDelayAnnotation),
		ScaleToZeroPodRetentionPeriod: take(kind.PodRetentionAnnotation),
		ProgressDeadline:              take(kind.ProgressDeadlineAnnotation),
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
