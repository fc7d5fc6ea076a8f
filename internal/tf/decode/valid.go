package decode

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/attr/xattr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// Valid reports whether the schema accepts a fully known configuration without a diagnostic. It runs the validators of
// all attributes and of their types, as the framework does. values returns the value of a top-level attribute. The
// client supports write-only attributes. A false result gives no reason: the framework has to validate the
// configuration, for its diagnostics or because Valid does not support what the schema or the configuration contains,
// such as an attribute with an empty text or a null in a collection.
func Valid(
	ctx context.Context, config tfsdk.Config, attributes map[string]schema.Attribute,
	values func(name string) attr.Value,
) bool {
	for name, attribute := range attributes {
		at := position{config: config, path: path.Root(name), expression: path.MatchRoot(name)}
		if !validAttribute(ctx, at, attribute, values(name)) {
			return false
		}
	}
	return true
}

// position is that of a value in the configuration.
type position struct {
	config     tfsdk.Config
	path       path.Path
	expression path.Expression
}

func (p position) attribute(name string) position {
	return position{p.config, p.path.AtName(name), p.expression.AtName(name)}
}

func (p position) item(index int) position {
	return position{p.config, p.path.AtListIndex(index), p.expression.AtListIndex(index)}
}

func validAttribute(ctx context.Context, at position, attribute schema.Attribute, value attr.Value) bool {
	switch {
	case value == nil, attribute.IsRequired() && value.IsNull(), isEmptyOrHasNull(value),
		!validValue(ctx, at.path, value), !validatorsAccept(ctx, at, attribute, value):
		return false
	case value.IsNull():
		return true
	case attribute.IsComputed() && !attribute.IsOptional(), attribute.GetDeprecationMessage() != "":
		return false
	}
	nested, ok := attribute.(schema.NestedAttribute)
	if !ok {
		return true
	}
	object := nested.GetNestedObject()
	objects, ok := objectsIn(ctx, value)
	_, isList := value.(basetypes.ListValue)
	for i, members := range objects {
		at := at
		if isList {
			at = at.item(i)
		}
		with, validates := object.(objectValidators)
		if members.IsNull() || validates && !objectsAccept(ctx, at, with.ObjectValidators(), members) {
			return false
		}
		values := members.Attributes()
		for name, attribute := range object.GetAttributes() {
			if !validAttribute(ctx, at.attribute(name), attribute, values[name]) {
				return false
			}
		}
	}
	return ok
}

// objectsIn returns the objects in the value of a nested attribute: an object, or a list of objects. It returns false
// for another value.
func objectsIn(ctx context.Context, value attr.Value) ([]basetypes.ObjectValue, bool) {
	items := []attr.Value{value}
	if list, ok := value.(basetypes.ListValue); ok {
		items = list.Elements()
	}
	objects := make([]basetypes.ObjectValue, len(items))
	for i, item := range items {
		valuable, ok := item.(basetypes.ObjectValuable)
		if !ok {
			return nil, false
		}
		object, diags := valuable.ToObjectValue(ctx)
		if len(diags) > 0 {
			return nil, false
		}
		objects[i] = object
	}
	return objects, true
}

// isEmptyOrHasNull reports whether a value is an empty text, or a collection with a null.
func isEmptyOrHasNull(value attr.Value) bool {
	switch value := value.(type) {
	case basetypes.ListValue:
		return slices.ContainsFunc(value.Elements(), attr.Value.IsNull)
	case basetypes.MapValue:
		for _, element := range value.Elements() {
			if element.IsNull() {
				return true
			}
		}
	case interface {
		attr.Value
		ValueString() string
	}:
		return value.ValueString() == "" && !value.IsNull()
	}
	return false
}

// validValue runs the validation of a custom type, also for the elements of a collection.
func validValue(ctx context.Context, at path.Path, value attr.Value) bool {
	if with, ok := value.(xattr.ValidateableAttribute); ok {
		var resp xattr.ValidateAttributeResponse
		with.ValidateAttribute(ctx, xattr.ValidateAttributeRequest{Path: at}, &resp)
		return len(resp.Diagnostics) == 0
	}
	switch value := value.(type) {
	case basetypes.ListValue:
		for i, item := range value.Elements() {
			if !validValue(ctx, at.AtListIndex(i), item) {
				return false
			}
		}
	case basetypes.MapValue:
		for key, element := range value.Elements() {
			if !validValue(ctx, at.AtMapKey(key), element) {
				return false
			}
		}
	}
	return true
}

// Accepted reports whether the validators of an attribute accept a value, regardless of its position.
func Accepted(ctx context.Context, config tfsdk.Config, attribute schema.Attribute, value attr.Value) bool {
	at := path.Root("value") // in messages that nobody reads
	return validatorsAccept(ctx, position{config, at, at.Expression()}, attribute, value)
}

// validatorsAccept runs the validators of an attribute, also if its value is null.
func validatorsAccept(ctx context.Context, at position, attribute schema.Attribute, value attr.Value) bool {
	switch attribute := attribute.(type) {
	case interface{ StringValidators() []validator.String }:
		text, ok := value.(basetypes.StringValuable)
		return ok && accept(ctx, at, attribute.StringValidators(), text.ToStringValue, validator.String.ValidateString)
	case interface{ Int64Validators() []validator.Int64 }:
		number, ok := value.(basetypes.Int64Valuable)
		return ok && accept(ctx, at, attribute.Int64Validators(), number.ToInt64Value, validator.Int64.ValidateInt64)
	case interface{ BoolValidators() []validator.Bool }:
		return len(attribute.BoolValidators()) == 0
	case interface{ ListValidators() []validator.List }:
		list, ok := value.(basetypes.ListValuable)
		return ok && accept(ctx, at, attribute.ListValidators(), list.ToListValue, validator.List.ValidateList)
	case interface{ MapValidators() []validator.Map }:
		entries, ok := value.(basetypes.MapValuable)
		return ok && accept(ctx, at, attribute.MapValidators(), entries.ToMapValue, validator.Map.ValidateMap)
	case objectValidators:
		return objectsAccept(ctx, at, attribute.ObjectValidators(), value)
	}
	return false
}

// objectValidators is an attribute or a nested object with validators.
type objectValidators interface{ ObjectValidators() []validator.Object }

func objectsAccept(ctx context.Context, at position, validators []validator.Object, value attr.Value) bool {
	object, ok := value.(basetypes.ObjectValuable)
	return ok && accept(ctx, at, validators, object.ToObjectValue, validator.Object.ValidateObject)
}

// accept reports whether all validators accept a value. The requests to validators of all types have the same fields,
// and so have their responses.
func accept[Validator, Value any, Request ~struct {
	Path               path.Path
	PathExpression     path.Expression
	Config             tfsdk.Config
	ConfigValue        Value
	ClientCapabilities validator.ValidateSchemaClientCapabilities
}, Response ~struct{ Diagnostics diag.Diagnostics }](
	ctx context.Context, at position, validators []Validator,
	convert func(context.Context) (Value, diag.Diagnostics),
	validate func(Validator, context.Context, Request, *Response),
) bool {
	if len(validators) == 0 {
		return true
	}
	value, diags := convert(ctx)
	if len(diags) > 0 {
		return false
	}
	for _, one := range validators {
		var resp Response
		validate(one, ctx, Request{Path: at.path, PathExpression: at.expression, Config: at.config,
			ConfigValue: value}, &resp)
		if len(struct{ Diagnostics diag.Diagnostics }(resp).Diagnostics) > 0 {
			return false
		}
	}
	return true
}
