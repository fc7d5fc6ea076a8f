package compute

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// An attribute can determine several fields: labels are set on the workload, its pods and its Service. If another
// client changes one of these fields and lifecycle.ignore_changes contains the attribute, Terraform passes the changed
// value as the configuration. Rendering it would also change the other fields. Therefore all fields that an ignored
// attribute determines keep their values.

// unignoredConfig is the configuration before lifecycle.ignore_changes has changed it, and the plan for it.
type unignoredConfig struct{ plan, config model }

// unignoredConfigOf returns nil if lifecycle.ignore_changes has changed nothing, or if that cannot be determined.
func unignoredConfigOf(ctx context.Context, data *tf.ProviderData, req *resource.ModifyPlanRequest) *unignoredConfig {
	config, ok := lifecycle.ConfigAsWritten(ctx, data, tf.ComputeType, req)
	if !ok {
		return nil
	}
	plan, ok := withoutIgnoring(req.Plan.Raw, req.Config.Raw, config)
	if !ok {
		return nil
	}
	var out unignoredConfig
	diags := (&tfsdk.Plan{Raw: plan, Schema: req.Plan.Schema}).Get(ctx, &out.plan)
	diags.Append((&tfsdk.Config{Raw: config, Schema: req.Config.Schema}).Get(ctx, &out.config)...)
	if diags.HasError() {
		return nil
	}
	return &out
}

// withoutIgnoring returns a plan in which the attributes that differ between two configurations are those of the
// original one.
func withoutIgnoring(plan, changed, original tftypes.Value) (tftypes.Value, bool) {
	var out, before, after map[string]tftypes.Value
	if plan.As(&out) != nil || original.As(&before) != nil || changed.As(&after) != nil {
		return plan, false
	}
	out = maps.Clone(out)
	for name, value := range before {
		if !value.Equal(after[name]) {
			out[name] = value
		}
	}
	return tftypes.NewValue(plan.Type(), out), true
}

// preserveIgnored returns the planned objects, in which the fields of ignored attributes have their prior values. These
// are the fields that differ between the planned objects and those of the original configuration.
func (p *planner) preserveIgnored(
	ctx context.Context, planned, prior owned.Objects, options renderOptions,
) owned.Objects {
	if p.unignored == nil {
		return planned
	}
	plan, config := p.unignored.plan, p.unignored.config
	plan.Namespace = p.Plan.Namespace // the same, see configID
	unignored := planner{converter: newConverter(ctx), planning: &planning{
		Data: p.Data, Plan: &plan, State: p.State, Config: &config, PrivateState: p.PrivateState}}
	unignored.addresses()
	unignored.defaults()
	original, diags := render(ctx, plan.asConfigured(&config), options)
	if diags.HasError() {
		return planned
	}
	all := maps.Clone(planned)
	maps.Copy(all, original)
	out := owned.Objects{}
	for key := range all {
		is, other, before := planned[key], original[key], prior[key]
		switch {
		case is != nil && (other == nil || is.Equal(other) || before == nil):
			out[key] = is // the written configuration may have another kind
		case is != nil:
			out[key] = preserveObject(other, is, before)
		case before != nil:
			out[key] = before
		}
	}
	return out
}

// configured returns the plan as the renderer requires it. If replicas is ignored, Terraform passes the number of the
// state. That is not a number that the configuration sets, and not one for all kinds of manifest: see preserveReplicas.
func (p *planner) configured() *model {
	config := *p.Config
	if p.unignored != nil {
		config.Replicas = p.unignored.config.Replicas
	}
	return p.Plan.asConfigured(&config)
}

