package compute

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// attribute and input return the place of a value in what Terraform and the renderer take.
type (
	attribute[A any] = func(*model) *A
	input[C any]     = func(*manifest.Compute) *C
)

// row is one attribute: what supports it, and how its value passes between [model] and [manifest.Compute].
type row struct {
	name    string
	runners manifest.Runners // that support the attribute
	value   func(m *model) attr.Value
	unset   attr.Value // a value that counts as not set, in addition to null and empty collections; nil for none

	// spec puts the value into what the renderer takes.
	spec func(d *decoder, m *model, c *manifest.Compute)
	// follow updates the value if it differs between two observations; nil if workloads do not show it.
	follow func(f *follower, m *model, before, after *manifest.Compute)
	// override is the field of a SkyTorch Compute's override that has the value, and that no tested version of the
	// operator applies (pkg/controllers/statefulset.go of github.com/astefanutti/skytorch at commit 39cbfc9).
	override string
}

// isSet reports whether the user has set the attribute, to more than its default.
func (r row) isSet(m *model) bool {
	value := r.value(m)
	return isFilled(value) && (r.unset == nil || !value.Equal(r.unset))
}

// unobserved is the row of an attribute that workloads do not show.
func (r row) unobserved() row {
	r.follow = nil
	return r
}

// observed is the row with another way to follow.
func (r row) observed(follow func(f *follower, m *model, before, after *manifest.Compute)) row {
	r.follow = follow
	return r
}

// omitted is the row of an attribute that SkyTorch's operator omits; see [row.override].
func (r row) omitted(override string) row {
	r.override = override
	return r
}

// bind is a row of which the renderer only learns that it is set.
func bind[A attr.Value](name string, runners manifest.Runners, of attribute[A]) row {
	return row{
		name: name, runners: runners,
		value: func(m *model) attr.Value { return *of(m) },
		spec:  func(*decoder, *model, *manifest.Compute) {},
	}
}

// scalar is a row whose value is one field of what the renderer takes, and follows it if they differ.
func scalar[A attr.Value, C comparable](
	name string, runners manifest.Runners, of attribute[A], in input[C],
	decode func(A) C, encode func(C) A,
) row {
	r := bind(name, runners, of)
	r.spec = func(_ *decoder, m *model, c *manifest.Compute) { *in(c) = decode(*of(m)) }
	r.follow = func(_ *follower, m *model, before, after *manifest.Compute) {
		if *in(before) != *in(after) {
			*of(m) = encode(*in(after))
		}
	}
	return r
}

func text(name string, runners manifest.Runners, of attribute[types.String], in input[string]) row {
	return scalar(name, runners, of, in, types.String.ValueString, textOrNull)
}

func boolean(name string, runners manifest.Runners, of attribute[types.Bool], in input[bool]) row {
	r := scalar(name, runners, of, in, types.Bool.ValueBool, types.BoolValue)
	r.unset = types.BoolValue(false)
	return r
}

func number(name string, runners manifest.Runners, of attribute[types.Int64], in input[int64]) row {
	r := scalar(name, runners, of, in, types.Int64.ValueInt64, types.Int64Value)
	r.unset = types.Int64Value(0)
	return r
}

func size(name string, runners manifest.Runners, of attribute[tf.Quantity], in input[*resource.Quantity]) row {
	r := bind(name, runners, of)
	r.spec = func(d *decoder, m *model, c *manifest.Compute) { *in(c) = d.quantity(name, *of(m)) }
	r.follow = func(_ *follower, m *model, before, after *manifest.Compute) {
		followQuantity(of(m), *in(before), *in(after))
	}
	return r
}

func pairs(name string, runners manifest.Runners, of attribute[types.Map], in input[map[string]string]) row {
	r := bind(name, runners, of)
	r.spec = func(d *decoder, m *model, c *manifest.Compute) { *in(c) = decodeMap(d, *of(m)) }
	r.follow = func(f *follower, m *model, before, after *manifest.Compute) {
		f.maps(of(m), *in(before), *in(after))
	}
	return r
}

// list is a row of items: M in the model, C in what the renderer takes.
func list[M, C any](
	name string, runners manifest.Runners, of attribute[types.List], in input[[]C],
	decode func(*decoder, M) C, encode func(*follower, C) M,
) row {
	r := bind(name, runners, of)
	r.spec = func(d *decoder, m *model, c *manifest.Compute) {
		*in(c) = decodeItems(d, *of(m), decode)
	}
	r.follow = func(f *follower, m *model, before, after *manifest.Compute) {
		followList(f, of(m), *in(before), *in(after), func(item C) M { return encode(f, item) })
	}
	return r
}

func words(name string, runners manifest.Runners, of attribute[types.List], in input[[]string]) row {
	return list(name, runners, of, in,
		func(_ *decoder, word string) string { return word },
		func(_ *follower, word string) string { return word })
}

func nested[C any](
	name string, runners manifest.Runners, of attribute[types.Object], in input[*C],
	decode func(*decoder, types.Object) *C, follow func(m *model, f *follower, before, after *C),
) row {
	r := bind(name, runners, of)
	r.spec = func(d *decoder, m *model, c *manifest.Compute) { *in(c) = decode(d, *of(m)) }
	r.follow = func(f *follower, m *model, before, after *manifest.Compute) {
		follow(m, f, *in(before), *in(after))
	}
	return r
}
