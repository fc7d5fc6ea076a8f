package lifecycle

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// For a plan, Terraform replaces the attributes in lifecycle.ignore_changes by their values in state, and write-only
// ones by null. For the apply, it passes the configuration as it is written
// (https://github.com/hashicorp/terraform/blob/v1.14.0/internal/terraform/node_resource_abstract_instance.go,
// processIgnoreChanges and apply). The plan therefore records which attributes are ignored, and the apply gets the
// configuration of the plan.

// ignoredKey is the key in private state of the ignored attributes. The plan of an update sets it. If that becomes a
// replacement, Terraform passes it on to the plan of the creation.
const ignoredKey = "ignored"

// ConfigAsWritten returns the configuration before lifecycle.ignore_changes has changed it. It is false if nothing is
// ignored, or if that cannot be determined. Attributes that are unknown in it are those of the changed one: if they are
// known there, they are ignored.
func ConfigAsWritten(
	ctx context.Context, data *tf.ProviderData, resourceType string, req *resource.ModifyPlanRequest,
) (tftypes.Value, bool) {
	if data == nil || req == nil || req.State.Raw.IsNull() {
		return tftypes.Value{}, false
	}
	id, ok := configID(ctx, resourceType, req.Config)
	if !ok {
		return tftypes.Value{}, false
	}
	validated, ok := data.Configs.Get(id)
	if !ok {
		return tftypes.Value{}, false
	}
	config, err := validated.Unmarshal(req.Config.Schema.Type().TerraformType(ctx))
	if err != nil {
		return config, false
	}
	config, ok = withoutUnknown(config, req.Config.Raw)
	return config, ok && !config.Equal(req.Config.Raw)
}

// configID returns the key under which a configuration is stored during a run.
func configID(ctx context.Context, resourceType string, config tfsdk.Config) (id string, ok bool) {
	var name, namespace types.String
	diags := config.GetAttribute(ctx, path.Root("name"), &name)
	diags.Append(config.GetAttribute(ctx, path.Root("namespace"), &namespace)...)
	if diags.HasError() || name.IsNull() || name.IsUnknown() || namespace.IsUnknown() {
		return "", false
	}
	return tf.ConfigID(resourceType, namespace.ValueString(), name.ValueString()), true
}

func withoutUnknown(original, changed tftypes.Value) (tftypes.Value, bool) {
	if original.IsFullyKnown() {
		return original, true
	}
	var out, known map[string]tftypes.Value
	if original.As(&out) != nil || changed.As(&known) != nil {
		return original, false
	}
	for name, value := range out {
		if !value.IsFullyKnown() {
			out[name] = known[name]
		}
	}
	return tftypes.NewValue(original.Type(), out), changed.IsFullyKnown()
}

// ignoresAll reports whether lifecycle.ignore_changes is all: only then does a configuration contain the attributes
// that the provider computes.
func ignoresAll(config, state *Common) bool { return !config.ID.IsNull() && config.ID.Equal(state.ID) }

// recordIgnored records the attributes that lifecycle.ignore_changes has changed, for the apply.
func (r *Resource[M, N]) recordIgnored(
	ctx context.Context, req *resource.ModifyPlanRequest, private privateData,
) diag.Diagnostics {
	var written, changed map[string]tftypes.Value
	var names []string
	if config, ok := ConfigAsWritten(ctx, r.data, r.Kind.Type, req); ok && config.As(&written) == nil &&
		req.Config.Raw.As(&changed) == nil {
		for _, name := range slices.Sorted(maps.Keys(written)) {
			if !written[name].Equal(changed[name]) {
				names = append(names, name)
			}
		}
	}
	before, diags := owned.Load[[]string](ctx, private, ignoredKey)
	if !slices.Equal(names, before) {
		diags.Append(owned.Save(ctx, private, ignoredKey, names)...)
	}
	return diags
}

// plannedConfig returns the configuration of an apply as it was planned: an attribute that is configured has its
// planned value. Whether a write-only attribute is ignored, or one that the provider would otherwise compute, only the
// record shows. The creation that is part of a replacement has no record.
func plannedConfig(
	ctx context.Context, config tfsdk.Config, plan tfsdk.Plan, private owned.PrivateReader,
) (tfsdk.Config, diag.Diagnostics) {
	ignored, diags := owned.Load[[]string](ctx, private, ignoredKey)
	var written, planned map[string]tftypes.Value
	if config.Raw.As(&written) != nil || plan.Raw.As(&planned) != nil {
		return config, diags
	}
	for name, attribute := range plan.Schema.GetAttributes() {
		undecided := attribute.IsWriteOnly() ||
			attribute.IsComputed() && (!attribute.IsOptional() || written[name].IsNull())
		if planned[name].IsFullyKnown() && (!undecided || slices.Contains(ignored, name)) {
			written[name] = planned[name]
		}
	}
	config.Raw = tftypes.NewValue(config.Raw.Type(), written)
	return config, diags
}
