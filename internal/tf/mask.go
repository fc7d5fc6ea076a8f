package tf

import (
	"context"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
)

// PathSet is a set of paths of attributes, as in [manifest.Path.String].
type PathSet map[string]bool

// Has reports whether the set contains a path or one of its parents.
func (s PathSet) Has(at manifest.Path) bool {
	for i := range at {
		if s[at[:i+1].String()] {
			return true
		}
	}
	return false
}

// Add adds the paths of diagnostics. It returns the diagnostics without a path.
func (s PathSet) Add(diags diag.Diagnostics) (misplaced diag.Diagnostics) {
	for _, d := range diags {
		placed, ok := d.(diag.DiagnosticWithPath)
		if !ok {
			misplaced.Append(d)
			continue
		}
		s[placed.Path().String()] = true
	}
	return misplaced
}

// GetKnown decodes a configuration into a model without the values that rules for combinations of attributes cannot
// check, and returns the paths of these: values that are unknown or cannot be decoded, null in a collection and empty
// text, and if strict, other texts and numbers that the schema rejects. Attributes become null. Entries of maps and
// items of lists become empty.
func GetKnown(ctx context.Context, config tfsdk.Config, model any, strict bool) (PathSet, diag.Diagnostics) {
	readable := func(name string) bool {
		var value attr.Value
		return !config.GetAttribute(ctx, path.Root(name), &value).HasError()
	}
	hidden := PathSet{}
	raw, err := tftypes.Transform(config.Raw, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := at.Steps()
		if len(steps) == 0 {
			return v, nil
		}
		_, inObject := at.LastStep().(tftypes.AttributeName)
		name, _ := steps[0].(tftypes.AttributeName)
		switch {
		case !v.IsKnown(), v.IsNull() && !inObject, len(steps) == 1 && !v.IsNull() && !readable(string(name)):
		case inObject && v.Equal(tftypes.NewValue(tftypes.String, "")):
		case strict && isRejected(ctx, config, at, v):
		default:
			return v, nil
		}
		hidden[decode.PathText(at)] = true
		if inObject {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return EmptyValue(v.Type()), nil
	})
	if err == nil {
		config.Raw = raw
	}
	return hidden, config.Get(ctx, model)
}

// isRejected reports whether the schema requires a value that is null, or rejects a known text or number.
func isRejected(ctx context.Context, config tfsdk.Config, of *tftypes.AttributePath, value tftypes.Value) bool {
	attribute, err := config.Schema.AttributeAtTerraformPath(ctx, of)
	if err != nil || value.IsNull() {
		return err == nil && attribute.IsRequired()
	}
	switch attribute := attribute.(type) {
	case schema.StringAttribute:
		var text string
		_ = value.As(&text) // which it is
		return !decode.Accepted(ctx, config, attribute, types.StringValue(text))
	case schema.Int64Attribute:
		var number big.Float
		_ = value.As(&number) // which it is
		whole, _ := number.Int64()
		return !decode.Accepted(ctx, config, attribute, types.Int64Value(whole))
	}
	return false
}

// EmptyValue returns an empty text, an object whose attributes are null, or null of another type.
func EmptyValue(of tftypes.Type) tftypes.Value {
	object, ok := of.(tftypes.Object)
	switch {
	case of.Is(tftypes.String):
		return tftypes.NewValue(of, "")
	case !ok:
		return tftypes.NewValue(of, nil)
	}
	attributes := map[string]tftypes.Value{}
	for name, typ := range object.AttributeTypes {
		attributes[name] = tftypes.NewValue(typ, nil)
	}
	return tftypes.NewValue(of, attributes)
}
