package compute

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// observe returns the settings that an object of this compute contains.
func (m *model) observe(object *unstructured.Unstructured) manifest.Compute {
	if !isWorkload(object) {
		return manifest.ObserveRelated(object)
	}
	return manifest.Observe(object, decodeFieldPath(m.PodTemplatePath)...)
}

// follow updates the attributes that differ between two observations of an object. Other attributes keep their
// notation, so that a plan shows only drift.
func (m *model) follow(ctx context.Context, before, after manifest.Compute) diag.Diagnostics {
	if before.Suspend != after.Suspend {
		after.Autoscale = before.Autoscale // a Knative Service is suspended by its settings
	}
	c := newConverter(ctx)
	for _, r := range rows {
		if r.follow != nil {
			r.follow(c, m, &before, &after)
		}
	}
	return c.Diags
}

// adopt sets the attributes of an import from an observation. Attributes that a workload does not contain get their
// defaults.
func (m *model) adopt(ctx context.Context, seen manifest.Compute, defaults tf.Defaults) diag.Diagnostics {
	m.Suspend, m.AdoptExisting, m.DeletionProtection = types.BoolValue(false), types.BoolValue(false),
		types.BoolValue(false)
	heldByQueue := seen.QueueName != "" && seen.QueueScheduler == kind.QueueSchedulerKueue
	hasReplicas := kind.OfMode(m.Mode.ValueString()).Scales
	switch {
	case hasReplicas && seen.Replicas == 0 && seen.Job == nil: // a Job has a field that suspends it
		m.Suspend, seen.Replicas = types.BoolValue(true), 1 // the number before the suspension is unknown,
		seen.Strategy = ""                                  // and so is whether its strategy is the default
	case seen.Suspend && !heldByQueue:
		m.Suspend = types.BoolValue(true)
	}
	m.Freeze = types.BoolValue(seen.Freeze)
	if hasReplicas {
		m.Replicas = types.Int64Value(seen.Replicas)
	}
	m.QueueScheduler = types.StringValue(kind.QueueSchedulerKueue)
	m.Runtime, m.OnNotReady = types.StringValue(cmp.Or(seen.Runtime, kind.RuntimeKubetorch)),
		types.StringValue(failOnNotReady)
	before := renderedDefaults(seen)
	before.Probes, m.Probes = seen.Probes, tf.Encode(&newConverter(ctx).Converter, m.Probes, seen.Probes)
	seen.Labels = manifest.Without(seen.Labels, defaults.Labels)
	seen.Annotations = manifest.Without(seen.Annotations, defaults.Annotations)
	if seen.LaunchTimeout == defaults.LaunchTimeout {
		seen.LaunchTimeout = 0 // from the default of the provider
	}
	if !seen.WantsGPU() && seen.GPUAntiAffinity != defaults.GPUAntiAffinity {
		m.GPUAntiAffinity = types.BoolValue(seen.GPUAntiAffinity)
	}
	before.Replicas, before.Freeze, before.GPUAntiAffinity = seen.Replicas, seen.Freeze, seen.GPUAntiAffinity
	before.Suspend = seen.Suspend // may be a suspension by the queue
	return m.follow(ctx, before, seen)
}

// renderedDefaults returns autoscale, distribute, strategy and its limits as a compute of this mode contains them if
// they are empty, so that an import does not set attributes to their defaults.
func renderedDefaults(seen manifest.Compute) manifest.Compute {
	bare := manifest.Compute{Name: "x", Namespace: "x", Replicas: seen.Replicas, LaunchTimeout: seen.LaunchTimeout,
		Command: seen.Command, Args: seen.Args, Port: seen.Port, GPUs: seen.GPUs, GPUMemory: seen.GPUMemory,
		ExtendedResources: seen.ExtendedResources}
	if seen.Autoscale != nil {
		bare.Autoscale = &manifest.Autoscale{}
	}
	if seen.Distribute != nil {
		bare.Distribute = &manifest.Distribute{Type: seen.Distribute.Type}
	}
	objects, err := manifest.Render(bare)
	if err != nil {
		return manifest.Compute{}
	}
	shown := manifest.Observe(objects[0])
	if shown.Distribute != nil {
		shown.Distribute.Workers = 0
	}
	return manifest.Compute{Autoscale: shown.Autoscale, Distribute: shown.Distribute, Strategy: shown.Strategy,
		MaxSurge: shown.MaxSurge, MaxUnavailable: shown.MaxUnavailable}
}

// adoptableSettings returns the settings of an unmanaged workload that every compute has. An apply takes these over. It
// does not remove other fields, so the plan after the import must not show their removal.
func adoptableSettings(seen manifest.Compute) manifest.Compute {
	if manifest.RunsTensorServer(seen.Runtime) {
		return manifest.Compute{Runtime: seen.Runtime, Suspend: seen.Suspend} // the operator may own the others
	}
	return manifest.Compute{
		Replicas: seen.Replicas, Image: seen.Image, ServiceAccountName: seen.ServiceAccountName, Freeze: seen.Freeze,
		Command: seen.Command, Args: seen.Args,
	}
}

