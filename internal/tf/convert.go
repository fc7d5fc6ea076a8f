package tf

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Converter converts attributes to the input of a renderer and back. An object is a struct whose fields have the names
// of its attributes (max_skew: MaxSkew), and a text is what it denotes, such as a quantity, a duration or JSON. Null is
// nil or zero. An attribute without a field, and a field without an attribute, are ignored. The Converter collects the
// diagnostics.
type Converter struct {
	Context context.Context //nolint:containedctx // lives as long as one operation
	Diags   diag.Diagnostics
	// Invalid returns the diagnostic of a text that does not denote what the noun names.
	Invalid func(at path.Path, noun string, err error) diag.Diagnostic
}

// NewConverter returns a converter whose diagnostics name the path of a text.
func NewConverter(ctx context.Context) *Converter {
	return &Converter{Context: ctx, Invalid: func(at path.Path, noun string, err error) diag.Diagnostic {
		return diag.NewAttributeErrorDiagnostic(at, "Invalid "+noun, at.String()+" "+err.Error())
	}}
}

// Decode sets what out points to. It does nothing for null.
func (c *Converter) Decode(at path.Path, attribute attr.Value, out any) {
	if attribute.IsNull() || attribute.IsUnknown() {
		return
	}
	raw, err := attribute.ToTerraformValue(c.Context)
	if err != nil {
		c.Diags.Append(c.Invalid(at, "value", err))
		return
	}
	c.decode(at, raw, reflect.ValueOf(out).Elem())
}

// DecodeModel decodes the attributes of a model into the fields of out that have the same name as theirs.
func (c *Converter) DecodeModel(model, out any) {
	from, into := reflect.ValueOf(model).Elem(), reflect.ValueOf(out).Elem()
	for _, field := range reflect.VisibleFields(from.Type()) {
		name, isAttribute := field.Tag.Lookup("tfsdk")
		target := into.FieldByName(field.Name)
		if !isAttribute || !target.IsValid() {
			continue
		}
		if value, ok := reflect.TypeAssert[attr.Value](from.FieldByIndex(field.Index)); ok {
			c.Decode(path.Root(name), value, target.Addr().Interface())
		}
	}
}

// decode reports whether it has set out.
func (c *Converter) decode(at path.Path, raw tftypes.Value, out reflect.Value) bool {
	if raw.IsNull() || !raw.IsKnown() {
		return false
	}
	if out.Kind() == reflect.Pointer {
		target := reflect.New(out.Type().Elem())
		ok := c.decode(at, raw, target.Elem())
		if ok {
			out.Set(target)
		}
		return ok
	}
	var text string
	var number big.Float
	var flag bool
	var entries map[string]tftypes.Value
	var items []tftypes.Value
	switch typ := raw.Type(); {
	case raw.As(&text) == nil:
		if noun, err := parseText(text, out); err != nil {
			c.Diags.Append(c.Invalid(at, noun, err))
			return false
		}
	case raw.As(&number) == nil:
		setNumber(&number, out)
	case raw.As(&flag) == nil:
		out.SetBool(flag)
	case raw.As(&entries) == nil && typ.Is(tftypes.Object{}):
		for name, value := range entries {
			if field := fieldOf(out, name); field.IsValid() {
				c.decode(at.AtName(name), value, field)
			}
		}
	case raw.As(&entries) == nil:
		out.Set(reflect.MakeMapWithSize(out.Type(), len(entries)))
		for key, value := range entries {
			element := reflect.New(out.Type().Elem()).Elem()
			c.decode(at.AtMapKey(key), value, element)
			out.SetMapIndex(reflect.ValueOf(key), element)
		}
	case raw.As(&items) == nil:
		out.Set(reflect.MakeSlice(out.Type(), len(items), len(items)))
		for i, item := range items {
			c.decode(at.AtListIndex(i), item, out.Index(i))
		}
	}
	return true
}

// fieldOf returns the field of a struct for an attribute, or the zero Value if there is none.
func fieldOf(object reflect.Value, attribute string) reflect.Value {
	name := strings.ReplaceAll(attribute, "_", "")
	return object.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
}

// setNumber limits a number to the range of an integer: the schema reports others.
func setNumber(number *big.Float, out reflect.Value) {
	if out.CanFloat() {
		float, _ := number.Float64()
		out.SetFloat(float)
		return
	}
	integer, _ := number.Int64()
	if out.Kind() == reflect.Int32 {
		integer = min(max(integer, math.MinInt32), math.MaxInt32)
	}
	out.SetInt(integer)
}

// parseText sets out to what a text denotes, which the noun names. An error has no subject.
func parseText(text string, out reflect.Value) (noun string, err error) {
	if out.Kind() == reflect.String {
		out.SetString(text)
		return "", nil
	}
	switch out := out.Addr().Interface().(type) {
	case *resource.Quantity:
		*out, err = manifest.ParseQuantity(text)
		return "quantity", err
	case *time.Duration:
		*out, err = manifest.ParseDuration(text)
		return "duration", err
	case *int32:
		*out, err = manifest.ParseFileMode(text)
		return "file mode", err
	case *map[string]any:
		if err := json.Unmarshal([]byte(text), out); err != nil {
			return "JSON", fmt.Errorf("it must be a JSON object: %w", err)
		}
	case *corev1.Affinity:
		affinity, err := manifest.ParseAffinity(text)
		if err != nil {
			return "affinity", fmt.Errorf("affinity %w", err)
		}
		*out = *affinity
	case encoding.TextUnmarshaler:
		return "quantity", out.UnmarshalText([]byte(text))
	}
	return "", nil
}

