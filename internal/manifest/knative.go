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
	if !c.Autoscale.isKnative() {
		return nil
	}
	annotations := map[string]string{}
	for key, value := range c.Autoscale.ExtraAnnotations {
		annotations[autoscalingKey(key)] = value
	}
	for _, s := range c.Autoscale.settings() {
		if value := s.value(); value != "" {
			annotations[s.annotation] = value
		}
	}
	return annotations
}

// autoscaleSetting is an attribute of autoscale with its annotation, in both directions. One of the pointers is set.
type autoscaleSetting struct {
	field, annotation string
	number            **int64
	text, duration    *string
	least, most       time.Duration // limits of a duration in Knative; most of zero: no limit
}

// settings returns all settings with an annotation. The limits are those of knative.dev/serving/pkg/apis/autoscaling.
func (a *Autoscale) settings() []autoscaleSetting {
	return []autoscaleSetting{
		{field: "min_scale", annotation: kind.MinScaleAnnotation, number: &a.MinScale},
		{field: "max_scale", annotation: kind.MaxScaleAnnotation, number: &a.MaxScale},
		{field: "initial_scale", annotation: kind.InitialScaleAnnotation, number: &a.InitialScale},
		{field: "target", annotation: kind.TargetAnnotation, number: &a.Target},
		{field: "target_utilization", annotation: kind.UtilizationAnnotation, number: &a.TargetUtilization},
		{field: "metric", annotation: kind.MetricAnnotation, text: &a.Metric},
		{field: "autoscaler_class", annotation: kind.ClassAnnotation, text: &a.AutoscalerClass},
		{field: "window", annotation: kind.WindowAnnotation, duration: &a.Window,
			least: 6 * time.Second, most: time.Hour},
		{field: "scale_down_delay", annotation: kind.ScaleDownDelayAnnotation, duration: &a.ScaleDownDelay,
			most: time.Hour},
		{field: "scale_to_zero_pod_retention_period", annotation: kind.PodRetentionAnnotation,
			duration: &a.ScaleToZeroPodRetentionPeriod, most: time.Hour},
		{field: "progress_deadline", annotation: kind.ProgressDeadlineAnnotation, duration: &a.ProgressDeadline,
			least: time.Second},
	}
}

// value returns the value of the annotation, or "" if the attribute is not set.
func (s autoscaleSetting) value() string {
	switch {
	case s.text != nil:
		return *s.text
	case s.duration != nil && *s.duration != "":
		return knativeDuration(*s.duration)
	case s.number != nil && *s.number != nil:
		return strconv.FormatInt(**s.number, 10)
	default:
		return ""
	}
}

func autoscalingKey(key string) string {
	if strings.Contains(key, "/") {
		return key
	}
	return kind.AutoscalingDomain + key
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

// validateAutoscale rejects settings that the scaler would reject, such as Knative's webhook
// (knative.dev/serving/pkg/apis/autoscaling), or that it ignores.
func validateAutoscale(c Compute, errs *Errors) {
	validateScaler(c, errs)
	a, at := c.Autoscale, inAutoscale
	if a == nil {
		return
	}
	// For Knative, a maximum of zero means no limit.
	if a.MinScale != nil && a.MaxScale != nil && *a.MaxScale > 0 && *a.MinScale > *a.MaxScale {
		errs.At(at("min_scale"), "is %d, more than autoscale.max_scale, %d: decrease the former or increase the "+
			"latter.",
			*a.MinScale, *a.MaxScale)
	}
	if a.scalesWorkload() {
		return
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
	for _, s := range a.settings() {
		if s.duration == nil || *s.duration == "" {
			continue
		}
		switch value, err := ParseDuration(*s.duration); {
		case err != nil: // for the schema to report
		case value%time.Second != 0:
			errs.At(at(s.field), "is %q, but Knative requires an integer number of seconds: use "+
				"%s.", *s.duration, max(s.least, value.Round(time.Second)))
		case value < s.least || s.most > 0 && value > s.most:
			errs.At(at(s.field), "is %q, but Knative accepts %s: use a duration in this range.", *s.duration,
				s.limits())
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
	for _, s := range a.settings() {
		if value := s.value(); value != "" {
			set[s.annotation] = setting{At("autoscale", Name(s.field)), value}
		}
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

func (s autoscaleSetting) limits() string {
	if s.most == 0 {
		return "no less than " + shortDuration(s.least)
	}
	return shortDuration(s.least) + " to " + shortDuration(s.most)
}

// observeAutoscale is the inverse of autoscaleAnnotations. It includes the defaults.
func observeAutoscale(workload map[string]any) *Autoscale {
	annotations := kind.TextsAt(workload, "spec", "template", "metadata", "annotations")
	a := &Autoscale{}
	for _, s := range a.settings() {
		text := annotations[s.annotation]
		if s.number == nil {
			*cmp.Or(s.text, s.duration) = text
		} else if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			*s.number = &n
		} else {
			continue // another value than a number is one of the extra annotations
		}
		delete(annotations, s.annotation)
	}
	if n, ok := kind.NumberAt(workload, []string{"spec", "template", "spec", "containerConcurrency"}); ok {
		a.Concurrency = &n
	}
	for key, value := range annotations {
		if name, ok := strings.CutPrefix(key, kind.AutoscalingDomain); ok {
			a.ExtraAnnotations = withEntry(a.ExtraAnnotations, name, value)
		}
	}
	return a
}
