package tf

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
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
// check, and returns the paths of these: values that are unknown or cannot be decoded, and those that the schema
// rejects, null in a collection and empty text. Attributes become null. Entries of maps and items of lists become
// empty.
func GetKnown(ctx context.Context, config tfsdk.Config, model any) (PathSet, diag.Diagnostics) {
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
