package lifecycle

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
)

// ConfigGenerator is a hook that removes from a state what a configuration for it must not or need not set, in addition
// to computed attributes and to the defaults of the schema.
type ConfigGenerator[M any] interface {
	Generate(context.Context, *M)
}

// WithoutDefaults returns a state without the attributes that a generated configuration omits. Attributes that only the
// provider sets are left to the framework.
func (r *Resource[M, N]) WithoutDefaults(
	ctx context.Context, raw tftypes.Value,
) (tftypes.Value, diag.Diagnostics) {
	attributes := r.Kind.Attributes()
	state := tfsdk.State{Schema: schema.Schema{Attributes: attributes}, Raw: raw}
	if generator, ok := r.Hooks.(ConfigGenerator[M]); ok {
		m := new(M)
		if diags := state.Get(ctx, m); diags.HasError() {
			return raw, diags
		}
		generator.Generate(ctx, m)
		if diags := state.Set(ctx, m); diags.HasError() {
			return raw, diags
		}
	}
	omit := func(at *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
		if steps := at.Steps(); len(steps) == 1 {
			name, _ := steps[0].(tftypes.AttributeName)
			unset, known := decode.Default(ctx, path.Root(string(name)), attributes[string(name)])
			if unset == nil || !known {
				return value, nil
			}
			if assumed, err := unset.ToTerraformValue(ctx); err == nil && assumed.Equal(value) {
				return tftypes.NewValue(value.Type(), nil), nil
			}
		}
		return value, nil
	}
	out, _ := tftypes.Transform(state.Raw, omit) // omit returns no error
	return out, nil
}

// Omit sets an attribute to null if it has a value.
func Omit(attribute *types.String, value string) {
	if attribute.ValueString() == value {
		*attribute = types.StringNull()
	}
}
