package compute

import (
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// row is one attribute: what supports it, and how its value is converted between [model] and [manifest.Compute].
type row struct {
	name    string
	runners kind.Runners // that support the attribute
	unset   attr.Value   // a value that counts as not set, in addition to null, empty collections, false and zero
	// zero is true if zero counts as set.
	zero bool
	// unobserved is true if workloads do not contain the attribute.
	unobserved bool
	// unseenZero is true if a workload whose observation has a zero does not contain the attribute.
	unseenZero bool
	// override is the field of a SkyTorch Compute's override that contains the value, and that no tested version of
	// the operator applies (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit 39cbfc9).
	override string

	// decode sets the input of the renderer, and follow updates the attribute if it differs between two observations.
	// By default, they convert the field of the input that has the name of the field in the model.
	decode func(c *converter, m *model, out *manifest.Compute)
	follow func(c *converter, m *model, before, after *manifest.Compute)

	field, input []int // the fields of the model and of the input
}

// complete returns the rows with their fields and the default functions.
func complete(rows []row) []row {
	fields := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[model]()) {
		fields[field.Tag.Get("tfsdk")] = field
	}
	for i, r := range rows {
		r.field = fields[r.name].Index
		if in, ok := reflect.TypeFor[manifest.Compute]().FieldByName(fields[r.name].Name); ok {
			r.input = in.Index
		}
		if r.decode == nil {
			r.decode = func(c *converter, m *model, out *manifest.Compute) {
				c.Decode(path.Root(r.name), r.value(m), r.inputOf(out).Addr().Interface())
			}
		}
		if r.follow == nil && !r.unobserved {
			r.follow = func(c *converter, m *model, before, after *manifest.Compute) {
				if seen := r.inputOf(after); !r.unseenZero || !seen.IsZero() {
					r.set(m, c.Follow(r.value(m), r.inputOf(before).Interface(), seen.Interface()))
				}
			}
		}
		rows[i] = r
	}
	return rows
}

func (r row) inputOf(compute *manifest.Compute) reflect.Value {
	return reflect.ValueOf(compute).Elem().FieldByIndex(r.input)
}

func (r row) value(m *model) attr.Value {
	value, _ := reflect.TypeAssert[attr.Value](reflect.ValueOf(m).Elem().FieldByIndex(r.field))
	return value
}

func (r row) set(m *model, value attr.Value) {
	reflect.ValueOf(m).Elem().FieldByIndex(r.field).Set(reflect.ValueOf(value))
}

// isSet reports whether the user has set the attribute, to more than its default.
func (r row) isSet(m *model) bool {
	value := r.value(m)
	return hasContent(value) && !value.Equal(r.unset) &&
		(r.zero || !value.Equal(types.BoolValue(false)) && !value.Equal(types.Int64Value(0)))
}
