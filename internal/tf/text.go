// Package tf connects the provider's packages to Terraform: it contains custom
// types, validators, plan modifiers, and the conversion of errors to diagnostics.
package tf

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
)

// Syntax is a notation in which different texts can have the same meaning.
type Syntax interface {
	// Name returns the name of the notation, for messages.
	Name() string
	// Check returns an error if a text is invalid.
	Check(text string) error
	// Same reports whether two valid texts have the same meaning.
	Same(a, b string) bool
}

// Quantity is a Kubernetes resource quantity ("500m", "4Gi"). Texts with the same amount are equal.
type Quantity = Text[quantity]

// QuantityType is the attribute type of Quantity.
type QuantityType = TextType[quantity]

// Limit is a quantity, or -1 for no limit, as KAI writes it. Texts with the same amount are equal.
type Limit = Text[limit]

// LimitType is the attribute type of Limit.
type LimitType = TextType[limit]

// Duration is a duration ("90s", "1m30s", "2d", or integer seconds as in
// Kubetorch). Texts with the same duration are equal.
type Duration = Text[duration]

// DurationType is the attribute type of Duration.
type DurationType = TextType[duration]

type quantity struct{}

func (quantity) Name() string { return "quantity" }

func (quantity) Check(text string) error { return parses(manifest.ParseQuantity)(text) }

func (quantity) Same(a, b string) bool {
	return parseSame(manifest.ParseQuantity, resource.Quantity.Equal, a, b)
}

type limit struct{ quantity }

func (l limit) Check(text string) error {
	if text == kai.NoLimit {
		return nil
	}
	return l.quantity.Check(text)
}

func (l limit) Same(a, b string) bool { return a == b || l.quantity.Same(a, b) }

type duration struct{}

func (duration) Name() string { return "duration" }

func (duration) Check(text string) error { return parses(manifest.ParseDuration)(text) }

func (duration) Same(a, b string) bool {
	return parseSame(manifest.ParseDuration, func(a, b time.Duration) bool { return a == b }, a, b)
}

// parses returns a function that reports why a text cannot be parsed.
func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		_, err := parse(text)
		return err
	}
}

// parseSame reports whether two texts can be parsed, and mean the same.
func parseSame[T any](parse func(string) (T, error), same func(a, b T) bool, a, b string) bool {
	parsedA, errA := parse(a)
	parsedB, errB := parse(b)
	return errA == nil && errB == nil && same(parsedA, parsedB)
}

// DurationOr returns the value of an attribute, or another duration if it is null, unknown or invalid.
func DurationOr(attribute Duration, otherwise time.Duration) time.Duration {
	if d, err := manifest.ParseDuration(attribute.ValueString()); err == nil {
		return d
	}
	return otherwise
}

// TextType is the attribute type of texts in the notation S.
type TextType[S Syntax] struct {
	basetypes.StringType
}

// Equal reports whether the other type is the same type.
func (t TextType[S]) Equal(o attr.Type) bool {
	_, ok := o.(TextType[S])
	return ok
}

// String returns the name of the type.
func (t TextType[S]) String() string {
	var s S
	return "tf." + s.Name()
}

// ValueFromString converts a string value.
func (t TextType[S]) ValueFromString(
	_ context.Context, in basetypes.StringValue,
) (basetypes.StringValuable, diag.Diagnostics) {
	return Text[S]{StringValue: in}, nil
}

// ValueFromTerraform converts a raw value.
func (t TextType[S]) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	s, ok := value.(basetypes.StringValue)
	if !ok {
		return nil, fmt.Errorf("unexpected value type %T", value)
	}
	return Text[S]{StringValue: s}, nil
}

// ValueType returns the value type.
func (t TextType[S]) ValueType(context.Context) attr.Value { return Text[S]{} }

// Text is a string in the notation S, with semantic equality.
type Text[S Syntax] struct {
	basetypes.StringValue
}

var (
	_ basetypes.StringValuableWithSemanticEquals = Text[quantity]{}
	_ xattr.ValidateableAttribute                = Text[quantity]{}
)

