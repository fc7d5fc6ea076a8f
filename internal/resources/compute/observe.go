package compute

import (
	"cmp"
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// follow makes the typed attributes follow what changed between two
// observations of the workload. An attribute whose field did not change keeps
// its own wording, so that nothing but drift ever shows in a plan.
func (m *model) follow(ctx context.Context, before, after manifest.Compute) diag.Diagnostics {
	f := follower{ctx: ctx}
	for _, r := range rows {
		if r.follow != nil {
			r.follow(&f, m, &before, &after)
		}
	}
	return f.diags
}

// adopt fills an empty model from an observation, as import needs it, with the
// defaults of the attributes that a workload does not show.
func (m *model) adopt(ctx context.Context, seen manifest.Compute, defaults tf.Defaults) diag.Diagnostics {
	m.Suspend, m.AdoptExisting, m.DeletionProtection = types.BoolValue(false), types.BoolValue(false),
		types.BoolValue(false)
	held := seen.QueueName != "" && seen.QueueScheduler == manifest.QueueSchedulerKueue
	switch scaled := manifest.HasReplicas(m.Mode.ValueString()); {
	case scaled && seen.Replicas == 0:
		m.Suspend, seen.Replicas = types.BoolValue(true), 1 // how many it runs when resumed, it does not show
	case seen.Suspend && !held:
		m.Suspend = types.BoolValue(true)
	}
	m.Freeze = types.BoolValue(seen.Freeze)
	if manifest.HasReplicas(m.Mode.ValueString()) {
		m.Replicas = types.Int64Value(seen.Replicas)
	}
	m.QueueScheduler = types.StringValue(manifest.QueueSchedulerKueue)
	m.Runtime, m.OnNotReady = types.StringValue(cmp.Or(seen.Runtime, kind.RuntimeKubetorch)),
		types.StringValue(failOnNotReady)
	before := unset(seen)
	seen.Labels = without(seen.Labels, defaults.Labels)
	seen.Annotations = without(seen.Annotations, defaults.Annotations)
	if seen.LaunchTimeout == defaults.LaunchTimeout {
		seen.LaunchTimeout = 0 // the provider's default renders it
	}
	if wantsGPU := seen.GPUs > 0 || seen.GPUMemory != nil; !wantsGPU &&
		seen.GPUAntiAffinity != defaults.GPUAntiAffinity {
		m.GPUAntiAffinity = types.BoolValue(seen.GPUAntiAffinity)
	}
	before.Replicas, before.Freeze, before.GPUAntiAffinity = seen.Replicas, seen.Freeze, seen.GPUAntiAffinity
	before.Suspend = seen.Suspend // a suspension of a queue's is none of the user's
	if seen.ImageSetup != nil {   // follow fills it in
		m.ImageRef = types.ObjectUnknown(m.ImageRef.AttributeTypes(ctx))
	}
	return m.follow(ctx, before, seen)
}

// unset is what a compute of this mode shows whose autoscale and distribute say
// nothing, so that an import does not take defaults for settings.
func unset(seen manifest.Compute) manifest.Compute {
	bare := manifest.Compute{Name: "x", Namespace: "x", Replicas: 1, LaunchTimeout: seen.LaunchTimeout}
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
	return manifest.Compute{Autoscale: shown.Autoscale, Distribute: shown.Distribute}
}

// common keeps of the attributes of somebody else's workload those that every
// compute has. An apply takes these over; of the others it would leave in place
// what the configuration lacks, so that a plan must not show it as removed.
func common(seen manifest.Compute) manifest.Compute {
	if manifest.RunsTensorServer(seen.Runtime) {
		return manifest.Compute{Runtime: seen.Runtime, Suspend: seen.Suspend} // all else may be the operator's
	}
	return manifest.Compute{
		Replicas: seen.Replicas, Image: seen.Image, ServiceAccountName: seen.ServiceAccountName, Freeze: seen.Freeze,
	}
}

// followService makes the attributes follow what the Service selects, the
// pods that exist already where the compute has none of its own.
func (m *model) followService(ctx context.Context, before, after *unstructured.Unstructured) diag.Diagnostics {
	if m.Mode.ValueString() != kind.ModeSelector || !m.Endpoint.IsNull() {
		return m.followEndpoint(ctx, manifest.ObserveEndpoint(before), manifest.ObserveEndpoint(after))
	}
	f := follower{ctx: ctx}
	f.maps(&m.Selector, selected(before), selected(after))
	return f.diags
}

func selected(service *unstructured.Unstructured) map[string]string {
	if endpoint := manifest.ObserveEndpoint(service); endpoint != nil {
		return endpoint.Selector
	}
	return nil
}

// followEndpoint makes the attribute endpoint follow what the Service selects.
func (m *model) followEndpoint(ctx context.Context, before, after *manifest.Endpoint) diag.Diagnostics {
	if reflect.DeepEqual(before, after) {
		return nil
	}
	f := follower{ctx: ctx}
	if after == nil {
		m.Endpoint = types.ObjectNull(m.Endpoint.AttributeTypes(ctx))
		return nil
	}
	selector, diags := types.MapValueFrom(ctx, types.StringType, after.Selector)
	f.diags.Append(diags...)
	m.Endpoint = f.object(m.Endpoint, endpointModel{URL: types.StringNull(), Selector: selector})
	return f.diags
}

// durationText writes 90s as "1m30s" and 20m as "20m".
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func without(m, defaults map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range m {
		if d, ok := defaults[key]; !ok || d != value {
			out[key] = value
		}
	}
	return out
}

// followLogLevel follows the log level in env_vars, if it is given there, else in logging.
func (m *model) followLogLevel(f *follower, before, after string) {
	if _, given := m.EnvVars.Elements()[manifest.LogLevelVariable]; given {
		f.maps(&m.EnvVars, logLevelVariable(before), logLevelVariable(after))
		return
	}
	if before != after && after != "" && !(m.Logging.IsNull() && after == manifest.DefaultLogLevel) {
		var logging loggingModel
		if !m.Logging.IsNull() {
			f.diags.Append(tf.Object(f.ctx, m.Logging, &logging)...)
		}
		logging.Level = types.StringValue(after)
		m.Logging = f.object(m.Logging, logging)
	}
}

func logLevelVariable(level string) map[string]string {
	if level == "" {
		return nil
	}
	return map[string]string{manifest.LogLevelVariable: strings.ToUpper(level)}
}

// followNodes follows the node selector, one label of which may stand in gpu_type.
func followNodes(f *follower, m *model, before, after *manifest.Compute) {
	f.texts(map[*types.String][2]string{&m.GPUType: {before.GPUType, after.GPUType}})
	was, is := before.NodeSelector, after.NodeSelector
	key, _, err := manifest.ParseGPUType(m.GPUType.ValueString())
	if value := is[key]; err == nil && was[key] != value {
		m.GPUType = types.StringNull()
		if value != "" {
			m.GPUType = types.StringValue(key + ": " + value)
		}
		was, is = without(was, map[string]string{key: was[key]}), without(is, map[string]string{key: value})
	}
	f.maps(&m.NodeSelector, was, is)
}

func followQuantity(attribute *tf.Quantity, before, after *resource.Quantity) {
	switch {
	case before == nil && after == nil, before != nil && after != nil && before.Cmp(*after) == 0:
	case after == nil:
		*attribute = tf.QuantityOf("")
	default:
		*attribute = tf.QuantityOf(after.String())
	}
}

// follower gathers diagnostics of conversions.
type follower struct {
	ctx   context.Context //nolint:containedctx // lives as long as one call of follow
	diags diag.Diagnostics
}

// texts sets each attribute whose text changed; an empty one is null.
func (f *follower) texts(attributes map[*types.String][2]string) {
	for attribute, text := range attributes {
		if text[0] == text[1] {
			continue
		}
		*attribute = types.StringNull()
		if text[1] != "" {
			*attribute = types.StringValue(text[1])
		}
	}
}

// maps follows the keys that the attribute has, and ones that are new.
// A key that came from the provider's defaults shows in manifests only.
func (f *follower) maps(attribute *types.Map, before, after map[string]string) {
	current := map[string]string{}
	if !attribute.IsNull() {
		f.diags.Append(attribute.ElementsAs(f.ctx, &current, false)...)
	}
	changed := false
	for key, value := range after {
		was, had := before[key]
		_, mine := current[key]
		if !had || (mine && was != value) {
			current[key], changed = value, true
		}
	}
	for key := range before {
		if _, still := after[key]; still {
			continue
		}
		if _, mine := current[key]; mine {
			delete(current, key)
			changed = true
		}
	}
	if !changed {
		return
	}
	*attribute = types.MapNull(types.StringType)
	if len(current) > 0 {
		value, diags := types.MapValueFrom(f.ctx, types.StringType, current)
		f.diags.Append(diags...)
		*attribute = value
	}
}

func (f *follower) object(current types.Object, value any) types.Object {
	object, diags := types.ObjectValueFrom(f.ctx, current.AttributeTypes(f.ctx), value)
	f.diags.Append(diags...)
	return object
}

func followList[S, T any](f *follower, attribute *types.List, before, after []S, of func(S) T) {
	if reflect.DeepEqual(before, after) || (len(before) == 0 && len(after) == 0) {
		return
	}
	*attribute = listOf(f, attribute.ElementType(f.ctx), after, of)
}

func listOf[S, T any](f *follower, element attr.Type, items []S, of func(S) T) types.List {
	if len(items) == 0 {
		return types.ListNull(element)
	}
	out := make([]T, 0, len(items))
	for _, item := range items {
		out = append(out, of(item))
	}
	list, diags := types.ListValueFrom(f.ctx, element, out)
	f.diags.Append(diags...)
	return list
}

func (f *follower) toleration(t manifest.Toleration) tolerationModel {
	return tolerationModel{
		Key: textOrNull(t.Key), Operator: textOrNull(t.Operator), Value: textOrNull(t.Value),
		Effect: textOrNull(t.Effect), TolerationSeconds: types.Int64PointerValue(t.TolerationSeconds),
	}
}

func (f *follower) secret(s manifest.SecretRef) secretModel {
	mode := types.StringNull()
	if s.DefaultMode != nil {
		mode = types.StringValue(manifest.FileModeText(*s.DefaultMode))
	}
	return secretModel{
		Name: types.StringValue(s.Name), MountPath: textOrNull(s.MountPath), DefaultMode: mode,
		EnvVars: listOf(f, types.StringType, s.EnvVars, func(key string) string { return key }),
	}
}

func (f *follower) volume(v manifest.VolumeRef) volumeModel {
	readOnly := types.BoolNull()
	if v.ReadOnly {
		readOnly = types.BoolValue(true)
	}
	return volumeModel{ClaimName: types.StringValue(v.ClaimName), MountPath: types.StringValue(v.MountPath),
		ReadOnly: readOnly}
}

func textOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
