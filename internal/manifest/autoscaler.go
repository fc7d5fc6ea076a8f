package manifest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Scalers of [Autoscale].
const (
	ScalerKnative = "knative"
	ScalerHPA     = "hpa"
	ScalerKEDA    = "keda"
)

// ScalesWorkload reports whether a scaler is an object beside the workload, which sets its number of pods through the
// subresource scale. The workload then contains no number.
func ScalesWorkload(scaler string) bool { return scaler == ScalerHPA || scaler == ScalerKEDA }

func (a *Autoscale) scalesWorkload() bool { return a != nil && ScalesWorkload(a.Scaler) }

func (a *Autoscale) isKnative() bool { return a != nil && !ScalesWorkload(a.Scaler) }

// Trigger is what KEDA scales by, as ScaleTriggers of its API.
type Trigger struct {
	Type              string                         `json:"type"`
	Name              string                         `json:"name,omitempty"`
	Metadata          map[string]string              `json:"metadata"`
	MetricType        autoscalingv2.MetricTargetType `json:"metricType,omitempty"`
	AuthenticationRef *AuthenticationRef             `json:"authenticationRef,omitempty"`
}

// AuthenticationRef is a TriggerAuthentication of KEDA, or a ClusterTriggerAuthentication.
type AuthenticationRef struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
}

