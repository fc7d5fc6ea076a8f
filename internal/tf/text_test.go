package tf_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func durationOf(text string) tf.Duration { return tf.Duration{StringValue: types.StringValue(text)} }

func TestTextsWithTheSameMeaningAreEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b basetypes.StringValuableWithSemanticEquals
		same bool
	}{
		{tf.QuantityOf("1000m"), tf.QuantityOf("1"), true},
		{tf.QuantityOf("4096Mi"), tf.QuantityOf("4Gi"), true},
		{tf.QuantityOf("4G"), tf.QuantityOf("4Gi"), false},
		{tf.QuantityOf("4gb"), tf.QuantityOf("4gb"), false}, // an invalid quantity equals nothing
		{durationOf("90s"), durationOf("1m30s"), true},
		{durationOf("90"), durationOf("90s"), true},
		{durationOf("1d"), durationOf("24h"), true},
		{durationOf("1d"), durationOf("25h"), false},
		{durationOf("1"), tf.QuantityOf("1"), false},
	} {
		if same, diags := c.a.StringSemanticEquals(t.Context(), c.b); same != c.same || diags.HasError() {
			t.Errorf("%s and %s: %t (%v), want %t", c.a, c.b, same, diags, c.same)
		}
	}
}

func TestTextsAreStoredUnchanged(t *testing.T) {
	t.Parallel()
	for _, typ := range []attr.Type{tf.QuantityType{}, tf.DurationType{}} {
		for _, in := range []tftypes.Value{
			tftypes.NewValue(tftypes.String, "01"), tftypes.NewValue(tftypes.String, nil),
			tftypes.NewValue(tftypes.String, tftypes.UnknownValue),
		} {
			value, err := typ.ValueFromTerraform(t.Context(), in)
			if err != nil || !value.Type(t.Context()).Equal(typ) {
				t.Fatalf("%s of %s: %v, %v", typ, in, value, err)
			}
			if out, err := value.ToTerraformValue(t.Context()); err != nil || !out.Equal(in) {
				t.Errorf("%s of %s returns %s, %v", typ, in, out, err)
			}
		}
	}
	if (tf.QuantityType{}).Equal(tf.DurationType{}) {
		t.Error("a quantity's type equals a duration's")
	}
	if !tf.QuantityOf("").IsNull() || tf.QuantityOf("1").Equal(tf.QuantityOf("1000m")) ||
		!tf.QuantityOf("1").Equal(tf.QuantityOf("1")) {
		t.Error("texts are not compared as texts")
	}
}

func TestInvalidTextIsReportedAtItsPath(t *testing.T) {
	t.Parallel()
	check := func(v xattr.ValidateableAttribute) string {
		resp := xattr.ValidateAttributeResponse{}
		v.ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{Path: path.Root("x")}, &resp)
		var details []string
		for _, d := range resp.Diagnostics {
			details = append(details, d.Summary()+": "+d.Detail())
		}
		return strings.Join(details, "\n")
	}
	for want, got := range map[string]string{
		`Invalid quantity: x is "4gb", but`:  check(tf.QuantityOf("4gb")),
		`Invalid duration: x is "1x", which`: check(durationOf("1x")),
	} {
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q does not start with %q", got, want)
		}
	}
	for _, valid := range []xattr.ValidateableAttribute{
		tf.QuantityOf("4Gi"), durationOf("1d"), tf.Quantity{StringValue: types.StringUnknown()},
		tf.Duration{StringValue: types.StringNull()},
	} {
		if got := check(valid); got != "" {
			t.Errorf("%v: %s", valid, got)
		}
	}
}

