package compute

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// An attribute can stand in several fields: labels are those of the workload, of
// its pods and of its Service. Where somebody changes one of these fields and
// lifecycle.ignore_changes names the attribute, the configuration that is planned
// holds the changed value, and rendering it would carry the change into the others.
// So all fields that the attribute decides stay as they are.

// configID is what the configuration of a compute is known by during a run.
func configID(ctx context.Context, config tfsdk.Config) (id string, ok bool) {
	var name, namespace types.String
	diags := config.GetAttribute(ctx, path.Root("name"), &name)
	diags.Append(config.GetAttribute(ctx, path.Root("namespace"), &namespace)...)
	if diags.HasError() || name.IsUnknown() || name.IsNull() || namespace.IsUnknown() {
		return "", false
	}
	return "compute/" + namespace.ValueString() + "/" + name.ValueString(), true
}

// written is the configuration as it is written, where lifecycle.ignore_changes has
// changed it: what would be planned without that, and the configuration.
type written struct{ plan, config model }

// writtenConfig finds out what lifecycle.ignore_changes has changed; nil where it has
// changed nothing, or where that cannot be known.
func writtenConfig(ctx context.Context, data *tf.ProviderData, req resource.ModifyPlanRequest) *written {
	if data == nil || req.State.Raw.IsNull() {
		return nil
	}
	id, ok := configID(ctx, req.Config)
	if !ok {
		return nil
	}
	config, ok := data.Configs.Pop(id)
	if !ok || !config.IsFullyKnown() || config.Equal(req.Config.Raw) {
		return nil
	}
	plan, ok := withoutIgnoring(req.Plan.Raw, req.Config.Raw, config)
	if !ok {
		return nil
	}
	var out written
	diags := (&tfsdk.Plan{Raw: plan, Schema: req.Plan.Schema}).Get(ctx, &out.plan)
	diags.Append((&tfsdk.Config{Raw: config, Schema: req.Config.Schema}).Get(ctx, &out.config)...)
	if diags.HasError() {
		return nil
	}
	return &out
}

// withoutIgnoring is a plan with the attributes as they are written, where planned
// ones differ from these.
func withoutIgnoring(plan, planned, written tftypes.Value) (tftypes.Value, bool) {
	var out, given, original map[string]tftypes.Value
	if plan.As(&out) != nil || planned.As(&given) != nil || written.As(&original) != nil {
		return plan, false
	}
	out = maps.Clone(out)
	for name, value := range original {
		if !value.Equal(given[name]) {
			out[name] = value
		}
	}
	return tftypes.NewValue(plan.Type(), out), true
}

// leaveIgnored leaves the fields as they are in prior objects that an ignored
// attribute decides: where rendering the configuration as it is written gives
// something else than rendering what is planned.
func (p *planner) leaveIgnored(ctx context.Context, rendered, prior objects, with renderOptions) objects {
	if p.written == nil {
		return rendered
	}
	plan, config := p.written.plan, p.written.config
	plan.Namespace = p.Plan.Namespace // the same, see configID
	asWritten := planner{planning: &planning{Data: p.Data, Plan: &plan, State: p.State, Config: &config,
		PrivateState: p.PrivateState}}
	asWritten.addresses(ctx)
	asWritten.defaults(ctx)
	without, diags := render(ctx, plan.asConfigured(&config), with)
	if diags.HasError() {
		return rendered
	}
	out := objects{}
	for _, key := range slices.Sorted(maps.Keys(union(rendered, without))) {
		planned, other, before := rendered[key], without[key], prior[key]
		switch {
		case planned != nil && other != nil && (planned.same(other) || before == nil):
			out[key] = planned
		case planned != nil && other != nil:
			out[key] = leaveObject(other, planned, before)
		case before != nil:
			out[key] = before
		}
	}
	return out
}

func union(a, b objects) objects {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// leaveObject is leave for one object.
func leaveObject(without, planned, prior *object) *object {
	var all [3]*unstructured.Unstructured
	for i, object := range []*object{without, planned, prior} {
		content, err := object.decode()
		if err != nil {
			return planned
		}
		all[i] = content
	}
	left, err := objectOf(&unstructured.Unstructured{Object: leaveFields(all[0].Object, all[1].Object, all[2].Object)})
	if err != nil {
		return planned
	}
	return left
}

// leave is what is planned, with the values of prior wherever it differs from what
// would be planned without the ignored attributes.
func leave(without, planned, prior any) any {
	if reflect.DeepEqual(without, planned) {
		return planned
	}
	switch is := planned.(type) {
	case map[string]any:
		other, isMap := without.(map[string]any)
		was, wasMap := prior.(map[string]any)
		if isMap && wasMap {
			return leaveFields(other, is, was)
		}
	case []any:
		other, isList := without.([]any)
		was, wasList := prior.([]any)
		if isList && wasList && named(other) && named(is) && named(was) {
			return leaveItems(other, is, was)
		}
	}
	return prior
}

func leaveFields(without, planned, prior map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range planned {
		other, has := without[key]
		was, had := prior[key]
		switch {
		case has && reflect.DeepEqual(other, value):
			out[key] = value
		case has && had:
			out[key] = leave(other, value, was)
		case had:
			out[key] = was
		}
	}
	for key := range without {
		if _, both := planned[key]; !both {
			if was, had := prior[key]; had {
				out[key] = was
			}
		}
	}
	return out
}

// named reports whether a list holds items with names.
func named(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool { return nameOf(item) == "" })
}

func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

func itemOf(list []any, name string) (any, bool) {
	i := slices.IndexFunc(list, func(item any) bool { return nameOf(item) == name })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// leaveItems does the same to items by their names. Items that are in prior stand in
// the order that they have there.
func leaveItems(without, planned, prior []any) []any {
	out := []any{}
	for _, item := range planned {
		other, has := itemOf(without, nameOf(item))
		was, had := itemOf(prior, nameOf(item))
		switch {
		case has && had:
			out = append(out, leave(other, item, was))
		case has:
			out = append(out, item)
		case had:
			out = append(out, was)
		}
	}
	for _, item := range without {
		if _, both := itemOf(planned, nameOf(item)); both {
			continue
		}
		if was, had := itemOf(prior, nameOf(item)); had {
			out = append(out, was)
		}
	}
	place := func(item any) int {
		return slices.IndexFunc(prior, func(was any) bool { return nameOf(was) == nameOf(item) })
	}
	if !slices.ContainsFunc(out, func(item any) bool { return place(item) < 0 }) {
		slices.SortStableFunc(out, func(a, b any) int { return place(a) - place(b) })
	}
	return out
}
