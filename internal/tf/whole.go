package tf

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// WholeNumberType is the type of integers. Its values are of the type
// [basetypes.Int64Value]. Unlike [basetypes.Int64Type], it reports a fraction, or
// a number that exceeds 64 bits, as an error in the configuration rather than in
// the provider.
type WholeNumberType struct {
	basetypes.Int64Type
}

var _ basetypes.Int64Typable = WholeNumberType{}

// Equal reports whether the other type has the same values.
func (t WholeNumberType) Equal(o attr.Type) bool {
	_, ok := o.(WholeNumberType)
	return ok || t.Int64Type.Equal(o)
}

// String returns the name of the type.
func (t WholeNumberType) String() string { return "tf.WholeNumberType" }

// ValueFromTerraform converts a raw value.
func (t WholeNumberType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	var number *big.Float
	if in.IsKnown() && !in.IsNull() {
		if err := in.As(&number); err != nil {
			return nil, err
		}
	}
	if number == nil {
		return t.Int64Type.ValueFromTerraform(ctx, in)
	}
	if _, accuracy := number.Int64(); accuracy != big.Exact {
		return notWhole{Int64Value: basetypes.NewInt64Unknown(), number: number}, nil
	}
	return t.Int64Type.ValueFromTerraform(ctx, in)
}

// notWhole represents a number that is not a 64-bit integer, until validation
// rejects it.
type notWhole struct {
	basetypes.Int64Value
	number *big.Float
}

var _ xattr.ValidateableAttribute = notWhole{}

// Equal reports whether the other value is the same number.
func (v notWhole) Equal(o attr.Value) bool {
	other, ok := o.(notWhole)
	return ok && v.number.Cmp(other.number) == 0
}

// ToTerraformValue returns the original number.
func (v notWhole) ToTerraformValue(context.Context) (tftypes.Value, error) {
	return tftypes.NewValue(tftypes.Number, v.number), nil
}

// String formats the number.
func (v notWhole) String() string { return v.number.Text('g', 20) }

// ValidateAttribute reports the number as invalid.
func (v notWhole) ValidateAttribute(_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse) {
	want := "an integer"
	if v.number.IsInt() {
		want = "less than 2^63"
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid number", fmt.Sprintf("%s is %s, but must be %s.", req.Path, v, want))
}
