package compute

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// attribute and input return the address of a value in the model and in the input of the renderer.
type (
	attribute[A any] = func(*model) *A
	input[V any]     = func(*manifest.Compute) *V
)

// row is one attribute: what supports it, and how its value is converted between [model] and [manifest.Compute].
type row struct {
	name    string
	runners kind.Runners // that support the attribute
	value   func(m *model) attr.Value
	set     func(m *model, value attr.Value)
	unset   attr.Value // a value that counts as not set, in addition to null and empty collections; nil for none

	// decode sets the input of the renderer.
	decode func(c *converter, m *model, out *manifest.Compute)
	// follow updates the attribute if it differs between two observations; nil if workloads do not contain it.
	follow func(c *converter, m *model, before, after *manifest.Compute)
	// override is the field of a SkyTorch Compute's override that contains the value, and that no tested version of
	// the operator applies (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit 39cbfc9).
	override string
}

// isSet reports whether the user has set the attribute, to more than its default.
func (r row) isSet(m *model) bool {
	value := r.value(m)
	return hasContent(value) && (r.unset == nil || !value.Equal(r.unset))
}

// unobserved returns the row of an attribute that workloads do not contain.
func (r row) unobserved() row {
	r.follow = nil
	return r
}

// followedBy returns the row with another function follow.
func (r row) followedBy(follow func(c *converter, m *model, before, after *manifest.Compute)) row {
	r.follow = follow
	return r
}

// omittedFrom returns the row of an attribute that the operator of SkyTorch omits; see [row.override].
func (r row) omittedFrom(override string) row {
	r.override = override
	return r
}

// custom returns a row that converts its value by itself.
func custom[A attr.Value](
	name string, runners kind.Runners, of attribute[A], decode func(*converter, *model, *manifest.Compute),
) row {
	return row{name: name, runners: runners, value: func(m *model) attr.Value { return *of(m) }, decode: decode,
		set: func(m *model, value attr.Value) {
			if typed, ok := value.(A); ok {
				*of(m) = typed
			}
		}}
}

// field returns a row of which the value is one field of the renderer's input.
func field[A attr.Value, V any](
	name string, runners kind.Runners, of attribute[A], in input[V],
	decode func(c *converter, value A) V, follow func(c *converter, value *A, before, after V),
) row {
	return custom(name, runners, of, func(c *converter, m *model, out *manifest.Compute) {
		*in(out) = decode(c, *of(m))
	}).followedBy(func(c *converter, m *model, before, after *manifest.Compute) {
		follow(c, of(m), *in(before), *in(after))
	})
}

// scalar returns a row of which both conversions always succeed.
func scalar[A attr.Value, V any](
	name string, runners kind.Runners, of attribute[A], in input[V], decode func(A) V, encode func(V) A,
) row {
	return field(name, runners, of, in,
		func(_ *converter, value A) V { return decode(value) },
		func(_ *converter, value *A, before, after V) { tf.SetChanged(value, before, after, encode) })
}

func text(name string, runners kind.Runners, of attribute[types.String], in input[string]) row {
	return scalar(name, runners, of, in, types.String.ValueString, textOrNull)
}

func boolean(name string, runners kind.Runners, of attribute[types.Bool], in input[bool]) row {
	r := scalar(name, runners, of, in, types.Bool.ValueBool, types.BoolValue)
	r.unset = types.BoolValue(false)
	return r
}

func number(name string, runners kind.Runners, of attribute[types.Int64], in input[int64]) row {
	r := scalar(name, runners, of, in, types.Int64.ValueInt64, types.Int64Value)
	r.unset = types.Int64Value(0)
	return r
}

func quantityRow(name string, runners kind.Runners, of attribute[tf.Quantity], in input[*resource.Quantity]) row {
	return field(name, runners, of, in,
		func(c *converter, value tf.Quantity) *resource.Quantity { return c.decodeQuantity(name, value) },
		func(_ *converter, value *tf.Quantity, before, after *resource.Quantity) {
			tf.SetChanged(value, before, after, encodeQuantity)
		})
}

func quantityMap(
	name string, runners kind.Runners, of attribute[types.Map], in input[map[string]resource.Quantity],
) row {
	return field(name, runners, of, in,
		func(c *converter, value types.Map) map[string]resource.Quantity {
			return c.decodeQuantities(name, value)
		},
		func(c *converter, value *types.Map, before, after map[string]resource.Quantity) {
			tf.SetChanged(value, before, after, c.encodeQuantities)
		})
}

func textMap(name string, runners kind.Runners, of attribute[types.Map], in input[map[string]string]) row {
	return field(name, runners, of, in, (*converter).decodeMap, (*converter).followMap)
}

// list returns a row of items: T in the model, V in the input of the renderer.
func list[T, V any](
	name string, runners kind.Runners, of attribute[types.List], in input[[]V],
	decode func(*converter, T) V, encode func(*converter, V) T,
) row {
	return field(name, runners, of, in,
		func(c *converter, value types.List) []V { return decodeList(c, value, decode) },
		func(c *converter, value *types.List, before, after []V) {
			tf.SetChanged(value, before, after, func(items []V) types.List {
				return encodeList(c, value.ElementType(c.ctx), items, encode)
			})
		})
}

func textList(name string, runners kind.Runners, of attribute[types.List], in input[[]string]) row {
	return list(name, runners, of, in, unconverted, unconverted)
}