// preserveReplicas returns the rendered objects with the prior numbers of pods if replicas is ignored, unless an
// autoscaler sets them: a compute can get one after the number was applied. A workload that was deleted, or had no
// number, gets the one that the plan shows.
func (p *planner) preserveReplicas(rendered, prior owned.Objects) owned.Objects {
	workload, before := workloadIn(rendered), workloadIn(prior)
	if p.unignored == nil || p.unignored.config.Replicas.Equal(p.Config.Replicas) || workload == nil ||
		p.Plan.scalesWorkload() {
		return rendered
	}
	workload = workload.DeepCopy()
	was, is := p.State.Suspend.ValueBool(), p.Plan.Suspend.ValueBool()
	number := kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Scale
	had := false
	if before != nil {
		resumed := int64(0)
		if was && !is {
			resumed = p.Plan.Replicas.ValueInt64()
		}
		manifest.PreserveReplicas(workload, before, was || is, resumed, decodeFieldPath(p.Plan.PodTemplatePath)...)
		_, had = kind.NumberAt(before.Object, number)
	}
	if !had && len(number) > 0 && !is && p.Config.Manifest.IsNull() && isKnown(p.Plan.Replicas) {
		kind.SetAt(workload.Object, number, p.Plan.Replicas.ValueInt64())
	}
	preserved, err := owned.ObjectOf(workload)
	if err != nil {
		return rendered
	}
	out := maps.Clone(rendered)
	out[preserved.Key] = preserved
	return out
}

// preserveObject is preserveValue for objects.
func preserveObject(original, planned, prior *owned.Object) *owned.Object {
	preserved, err := owned.ObjectOf(&unstructured.Unstructured{
		Object: preserveFields(original.Content.Object, planned.Content.Object, prior.Content.Object)})
	if err != nil {
		return planned
	}
	return preserved
}

// preserveValue returns the planned value, with the prior values wherever it differs from the original one. A value
// that does not exist is nil.
func preserveValue(original, planned, prior any) any {
	if reflect.DeepEqual(original, planned) {
		return planned
	}
	switch is := planned.(type) {
	case map[string]any:
		other, isMap := original.(map[string]any)
		was, wasMap := prior.(map[string]any)
		if isMap && wasMap {
			return preserveFields(other, is, was)
		}
	case []any:
		other, isList := original.([]any)
		was, wasList := prior.([]any)
		if field := identityOf(other, is, was); isList && wasList && field != "" {
			return preserveItems(field, other, is, was)
		}
	}
	return prior
}

func preserveFields(original, planned, prior map[string]any) map[string]any {
	out := map[string]any{}
	for _, fields := range []map[string]any{original, planned} {
		for key := range fields {
			if value := preserveValue(original[key], planned[key], prior[key]); value != nil {
				out[key] = value
			}
		}
	}
	return out
}

// identityOf returns the field that identifies the items of all lists, or "" if none does. Several items of a list can
// have one name: a volume can have several mounts.
func identityOf(lists ...[]any) string {
	for _, field := range []string{"mountPath", "name", "groupName", "key", "containerPort", "topologyKey"} {
		if !slices.ContainsFunc(lists, func(list []any) bool {
			_, identified := kind.Pair([]string{field}, list, list)
			return len(list) > 0 && !identified
		}) {
			return field
		}
	}
	return ""
}

// indexOf returns the index of the item of a list with the identity of another item, or -1.
func indexOf(field string, list []any, item any) int {
	if pairs, ok := kind.Pair([]string{field}, []any{item}, list); ok {
		return pairs[0]
	}
	return -1
}

// preserveItems is preserveFields for the items of lists, which a field identifies. A planned item stays if prior lacks
// it. If prior contains all of the items, they have the order of prior.
func preserveItems(field string, original, planned, prior []any) []any {
	sameItem := func(list []any, item any) any {
		if i := indexOf(field, list, item); i >= 0 {
			return list[i]
		}
		return nil
	}
	out := []any{}
	for _, item := range planned {
		other, was := sameItem(original, item), sameItem(prior, item)
		if was == nil && other != nil {
			was = item
		}
		if value := preserveValue(other, item, was); value != nil {
			out = append(out, value)
		}
	}
	for _, item := range original {
		if was := sameItem(prior, item); was != nil && sameItem(planned, item) == nil {
			out = append(out, was)
		}
	}
	if !slices.ContainsFunc(out, func(item any) bool { return indexOf(field, prior, item) < 0 }) {
		slices.SortStableFunc(out, func(a, b any) int {
			return indexOf(field, prior, a) - indexOf(field, prior, b)
		})
	}
	return out
}