func TestTextWithTheSameMeaningStaysAsInState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		modifier    planmodifier.String
		state, plan types.String
		want        types.String
	}{
		{"the same quantity", tf.KeepSameQuantity(), types.StringValue("4096Mi"), types.StringValue("4Gi"),
			types.StringValue("4096Mi")},
		{"another quantity", tf.KeepSameQuantity(), types.StringValue("4096Mi"), types.StringValue("5Gi"),
			types.StringValue("5Gi")},
		{"the same duration", tf.KeepSameDuration(), types.StringValue("90s"), types.StringValue("1m30s"),
			types.StringValue("90s")},
		{"null in state", tf.KeepSameDuration(), types.StringNull(), types.StringValue("90s"),
			types.StringValue("90s")},
		{"null in the plan", tf.KeepSameDuration(), types.StringValue("90s"), types.StringNull(), types.StringNull()},
		{"unknown in the plan", tf.KeepSameDuration(), types.StringValue("90s"), types.StringUnknown(),
			types.StringUnknown()},
	} {
		resp := planmodifier.StringResponse{PlanValue: c.plan}
		c.modifier.PlanModifyString(t.Context(), planmodifier.StringRequest{StateValue: c.state, PlanValue: c.plan},
			&resp)
		if !resp.PlanValue.Equal(c.want) {
			t.Errorf("%s: plans %s, want %s", c.name, resp.PlanValue, c.want)
		}
	}
}

func TestQuantitiesOfAMapWithTheSameMeaningStayAsInState(t *testing.T) {
	t.Parallel()
	quantities := func(texts map[string]string) types.Map {
		elements := map[string]attr.Value{}
		for key, text := range texts {
			elements[key] = tf.QuantityOf(text)
		}
		return types.MapValueMust(tf.QuantityType{}, elements)
	}
	state := quantities(map[string]string{"cpu": "1000m", "memory": "4096Mi", "removed": "1"})
	for _, c := range []struct{ plan, want types.Map }{
		{quantities(map[string]string{"cpu": "1", "memory": "5Gi", "added": "1"}),
			quantities(map[string]string{"cpu": "1000m", "memory": "5Gi", "added": "1"})},
		{types.MapNull(tf.QuantityType{}), types.MapNull(tf.QuantityType{})},
		{types.MapUnknown(tf.QuantityType{}), types.MapUnknown(tf.QuantityType{})},
	} {
		resp := planmodifier.MapResponse{PlanValue: c.plan}
		req := planmodifier.MapRequest{StateValue: state, PlanValue: c.plan}
		tf.KeepSameQuantities().PlanModifyMap(t.Context(), req, &resp)
		if !resp.PlanValue.Equal(c.want) {
			t.Errorf("planned %s, want %s", resp.PlanValue, c.want)
		}
	}
}

func TestIntegersAreAcceptedAndOtherNumbersAreRejected(t *testing.T) {
	t.Parallel()
	typ := tf.IntegerType{}
	for in, want := range map[string]string{
		"0": "", "-3": "", "8": "", "9223372036854775807": "", "1e3": "",
		"1.5":                 "gpus is 1.5, but must be an integer.",
		"-0.25":               "gpus is -0.25, but must be an integer.",
		"9223372036854775808": "gpus is 9223372036854775808, but must be less than 2^63.",
		"1e400":               "gpus is 1e+400, but must be less than 2^63.",
	} {
		number, _, err := big.ParseFloat(in, 10, 512, big.ToNearestEven)
		if err != nil {
			t.Fatal(err)
		}
		raw := tftypes.NewValue(tftypes.Number, number)
		value, err := typ.ValueFromTerraform(t.Context(), raw)
		if err != nil || !typ.Equal(value.Type(t.Context())) {
			t.Fatalf("%s: %v, %v", in, value, err)
		}
		if back, err := value.ToTerraformValue(t.Context()); err != nil || !back.Equal(raw) {
			t.Errorf("%s is returned as %s, %v", in, back, err)
		}
		invalid, isInvalid := value.(xattr.ValidateableAttribute)
		if !isInvalid {
			if _, plain := value.(types.Int64); !plain || want != "" {
				t.Errorf("%s is accepted as %#v, want %q", in, value, want)
			}
			continue
		}
		resp := xattr.ValidateAttributeResponse{}
		invalid.ValidateAttribute(t.Context(), xattr.ValidateAttributeRequest{Path: path.Root("gpus")}, &resp)
		if len(resp.Diagnostics) != 1 || resp.Diagnostics[0].Detail() != want {
			t.Errorf("%s: %v, want %q", in, resp.Diagnostics, want)
		}
	}
	for _, raw := range []tftypes.Value{tftypes.NewValue(tftypes.Number, nil),
		tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)} {
		if value, err := typ.ValueFromTerraform(t.Context(), raw); err != nil || value.IsNull() != raw.IsNull() ||
			value.IsUnknown() == raw.IsKnown() {
			t.Errorf("%s is %v, %v", raw, value, err)
		}
	}
}
