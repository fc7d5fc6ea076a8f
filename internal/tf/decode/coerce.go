package decode

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// numberPrecision is the precision of Terraform's numbers, in bits.
const numberPrecision = 512

// Number returns the number that Terraform has for a literal with these decimal digits.
func Number(digits string) (*big.Float, error) {
	value, _, err := big.ParseFloat(digits, 10, numberPrecision, big.ToNearestEven)
	return value, err
}

// Coerce converts a value of any type to an attribute type, by the rules of Terraform for configurations: an object
// without an optional attribute has null for it, a tuple becomes a list and an object a map, and primitive values are
// converted if nothing is lost. An error names the position in the value, what was found there, and what is required.
func Coerce(value tftypes.Value, to tftypes.Type) (tftypes.Value, error) {
	return coerce(tftypes.NewAttributePath(), value, to)
}

func coerce(at *tftypes.AttributePath, value tftypes.Value, to tftypes.Type) (tftypes.Value, error) {
	switch {
	case !value.IsKnown():
		return tftypes.NewValue(to, tftypes.UnknownValue), nil
	case value.IsNull():
		return tftypes.NewValue(to, nil), nil
	}
	switch to := to.(type) {
	case tftypes.Object:
		return coerceObject(at, value, to)
	case tftypes.Map:
		return coerceMap(at, value, to)
	case tftypes.List:
		return coerceItems(at, value, to, to.ElementType)
	case tftypes.Set:
		return coerceItems(at, value, to, to.ElementType)
	}
	return coercePrimitive(at, value, to)
}

func coerceObject(at *tftypes.AttributePath, value tftypes.Value, to tftypes.Object) (tftypes.Value, error) {
	given, ok := Entries(value)
	if !ok {
		return tftypes.Value{}, mismatch(at, "an object", value)
	}
	out := make(map[string]tftypes.Value, len(to.AttributeTypes))
	for name, typ := range to.AttributeTypes {
		out[name] = tftypes.NewValue(typ, nil)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		typ, ok := to.AttributeTypes[name]
		if !ok {
			return tftypes.Value{}, unknownAttribute(at, name, to)
		}
		converted, err := coerce(at.WithAttributeName(name), given[name], typ)
		if err != nil {
			return tftypes.Value{}, err
		}
		out[name] = converted
	}
	return tftypes.NewValue(to, out), nil
}

func coerceMap(at *tftypes.AttributePath, value tftypes.Value, to tftypes.Map) (tftypes.Value, error) {
	given, ok := Entries(value)
	if !ok {
		return tftypes.Value{}, mismatch(at, "a map", value)
	}
	out := make(map[string]tftypes.Value, len(given))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		converted, err := coerce(at.WithElementKeyString(key), given[key], to.ElementType)
		if err != nil {
			return tftypes.Value{}, err
		}
		out[key] = converted
	}
	return tftypes.NewValue(to, out), nil
}

func coerceItems(at *tftypes.AttributePath, value tftypes.Value, to, element tftypes.Type) (tftypes.Value, error) {
	var given []tftypes.Value
	if !isSequence(value.Type()) || value.As(&given) != nil {
		return tftypes.Value{}, mismatch(at, "a list", value)
	}
	out := make([]tftypes.Value, len(given))
	for i, item := range given {
		converted, err := coerce(at.WithElementKeyInt(i), item, element)
		if err != nil {
			return tftypes.Value{}, err
		}
		out[i] = converted
	}
	return tftypes.NewValue(to, out), nil
}

// coercePrimitive converts between strings, numbers and booleans, like the conversion functions of Terraform.
func coercePrimitive(at *tftypes.AttributePath, value tftypes.Value, to tftypes.Type) (tftypes.Value, error) {
	from := value.Type()
	if from.Is(to) {
		return value, nil
	}
	var text string
	var number big.Float
	var flag bool
	switch {
	case to.Is(tftypes.String) && value.As(&number) == nil:
		return tftypes.NewValue(to, number.Text('f', -1)), nil
	case to.Is(tftypes.String) && value.As(&flag) == nil:
		return tftypes.NewValue(to, strconv.FormatBool(flag)), nil
	case to.Is(tftypes.Number) && value.As(&text) == nil:
		if parsed, err := Number(text); err == nil && !parsed.IsInf() {
			return tftypes.NewValue(to, parsed), nil
		}
	case to.Is(tftypes.Bool) && value.As(&text) == nil && (text == "true" || text == "false"):
		return tftypes.NewValue(to, text == "true"), nil
	}
	return tftypes.Value{}, mismatch(at, noun(to), value)
}

// Entries returns the attributes of an object, or the elements of a map.
func Entries(value tftypes.Value) (map[string]tftypes.Value, bool) {
	typ := value.Type()
	if !typ.Is(tftypes.Object{}) && !typ.Is(tftypes.Map{}) {
		return nil, false
	}
	var out map[string]tftypes.Value
	return out, value.As(&out) == nil
}

func isSequence(typ tftypes.Type) bool {
	return typ.Is(tftypes.List{}) || typ.Is(tftypes.Set{}) || typ.Is(tftypes.Tuple{})
}

func mismatch(at *tftypes.AttributePath, want string, value tftypes.Value) error {
	return fmt.Errorf("%s must be %s, but is %s", subject(at), want, noun(value.Type()))
}

// noun describes a type, with an article.
func noun(typ tftypes.Type) string {
	switch {
	case typ.Is(tftypes.String):
		return "a string"
	case typ.Is(tftypes.Number):
		return "a number"
	case typ.Is(tftypes.Bool):
		return "a bool"
	case typ.Is(tftypes.Map{}):
		return "a map"
	case typ.Is(tftypes.Object{}):
		return "an object"
	case isSequence(typ):
		return "a list"
	default:
		return "a value of another type"
	}
}

// unknownAttribute names the attribute, and the one of the schema with the most similar name.
func unknownAttribute(at *tftypes.AttributePath, name string, schema tftypes.Object) error {
	message := fmt.Sprintf("%s has no attribute %q", subject(at), name)
	if closest, ok := closestName(name, slices.Sorted(maps.Keys(schema.AttributeTypes))); ok {
		message += fmt.Sprintf(": did you mean %q?", closest)
	}
	return fmt.Errorf("%s", message)
}

func subject(at *tftypes.AttributePath) string {
	if text := PathText(at); text != "" {
		return "the value of " + text
	}
	return "the argument"
}

// PathText formats the path of a value as in a configuration: volumes[0].mount_path.
func PathText(at *tftypes.AttributePath) string {
	var text strings.Builder
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			text.WriteString("." + string(step))
		case tftypes.ElementKeyString:
			fmt.Fprintf(&text, "[%q]", string(step))
		case tftypes.ElementKeyInt:
			fmt.Fprintf(&text, "[%d]", int64(step))
		}
	}
	return strings.TrimPrefix(text.String(), ".")
}

// closestName returns the name that needs the fewest changes of single characters, unless that is a third of the name
// or more.
func closestName(name string, names []string) (string, bool) {
	best, fewest := "", max(3, len(name)/3+1)
	for _, candidate := range names {
		if n := levenshtein.Distance(name, candidate, nil); n < fewest {
			best, fewest = candidate, n
		}
	}
	return best, best != ""
}
