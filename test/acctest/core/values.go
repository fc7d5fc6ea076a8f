package core

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"
)

// ctyType converts the type of a schema.
func ctyType(t tftypes.Type) (cty.Type, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return cty.NilType, err
	}
	return ctyjson.UnmarshalType(text)
}

// knownAfterApply is the function that stands for a reference to a resource that the same apply changes: its argument
// is unknown in the plan, and known in the apply. Like the output of a terraform_data, it is unknown with its type.
const knownAfterApply = "known_after_apply"

// Applied returns the body of a block with the values that it has in the apply and in later plans.
func Applied(body string) string { return strings.ReplaceAll(body, knownAfterApply+"(", "(") }

// parse evaluates the body of a block without references, with the functions jsonencode, jsondecode and
// known_after_apply, as in a plan.
func parse(text string, typ cty.Type) (cty.Value, error) {
	file, problems := hclsyntax.ParseConfig([]byte(text), "block", hcl.InitialPos)
	if problems.HasErrors() {
		return cty.NilVal, problems
	}
	attributes, problems := file.Body.JustAttributes()
	if problems.HasErrors() {
		return cty.NilVal, problems
	}
	scope := &hcl.EvalContext{Functions: map[string]function.Function{
		"jsonencode": stdlib.JSONEncodeFunc, "jsondecode": stdlib.JSONDecodeFunc, knownAfterApply: unknownFunc(),
	}}
	values := map[string]cty.Value{}
	for name, attribute := range attributes {
		if !typ.HasAttribute(name) {
			return cty.NilVal, errors.New("there is no attribute " + name)
		}
		var problems hcl.Diagnostics
		if values[name], problems = attribute.Expr.Value(scope); problems.HasErrors() {
			return cty.NilVal, problems
		}
	}
	return convert.Convert(cty.ObjectVal(values), optional(typ))
}

func unknownFunc() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true}},
		Type:   function.StaticReturnType(cty.DynamicPseudoType),
		Impl:   func([]cty.Value, cty.Type) (cty.Value, error) { return cty.DynamicVal, nil },
	})
}

// optional returns the type with optional attributes in all objects, so that missing ones become null.
func optional(t cty.Type) cty.Type {
	switch {
	case t.IsObjectType():
		attributes, names := map[string]cty.Type{}, []string{}
		for name, a := range t.AttributeTypes() {
			attributes[name], names = optional(a), append(names, name)
		}
		return cty.ObjectWithOptionalAttrs(attributes, names)
	case t.IsListType():
		return cty.List(optional(t.ElementType()))
	case t.IsMapType():
		return cty.Map(optional(t.ElementType()))
	case t.IsSetType():
		return cty.Set(optional(t.ElementType()))
	}
	return t
}

func encode(v cty.Value) (*tfprotov6.DynamicValue, error) {
	data, err := msgpack.Marshal(v, v.Type())
	return &tfprotov6.DynamicValue{MsgPack: data}, err
}

func encodeAll(values ...cty.Value) ([]*tfprotov6.DynamicValue, error) {
	var out []*tfprotov6.DynamicValue
	for _, v := range values {
		encoded, err := encode(v)
		if err != nil {
			return nil, err
		}
		out = append(out, encoded)
	}
	return out, nil
}

func decode(v *tfprotov6.DynamicValue, typ cty.Type) (cty.Value, error) {
	switch {
	case v == nil:
		return cty.NullVal(typ), nil
	case v.MsgPack != nil:
		return msgpack.Unmarshal(v.MsgPack, typ)
	}
	return ctyjson.Unmarshal(v.JSON, typ)
}

func toJSON(v cty.Value, typ cty.Type) ([]byte, error) { return ctyjson.Marshal(v, typ) }

// decoded returns an object as JSON decodes it, with null for unknown values.
func decoded(v cty.Value) (map[string]any, error) {
	data, err := toJSON(cty.UnknownAsNull(v), v.Type())
	if err != nil {
		return nil, err
	}
	var out map[string]any
	return out, json.Unmarshal(data, &out)
}

// problems returns the warnings, and the errors as one error.
func problems(diagnostics []*tfprotov6.Diagnostic) (warnings []string, err error) {
	var failed []string
	for _, d := range diagnostics {
		text := d.Summary + "\n" + d.Detail
		if d.Attribute != nil {
			text += "\n(" + d.Attribute.String() + ")"
		}
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			failed = append(failed, text)
		} else {
			warnings = append(warnings, text)
		}
	}
	if failed != nil {
		return warnings, errors.New(strings.Join(failed, "\n"))
	}
	return warnings, nil
}