// scaledObjectSpec is the part of the spec of a ScaledObject that attributes set
// (apis/keda/v1alpha1/scaledobject_types.go of github.com/kedacore/keda). Times are in seconds.
type scaledObjectSpec struct {
	ScaleTargetRef  autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`
	MinReplicaCount *int64                                    `json:"minReplicaCount,omitempty"`
	MaxReplicaCount *int64                                    `json:"maxReplicaCount,omitempty"`
	PollingInterval *int64                                    `json:"pollingInterval,omitempty"`
	CooldownPeriod  *int64                                    `json:"cooldownPeriod,omitempty"`
	Triggers        []Trigger                                 `json:"triggers"`
	Advanced        struct {
		HorizontalPodAutoscalerConfig struct {
			Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
		} `json:"horizontalPodAutoscalerConfig"`
	} `json:"advanced"`
}

// horizontalSpec is the spec of a HorizontalPodAutoscaler.
type horizontalSpec struct {
	ScaleTargetRef autoscalingv2.CrossVersionObjectReference      `json:"scaleTargetRef"`
	MinReplicas    *int64                                         `json:"minReplicas,omitempty"`
	MaxReplicas    *int64                                         `json:"maxReplicas,omitempty"`
	Metrics        []autoscalingv2.MetricSpec                     `json:"metrics,omitempty"`
	Behavior       *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// renderAutoscaler returns the object that scales the workload of a compute.
func renderAutoscaler(c Compute, k kind.Kind) map[string]any {
	a, of := c.Autoscale, kind.HorizontalPodAutoscaler()
	target := autoscalingv2.CrossVersionObjectReference{
		APIVersion: k.GroupVersion().String(), Kind: k.Kind, Name: c.Name,
	}
	var spec any = &horizontalSpec{ScaleTargetRef: target, MinReplicas: a.MinScale, MaxReplicas: a.MaxScale,
		Metrics: typedMetrics(a.Metrics), Behavior: a.Behavior}
	if a.Scaler == ScalerKEDA {
		of = kind.ScaledObject()
		scaled := scaledObjectSpec{ScaleTargetRef: target, MinReplicaCount: a.MinScale, MaxReplicaCount: a.MaxScale,
			PollingInterval: secondsOf(a.PollingInterval), CooldownPeriod: secondsOf(a.CooldownPeriod),
			Triggers: a.Triggers}
		scaled.Advanced.HorizontalPodAutoscalerConfig.Behavior = a.Behavior
		spec = &scaled
	}
	return newObject(of, c.Namespace, c.Name, kind.Texts(serviceLabels(c)), nil, toMap(spec))
}

// typedMetrics returns the metrics with the types of their sources and targets.
func typedMetrics(metrics []autoscalingv2.MetricSpec) []autoscalingv2.MetricSpec {
	typed := make([]autoscalingv2.MetricSpec, len(metrics))
	for i := range metrics {
		metrics[i].DeepCopyInto(&typed[i])
		for _, s := range sourcesOf(&typed[i]) {
			typed[i].Type = s.typ
			switch {
			case s.target.AverageUtilization != nil:
				s.target.Type = autoscalingv2.UtilizationMetricType
			case s.target.AverageValue != nil:
				s.target.Type = autoscalingv2.AverageValueMetricType
			default:
				s.target.Type = autoscalingv2.ValueMetricType
			}
		}
	}
	return typed
}

// metricSource is a source that a metric sets.
type metricSource struct {
	attribute string
	typ       autoscalingv2.MetricSourceType
	target    *autoscalingv2.MetricTarget
}

// sourcesOf returns the sources of a metric. A valid one has exactly one.
func sourcesOf(m *autoscalingv2.MetricSpec) []metricSource {
	var sources []metricSource
	if m.Resource != nil {
		sources = append(sources, metricSource{"resource", autoscalingv2.ResourceMetricSourceType, &m.Resource.Target})
	}
	if m.Pods != nil {
		sources = append(sources, metricSource{"pods", autoscalingv2.PodsMetricSourceType, &m.Pods.Target})
	}
	if m.Object != nil {
		sources = append(sources, metricSource{"object", autoscalingv2.ObjectMetricSourceType, &m.Object.Target})
	}
	if m.External != nil {
		sources = append(sources, metricSource{"external", autoscalingv2.ExternalMetricSourceType, &m.External.Target})
	}
	return sources
}

// MissingRequests reports each utilization of a HorizontalPodAutoscaler for which a container of the pods has no
// request. Its controller then computes no number of pods (calculateRequests in
// pkg/controller/podautoscaler/replica_calculator.go of k8s.io/kubernetes). Of a LeaderWorkerSet, it counts the
// leaders, the first group. Requests of the pod itself replace those of its containers.
func MissingRequests(autoscaler, workload *unstructured.Unstructured) (missing Errors) {
	if autoscaler == nil || workload == nil {
		return nil
	}
	spec, groups := SpecOf[horizontalSpec](autoscaler.Object), Demands(workload)
	if spec == nil || len(groups) == 0 || groups[0].template.Spec.Resources != nil {
		return nil
	}
	for i, m := range spec.Metrics {
		usage := ptr.Deref(m.Resource, autoscalingv2.ResourceMetricSource{})
		for _, c := range kind.LastingContainers(&groups[0].template) {
			if _, isSet := c.Resources.Requests[usage.Name]; !isSet && usage.Target.AverageUtilization != nil {
				at := inAutoscale("metrics").At(Index(i), Name("resource"), Name("target"), Name("average_utilization"))
				missing.report(at, "Utilization without a request", "The container %q does not request %s, of which "+
					"it is a percentage. Unless a LimitRange adds the request, the metric adds no pods.\n\nNext step: "+
					"Set cpus or memory, also in sidecars, or average_value.", c.Name, usage.Name)
			}
		}
	}
	return missing
}

// observeAutoscaler is the inverse of renderAutoscaler. It returns nil for a spec with values of other types.
func observeAutoscaler(live *unstructured.Unstructured) *Autoscale {
	if live.GetKind() == kind.HorizontalPodAutoscaler().Kind {
		spec := SpecOf[horizontalSpec](live.Object)
		if spec == nil {
			return nil
		}
		return &Autoscale{Scaler: ScalerHPA, MinScale: spec.MinReplicas, MaxScale: spec.MaxReplicas,
			Metrics: spec.Metrics, Behavior: spec.Behavior}
	}
	spec := SpecOf[scaledObjectSpec](live.Object)
	if spec == nil {
		return nil
	}
	return &Autoscale{Scaler: ScalerKEDA, MinScale: spec.MinReplicaCount, MaxScale: spec.MaxReplicaCount,
		PollingInterval: fromSeconds(spec.PollingInterval), CooldownPeriod: fromSeconds(spec.CooldownPeriod),
		Triggers: spec.Triggers, Behavior: spec.Advanced.HorizontalPodAutoscalerConfig.Behavior}
}

// AutoscalerOf returns the HorizontalPodAutoscaler or ScaledObject of a workload, or nil.
func AutoscalerOf(
	workload *unstructured.Unstructured, all map[string]*unstructured.Unstructured,
) *unstructured.Unstructured {
	for _, autoscaler := range all {
		scaled := kind.TextsAt(autoscaler.Object, "spec", "scaleTargetRef")
		if autoscaler.GetNamespace() == workload.GetNamespace() && scaled["name"] == workload.GetName() &&
			schema.FromAPIVersionAndKind(scaled["apiVersion"], scaled["kind"]).GroupKind() ==
				workload.GroupVersionKind().GroupKind() {
			return autoscaler
		}
	}
	return nil
}

// scalerAttribute is an attribute of autoscale that not all scalers have.
type scalerAttribute struct {
	name    string
	isSet   bool
	scalers []string
}

func (a *Autoscale) scalerAttributes() []scalerAttribute {
	hpa, keda := []string{ScalerHPA}, []string{ScalerKEDA}
	attributes := []scalerAttribute{
		{"metrics", len(a.Metrics) > 0, hpa},
		{"triggers", len(a.Triggers) > 0, keda},
		{"polling_interval", a.PollingInterval != nil, keda},
		{"cooldown_period", a.CooldownPeriod != nil, keda},
		{"behavior", a.Behavior != nil, []string{ScalerHPA, ScalerKEDA}},
		{"concurrency", a.Concurrency != nil, []string{ScalerKnative}},
		{"extra_annotations", len(a.ExtraAnnotations) > 0, []string{ScalerKnative}},
	}
	for _, s := range a.settings() {
		if s.annotation != kind.MinScaleAnnotation && s.annotation != kind.MaxScaleAnnotation {
			attributes = append(attributes, scalerAttribute{s.field, s.value() != "", []string{ScalerKnative}})
		}
	}
	return attributes
}

func inAutoscale(attribute string) Path { return At("autoscale", Name(attribute)) }

// validateScaler rejects attributes of another scaler, and what the API server or the controller of a scaler would
// reject.
func validateScaler(c Compute, errs *Errors) {
	a, scaler := c.Autoscale, inAutoscale("scaler")
	if a == nil {
		return
	}
	chosen := cmp.Or(a.Scaler, ScalerKnative)
	for _, attribute := range a.scalerAttributes() {
		if attribute.isSet && !slices.Contains(attribute.scalers, chosen) {
			errs.report(inAutoscale(attribute.name), conflict, "autoscale.%s requires scaler = \"%s\", but it is %q: "+
				"remove it, or set another scaler.", attribute.name, strings.Join(attribute.scalers, `" or "`), chosen).
				Concerning(scaler)
		}
	}
	if !a.scalesWorkload() {
		return
	}
	missing := func(attribute, why string) {
		errs.report(inAutoscale(attribute), "Missing "+attribute, "autoscale.%s is not set, but scaler = %q requires "+
			"it: %s.", attribute, chosen, why).Concerning(scaler)
	}
	switch {
	case a.MaxScale != nil && *a.MaxScale == 0:
		errs.At(inAutoscale("max_scale"), "is 0, which means no limit only for Knative: set a number of pods.").
			Concerning(scaler)
	case a.MaxScale == nil && a.Scaler == ScalerHPA:
		missing("max_scale", "set the maximum number of pods")
	}
	switch {
	case a.Scaler == ScalerKEDA && len(a.Triggers) == 0:
		missing("triggers", "set at least one trigger")
	case a.Scaler == ScalerHPA && len(a.Metrics) == 0:
		missing("metrics", "set at least one metric")
	}
	if ptr.Deref(a.PollingInterval, time.Second) == 0 { // the CRD of KEDA has a minimum of 1
		errs.At(inAutoscale("polling_interval"), "is zero: set at least 1s, or remove it.")
	}
	validateWholeSeconds(inAutoscale("polling_interval"), ptr.Deref(a.PollingInterval, 0), errs)
	validateWholeSeconds(inAutoscale("cooldown_period"), ptr.Deref(a.CooldownPeriod, 0), errs)
	if a.Scaler == ScalerKEDA {
		validateTriggers(a, errs)
	} else {
		validateMetrics(a, errs)
	}
	validateScaledWorkload(c, errs)
}

// validateMetrics rejects a metric without one source with one target, and a minimum of zero that nothing can leave.
func validateMetrics(a *Autoscale, errs *Errors) {
	leavesZero := len(a.Metrics) == 0
	for i := range a.Metrics {
		at, m := inAutoscale("metrics").At(Index(i)), &a.Metrics[i]
		if !errs.exactlyOne(at, choice{"resource", m.Resource != nil}, choice{"pods", m.Pods != nil},
			choice{"object", m.Object != nil}, choice{"external", m.External != nil}) {
			continue
		}
		source := sourcesOf(m)[0]
		other := choice{"value", source.target.Value != nil}
		switch source.typ {
		case autoscalingv2.PodsMetricSourceType:
			continue // the schema requires average_value
		case autoscalingv2.ResourceMetricSourceType:
			other = choice{"average_utilization", source.target.AverageUtilization != nil}
		default:
			leavesZero = true
		}
		errs.exactlyOne(at.At(Name(source.attribute), Name("target")),
			choice{"average_value", source.target.AverageValue != nil}, other)
	}
	if ptr.Deref(a.MinScale, 1) == 0 && !leavesZero {
		errs.At(inAutoscale("min_scale"), "is 0, but the metrics of pods do not exist without pods: add an object or "+
			"external metric, or set at least 1.").Concerning(inAutoscale("metrics"), inAutoscale("scaler"))
	}
}

// validateTriggers rejects what KEDA would reject only in the apply, or when it reads the triggers: see
// apis/keda/v1alpha1/scaledobject_webhook.go and pkg/scalers of github.com/kedacore/keda, release 2.21.
func validateTriggers(a *Autoscale, errs *Errors) {
	leavesZero, names := len(a.Triggers) == 0, map[string]Path{}
	for i, t := range a.Triggers {
		at := At("autoscale", Name("triggers"), Index(i))
		// The API server requires the field, which is not sent if it is empty. The schema reports a missing one.
		if t.Metadata != nil && len(t.Metadata) == 0 {
			errs.At(at.At(Name("metadata")), "is empty, but KEDA requires the settings of the trigger in it: set "+
				"those of its type, as in https://keda.sh/docs/latest/scalers/.")
		}
		if other, used := names[t.Name]; used && t.Name != "" {
			errs.report(at.At(Name("name")), "Duplicate name", "%s and %s are both %q: use another name.",
				at.At(Name("name")), other, t.Name).Concerning(other)
		}
		names[t.Name] = at.At(Name("name"))
		ofPods := t.Type == "cpu" || t.Type == "memory"
		leavesZero = leavesZero || !ofPods
		allowed := []autoscalingv2.MetricTargetType{autoscalingv2.AverageValueMetricType,
			autoscalingv2.ValueMetricType}
		if ofPods {
			allowed[1] = autoscalingv2.UtilizationMetricType
		}
		// Before release 2.18, metadata could contain the type of the metric.
		if isDefault := t.MetricType == "" && (!ofPods || t.Metadata["type"] != ""); !isDefault &&
			!slices.Contains(allowed, t.MetricType) {
			errs.At(at.At(Name("metric_type")), "must be %q or %q in a trigger of the type %s: set one of the two.",
				allowed[0], allowed[1], t.Type).Concerning(at.At(Name("type")), at.At(Name("metadata")))
		}
	}
	if ptr.Deref(a.MinScale, 0) == 0 && !leavesZero {
		errs.At(inAutoscale("min_scale"), "is 0, the default of KEDA, but the CPU and memory of pods cannot be "+
			"measured without pods: add a trigger of another type, or set at least 1.").
			Concerning(inAutoscale("triggers"), inAutoscale("scaler"))
	}
}

// validateScaledWorkload rejects a workload whose number of pods no autoscaler can set, or that sets it itself.
func validateScaledWorkload(c Compute, errs *Errors) {
	k := kindOf(c)
	if len(k.Scale) == 0 && !k.Empty() && c.Job == nil { // that of job is reported there
		errs.report(At("autoscale"), conflict, "autoscale.scaler = %q changes the number of pods of a Deployment, "+
			"StatefulSet, ReplicaSet or LeaderWorkerSet, but the workload is a %s: remove autoscale, or use one of "+
			"these kinds.", c.Autoscale.Scaler, k.Word()).Concerning(modeAttributes()...)
		return
	}
	for _, given := range []struct {
		attribute string
		object    map[string]any
	}{{"manifest", c.Manifest}, {"service_template", c.ServiceTemplate}} {
		if _, set := kind.Find(given.object, k.Scale); set && len(k.Scale) > 0 {
			errs.report(At(given.attribute), conflict, "%s sets %s, but the autoscaler sets the number of pods: "+
				"remove it.", given.attribute, dotted(k.Scale)).Concerning(modeAttributes()...)
		}
	}
}
