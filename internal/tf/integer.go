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

// IntegerType is the type of integers. Its values are of the type [basetypes.Int64Value]. Unlike [basetypes.Int64Type],
// it reports a fraction, or a number that exceeds 64 bits, as an error in the configuration rather than in the
// provider.
type IntegerType struct {
	basetypes.Int64Type
}

var _ basetypes.Int64Typable = IntegerType{}

// Equal reports whether the other type has the same values.
func (t IntegerType) Equal(o attr.Type) bool {
	_, ok := o.(IntegerType)
	return ok || t.Int64Type.Equal(o)
}

// String returns the name of the type.
func (t IntegerType) String() string { return "tf.IntegerType" }

// ValueFromTerraform converts a raw value.
func (t IntegerType) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	var number *big.Float
	if in.IsKnown() && !in.IsNull() {
		if err := in.As(&number); err != nil {
			return nil, err
		}
		if _, accuracy := number.Int64(); accuracy != big.Exact {
			return notInteger{Int64Value: basetypes.NewInt64Unknown(), number: number}, nil
		}
	}
	return t.Int64Type.ValueFromTerraform(ctx, in)
}

// notInteger represents a number that is not a 64-bit integer, until validation rejects it.
type notInteger struct {
	basetypes.Int64Value
	number *big.Float
}

var _ xattr.ValidateableAttribute = notInteger{}

// Equal reports whether the other value is the same number.
func (v notInteger) Equal(o attr.Value) bool {
	other, ok := o.(notInteger)
	return ok && v.number.Cmp(other.number) == 0
}

// ToTerraformValue returns the original number.
func (v notInteger) ToTerraformValue(context.Context) (tftypes.Value, error) {
	return tftypes.NewValue(tftypes.Number, v.number), nil
}

// String formats the number.
func (v notInteger) String() string { return v.number.Text('g', 20) }

// ValidateAttribute reports the number as invalid.
func (v notInteger) ValidateAttribute(
	_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse,
) {
	want := "an integer"
	if v.number.IsInt() {
		want = "less than 2^63"
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid number",
		fmt.Sprintf("%s is %s, but must be %s.", req.Path, v, want))
}