// QuantityOf converts a text to a value, and "" to null.
func QuantityOf(text string) Quantity { return textOf[quantity](text) }

func textOf[S Syntax](text string) Text[S] { return Text[S]{StringValue: TextOrNull(text)} }

// Type returns the attribute type.
func (v Text[S]) Type(context.Context) attr.Type { return TextType[S]{} }

// Equal reports whether the other value is the same text.
func (v Text[S]) Equal(o attr.Value) bool {
	other, ok := o.(Text[S])
	return ok && v.StringValue.Equal(other.StringValue)
}

// StringSemanticEquals reports whether both texts have the same meaning.
func (v Text[S]) StringSemanticEquals(_ context.Context, o basetypes.StringValuable) (bool, diag.Diagnostics) {
	other, ok := o.(Text[S])
	return ok && v.same(other), nil
}

func (v Text[S]) same(other Text[S]) bool {
	var s S
	return s.Same(v.ValueString(), other.ValueString())
}

// ValidateAttribute checks the text without a cluster, and reports errors at its path.
func (v Text[S]) ValidateAttribute(
	_ context.Context, req xattr.ValidateAttributeRequest, resp *xattr.ValidateAttributeResponse,
) {
	if v.IsNull() || v.IsUnknown() {
		return
	}
	var s S
	if err := s.Check(v.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid "+s.Name(), sentence(req.Path, v.ValueString(), err))
	}
}

// KeepSameQuantity is a plan modifier that keeps the text in state if the new
// text has the same meaning, so that a change from "4096Mi" to "4Gi" plans nothing.
func KeepSameQuantity() planmodifier.String { return keepSame[quantity]{} }

// KeepSameLimit is like KeepSameQuantity, but for limits.
func KeepSameLimit() planmodifier.String { return keepSame[limit]{} }

// KeepSameDuration is like KeepSameQuantity, but for durations.
func KeepSameDuration() planmodifier.String { return keepSame[duration]{} }

type keepSame[S Syntax] struct{}

func (keepSame[S]) Description(context.Context) string {
	return "Ignores changes to a text with the same meaning."
}

func (k keepSame[S]) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

func (keepSame[S]) PlanModifyString(
	_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse,
) {
	if req.StateValue.IsNull() || req.PlanValue.IsNull() || req.PlanValue.IsUnknown() {
		return
	}
	if (Text[S]{StringValue: req.StateValue}).same(Text[S]{StringValue: req.PlanValue}) {
		resp.PlanValue = req.StateValue
	}
}

// KeepSameQuantities is like KeepSameQuantity, but for each entry of a map.
func KeepSameQuantities() planmodifier.Map { return keepSameEntries{} }

type keepSameEntries struct{ keepSame[quantity] }

func (keepSameEntries) PlanModifyMap(
	_ context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse,
) {
	before, after := req.StateValue.Elements(), req.PlanValue.Elements()
	for key, value := range after {
		was, known := before[key].(Quantity)
		is, ok := value.(Quantity)
		if known && ok && !was.IsNull() && !is.IsNull() && !is.IsUnknown() && was.same(is) {
			after[key] = was
		}
	}
	if len(after) > 0 {
		resp.PlanValue, resp.Diagnostics = types.MapValue(QuantityType{}, after)
	}
}

// Document is one object in YAML or JSON. Documents with the same content are equal.
type Document = Text[document]

// DocumentType is the attribute type of Document.
type DocumentType = TextType[document]

type document struct{}

func (document) Name() string { return "manifest" }

func (document) Check(text string) error { return parses(manifest.ParseDocument)(text) }

func (document) Same(a, b string) bool {
	return parseSame(manifest.ParseDocument, func(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }, a, b)
}

// DocumentOf converts a text to a value, and "" to null.
func DocumentOf(text string) Document { return textOf[document](text) }

// KeepSameDocument is like KeepSameQuantity, but for documents.
func KeepSameDocument() planmodifier.String { return keepSame[document]{} }