// withoutPodDetails omits the settings that the manifest of a workload usually contains. An import cannot distinguish
// whether an attribute or the manifest sets them.
func withoutPodDetails(seen manifest.Compute) manifest.Compute {
	seen.Command, seen.Args, seen.Port, seen.HealthPath = nil, nil, 0, ""
	seen.Ports, seen.Probes, seen.PreStop = nil, nil, nil
	seen.Limits, seen.ExtendedResources, seen.PodLabels = nil, nil, nil
	seen.Affinity, seen.TopologySpread, seen.TerminationGracePeriod = nil, nil, nil
	seen.ConfigMaps, seen.EnvFrom, seen.SecurityContext, seen.HostNetwork = nil, nil, nil, false
	seen.InitContainers, seen.Sidecars = nil, nil
	seen.Volumes = slices.DeleteFunc(slices.Clone(seen.Volumes),
		func(v manifest.VolumeRef) bool { return v.ClaimName == "" })
	return seen
}

// adoptRegistration sets the attributes that only the registration of an imported compute contains. workload is nil if
// there is none.
func (m *model) adoptRegistration(
	ctx context.Context, workload, registration *unstructured.Unstructured,
) diag.Diagnostics {
	c := newConverter(ctx)
	var seen manifest.Compute
	if workload != nil {
		seen = m.observe(workload)
	}
	found := manifest.ObserveRegistration(registration, seen)
	if found.Logging != (manifest.Logging{}) {
		m.Logging = tf.Follow(&c.Converter, m.Logging, manifest.Logging{}, found.Logging)
	}
	podless := m.Mode.ValueString() == kind.ModeSelector
	if podless { // a Service may select other pods
		m.Selector = tf.TextMapOrNull(found.Selector)
	}
	// The selector of a compute with a workload is imported from its Service.
	if found.Endpoint != nil && m.Endpoint.IsNull() && (podless || found.Endpoint.URL != "") {
		m.Endpoint = tf.Encode(&c.Converter, m.Endpoint, found.Endpoint)
	}
	if found.Distribute != nil && m.Manifest.IsNull() {
		m.adoptDistribute(c, *found.Distribute)
		m.adoptStrategy(c, seen, found.Distribute)
	}
	return c.Diags
}

// adoptStrategy sets strategy and its limits again. Their defaults depend on distribute, which only the registration
// contains.
func (m *model) adoptStrategy(c *converter, seen manifest.Compute, distribute *manifest.Distribute) {
	if seen.Replicas == 0 {
		return // suspended: see adopt
	}
	seen.Distribute = distribute
	m.Strategy, m.MaxSurge, m.MaxUnavailable = types.StringNull(), types.StringNull(), types.StringNull()
	shown := renderedDefaults(seen)
	c.FollowModel(m, &shown, &seen, "Strategy", "MaxSurge", "MaxUnavailable")
}

// followEndpoint updates selector or endpoint, either of which is the selector of the Service.
func followEndpoint(c *converter, m *model, before, after *manifest.Compute) {
	if m.Mode.ValueString() == kind.ModeSelector && m.Endpoint.IsNull() {
		was, is := ptr.Deref(before.Endpoint, manifest.Endpoint{}), ptr.Deref(after.Endpoint, manifest.Endpoint{})
		tf.SetChangedEntries(&m.Selector, was.Selector, is.Selector)
		return
	}
	m.Endpoint = tf.Follow(&c.Converter, m.Endpoint, before.Endpoint, after.Endpoint)
}

// gpuProductLabel returns the key of a gpu_type without one in a rendered node selector, or "" if it is not there.
func (m *model) gpuProductLabel(selector map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		_, other := m.NodeSelector.Elements()[key]
		if selector[key] == m.GPUType.ValueString() && !other {
			return key
		}
	}
	return ""
}

// followNodeLabels updates node_selector and gpu_type, which may be one of its labels.
func followNodeLabels(_ *converter, m *model, before, after *manifest.Compute) {
	if before.GPUType.Value != after.GPUType.Value {
		m.GPUType = tf.TextOrNull(after.GPUType.Value)
	}
	was, is := before.NodeSelector, after.NodeSelector
	label, err := manifest.ParseGPUType(m.GPUType.ValueString(), m.gpuProductLabel(was))
	if key, value := label.Key, is[label.Key]; err == nil && was[key] != value {
		switch {
		case value == "":
			m.GPUType = types.StringNull()
		case strings.Contains(m.GPUType.ValueString(), ":"):
			m.GPUType = types.StringValue(key + ": " + value)
		default:
			m.GPUType = types.StringValue(value)
		}
		was = manifest.Without(was, map[string]string{key: was[key]})
		is = manifest.Without(is, map[string]string{key: value})
	}
	tf.SetChangedEntries(&m.NodeSelector, was, is)
}
