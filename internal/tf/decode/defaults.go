package decode

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/defaults"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// HasDefaults reports whether each attribute that the configuration omits, and that has a default, has this default in
// the prior state. Terraform proposes the prior value for such an attribute, and the framework replaces it by the
// default. config and prior return the value of a top-level attribute. It supports the defaults of [Default]; with
// others it returns false.
func HasDefaults(
	ctx context.Context, attributes map[string]schema.Attribute, config, prior func(name string) attr.Value,
) bool {
	for name, attribute := range attributes {
		if !hasDefault(ctx, path.Root(name), attribute, config(name), prior(name)) {
			return false
		}
	}
	return true
}

func hasDefault(ctx context.Context, at path.Path, attribute schema.Attribute, config, prior attr.Value) bool {
	if config == nil || prior == nil {
		return false
	}
	if config.IsNull() {
		return isDefault(ctx, at, attribute, prior)
	}
	nested, ok := attribute.(schema.NestedAttribute)
	if !ok {
		return true
	}
	configured, ok := objectsIn(ctx, config)
	before, also := objectsIn(ctx, prior)
	if !ok || !also || len(configured) != len(before) {
		return false
	}
	for i, object := range configured {
		values, was := object.Attributes(), before[i].Attributes()
		for name, attribute := range nested.GetNestedObject().GetAttributes() {
			if !hasDefault(ctx, at.AtName(name), attribute, values[name], was[name]) {
				return false
			}
		}
	}
	return true
}

// isDefault reports whether prior is the default of an attribute, or the attribute has none.
func isDefault(ctx context.Context, at path.Path, attribute schema.Attribute, prior attr.Value) bool {
	value, known := Default(ctx, at, attribute)
	if value == nil || !known {
		return known
	}
	if text, ok := prior.(basetypes.StringValuable); ok {
		converted, diags := text.ToStringValue(ctx)
		return len(diags) == 0 && value.Equal(converted)
	}
	return value.Equal(prior)
}

// Default returns the default of an attribute, or nil if it has none. known is false if that cannot be determined: for
// collections and objects.
func Default(ctx context.Context, at path.Path, attribute schema.Attribute) (value attr.Value, known bool) {
	switch attribute := attribute.(type) {
	case interface{ StringDefaultValue() defaults.String }:
		if of := attribute.StringDefaultValue(); of != nil {
			var resp defaults.StringResponse
			of.DefaultString(ctx, defaults.StringRequest{Path: at}, &resp)
			return resp.PlanValue, len(resp.Diagnostics) == 0
		}
	case interface{ BoolDefaultValue() defaults.Bool }:
		if of := attribute.BoolDefaultValue(); of != nil {
			var resp defaults.BoolResponse
			of.DefaultBool(ctx, defaults.BoolRequest{Path: at}, &resp)
			return resp.PlanValue, len(resp.Diagnostics) == 0
		}
	case interface{ Int64DefaultValue() defaults.Int64 }:
		if of := attribute.Int64DefaultValue(); of != nil {
			var resp defaults.Int64Response
			of.DefaultInt64(ctx, defaults.Int64Request{Path: at}, &resp)
			return resp.PlanValue, len(resp.Diagnostics) == 0
		}
	case interface{ ListDefaultValue() defaults.List }:
		return nil, attribute.ListDefaultValue() == nil
	case interface{ MapDefaultValue() defaults.Map }:
		return nil, attribute.MapDefaultValue() == nil
	case interface{ ObjectDefaultValue() defaults.Object }:
		return nil, attribute.ObjectDefaultValue() == nil
	default:
		return nil, false
	}
	return nil, true
}