// formatText is the inverse of parseText.
func formatText(from reflect.Value) string {
	if from.Kind() == reflect.String {
		return from.String()
	}
	var text []byte
	switch value := from.Interface().(type) {
	case resource.Quantity:
		return value.String()
	case time.Duration:
		return manifest.FormatDuration(value)
	case int32:
		return manifest.FileModeText(value)
	case encoding.TextMarshaler:
		text, _ = value.MarshalText() // what was observed has a text
	default:
		text, _ = json.Marshal(value) // maps and structs of the API
	}
	return string(text)
}

// Encode returns a value as an attribute of the type of another one. Empty collections and texts are null, and so are
// false and zero in items.
func Encode[A attr.Value](c *Converter, attribute A, value any) A {
	out, _ := c.encoded(attribute, value).(A)
	return out
}

func (c *Converter) encoded(attribute attr.Value, value any) attr.Value {
	from, typ := reflect.ValueOf(value), attribute.Type(c.Context)
	isScalar := from.IsValid() && (from.CanInt() || from.CanFloat() || from.Kind() == reflect.Bool)
	out, err := typ.ValueFromTerraform(c.Context, encode(typ.TerraformType(c.Context), from, isScalar))
	if err != nil {
		c.Diags.AddError("Unexpected value", err.Error())
		return attribute
	}
	return out
}

// encode returns null for a zero value, unless zeros count.
func encode(typ tftypes.Type, from reflect.Value, zeros bool) tftypes.Value {
	null := tftypes.NewValue(typ, nil)
	switch {
	case !from.IsValid():
		return null
	case from.Kind() == reflect.Pointer:
		return encode(typ, from.Elem(), true)
	case (from.Kind() == reflect.Map || from.Kind() == reflect.Slice) && from.Len() == 0 && !zeros,
		from.Kind() != reflect.Struct && from.IsZero() && !zeros:
		return null
	}
	switch of := typ.(type) {
	case tftypes.Object:
		attributes := map[string]tftypes.Value{}
		for name, attribute := range of.AttributeTypes {
			attributes[name] = encode(attribute, fieldOf(from, name), false)
		}
		return tftypes.NewValue(typ, attributes)
	case tftypes.Map:
		entries := map[string]tftypes.Value{}
		for key, value := range from.Seq2() {
			entries[key.String()] = encode(of.ElementType, value, true)
		}
		return tftypes.NewValue(typ, entries)
	case tftypes.List:
		items := make([]tftypes.Value, from.Len())
		for i := range items {
			items[i] = encode(of.ElementType, from.Index(i), true)
		}
		return tftypes.NewValue(typ, items)
	}
	switch {
	case typ.Is(tftypes.String):
		return tftypes.NewValue(typ, formatText(from))
	case from.CanInt():
		return tftypes.NewValue(typ, from.Int())
	case from.CanFloat():
		return tftypes.NewValue(typ, from.Float())
	default:
		return tftypes.NewValue(typ, from.Bool())
	}
}

// Follow returns an attribute with the difference between two observations of its value. What does not differ keeps its
// notation: attributes of objects, and entries of maps of texts.
func Follow[A attr.Value](c *Converter, attribute A, before, after any) A {
	out, _ := c.Follow(attribute, before, after).(A)
	return out
}

// FollowModel is [Follow] for the attributes of a model in the named fields, which two observations have too.
func (c *Converter) FollowModel(model, before, after any, fields ...string) {
	into, was, is := reflect.ValueOf(model).Elem(), reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for _, name := range fields {
		field := into.FieldByName(name)
		if attribute, ok := reflect.TypeAssert[attr.Value](field); ok {
			followed := c.Follow(attribute, was.FieldByName(name).Interface(), is.FieldByName(name).Interface())
			field.Set(reflect.ValueOf(followed))
		}
	}
}

// Follow is the function of the same name for any attribute.
func (c *Converter) Follow(attribute attr.Value, before, after any) attr.Value {
	if equality.Semantic.DeepEqual(before, after) {
		return attribute
	}
	switch attribute := attribute.(type) {
	case types.Map:
		was, isText := before.(map[string]string)
		if is, ok := after.(map[string]string); ok && isText {
			SetChangedEntries(&attribute, was, is)
			return attribute
		}
	case types.Object:
		was, is := reflect.Indirect(reflect.ValueOf(before)), reflect.Indirect(reflect.ValueOf(after))
		if is.IsValid() && (was.IsValid() || !attribute.IsNull()) { // the zero quantities of a new object count
			return c.followObject(attribute, was, is)
		}
	}
	return c.encoded(attribute, after)
}

func (c *Converter) followObject(object types.Object, before, after reflect.Value) types.Object {
	if !before.IsValid() {
		before = reflect.Zero(after.Type())
	}
	for name, attribute := range attributesOf(c.Context, object) {
		if is := fieldOf(after, name); is.IsValid() {
			was := fieldOf(before, name)
			object = With(c.Context, object, name, c.Follow(attribute, was.Interface(), is.Interface()))
		}
	}
	return object
}

// attributesOf returns the attributes of an object, which are null if the object is.
func attributesOf(ctx context.Context, object types.Object) map[string]attr.Value {
	attributes := object.Attributes()
	for name, typ := range object.AttributeTypes(ctx) {
		if _, ok := attributes[name]; !ok {
			attributes[name], _ = typ.ValueFromTerraform(ctx, tftypes.NewValue(typ.TerraformType(ctx), nil))
		}
	}
	return attributes
}

// With returns an object with another value of one attribute. The others are null if the object is.
func With(ctx context.Context, object types.Object, name string, value attr.Value) types.Object {
	attributes := attributesOf(ctx, object)
	attributes[name] = value
	return types.ObjectValueMust(object.AttributeTypes(ctx), attributes)
}
