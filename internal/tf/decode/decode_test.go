package decode_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
)

type common struct {
	Name types.String `tfsdk:"name"`
}

type model struct {
	common

	Size   tf.Quantity `tfsdk:"size"`
	Count  types.Int64 `tfsdk:"count"`
	Ready  types.Bool  `tfsdk:"ready"`
	Labels types.Map   `tfsdk:"labels"`
	Mounts types.List  `tfsdk:"mounts"`
}

func attributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":  schema.StringAttribute{Required: true, Validators: []validator.String{tf.ObjectName()}},
		"size":  schema.StringAttribute{Optional: true, CustomType: tf.QuantityType{}},
		"count": schema.Int64Attribute{Optional: true},
		"ready": schema.BoolAttribute{Computed: true},
		"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType,
			Validators: []validator.Map{tf.NoNulls()}},
		"mounts": schema.ListNestedAttribute{Optional: true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"path": schema.StringAttribute{Required: true},
			}}},
	}
}

// object returns an object of the schema as Terraform sends it. Attributes that are not given are null.
func object(t testing.TB, given map[string]tftypes.Value) (tftypes.Value, []byte) {
	t.Helper()
	typ, ok := schema.Schema{Attributes: attributes()}.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is not an object")
	}
	values := map[string]tftypes.Value{}
	for name, of := range typ.AttributeTypes {
		values[name] = tftypes.NewValue(of, nil)
		if value, ok := given[name]; ok {
			values[name] = value
		}
	}
	value := tftypes.NewValue(typ, values)
	encoded, err := tfprotov6.NewDynamicValue(typ, value)
	if err != nil {
		t.Fatal(err)
	}
	return value, encoded.MsgPack
}

func text(value string) tftypes.Value { return tftypes.NewValue(tftypes.String, value) }

func labels(value any) tftypes.Value {
	return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{
		"team": tftypes.NewValue(tftypes.String, value),
	})
}

func mounts(paths ...any) tftypes.Value {
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"path": tftypes.String}}
	var items []tftypes.Value
	for _, path := range paths {
		items = append(items, tftypes.NewValue(typ, map[string]tftypes.Value{
			"path": tftypes.NewValue(tftypes.String, path),
		}))
	}
	return tftypes.NewValue(tftypes.List{ElementType: typ}, items)
}

func TestDecodedModelEqualsThatOfTheFramework(t *testing.T) {
	t.Parallel()
	decoder, err := decode.New[model](t.Context(), attributes())
	if err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string]map[string]tftypes.Value{
		"all null": {},
		"all set": {"name": text("data"), "size": text("4Gi"), "count": tftypes.NewValue(tftypes.Number, 3),
			"ready": tftypes.NewValue(tftypes.Bool, true), "labels": labels("ml"), "mounts": mounts("/data", "/tmp")},
		"empty": {"name": text(""), "labels": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String},
			map[string]tftypes.Value{}), "mounts": mounts()},
		"null element": {"labels": labels(nil)},
	} {
		value, encoded := object(t, given)
		got, err := decoder.Decode(t.Context(), encoded)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		converted, err := decoder.Convert(t.Context(), value)
		if err != nil || !reflect.DeepEqual(converted, got) {
			t.Errorf("%s is converted to %v, %v", name, converted, err)
		}
		var want model
		state := tfsdk.State{Raw: value, Schema: schema.Schema{Attributes: attributes()}}
		if diags := state.Get(t.Context(), &want); diags.HasError() {
			t.Fatal(name, diags)
		}
		for attribute := range attributes() {
			if a, b := decoder.Value(got, attribute), decoder.Value(&want, attribute); !a.Equal(b) {
				t.Errorf("%s: %s is %s, but %s by the framework", name, attribute, a, b)
			}
		}
	}
}

func TestDecodeRejectsWhatTheFrameworkHasToHandle(t *testing.T) {
	t.Parallel()
	decoder, err := decode.New[model](t.Context(), attributes())
	if err != nil {
		t.Fatal(err)
	}
	_, unknown := object(t, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)})
	if _, err := decoder.Decode(t.Context(), unknown); !errors.Is(err, decode.ErrUnknown) {
		t.Errorf("unknown attribute: %v", err)
	}
	_, unknown = object(t, map[string]tftypes.Value{"labels": labels(tftypes.UnknownValue)})
	if _, err := decoder.Decode(t.Context(), unknown); !errors.Is(err, decode.ErrUnknown) {
		t.Errorf("unknown element: %v", err)
	}
	_, invalid := object(t, map[string]tftypes.Value{"size": text("4gb")})
	for name, encoded := range map[string][]byte{
		"invalid quantity": invalid, "no object": {0xc0}, "other object": {0x81, 0xa1, 'a', 0xc0}, "nothing": nil,
		"truncated": invalid[:len(invalid)-1],
	} {
		if _, err := decoder.Decode(t.Context(), encoded); err == nil {
			t.Errorf("%s was decoded", name)
		}
	}
}

func TestDecoderRequiresTheAttributesOfTheModel(t *testing.T) {
	t.Parallel()
	fewer, more, other := attributes(), attributes(), attributes()
	delete(fewer, "size")
	more["extra"] = schema.StringAttribute{Optional: true}
	other["count"] = schema.StringAttribute{Optional: true}
	for name, attributes := range map[string]map[string]schema.Attribute{"fewer": fewer, "more": more, "other": other} {
		if _, err := decode.New[model](t.Context(), attributes); err == nil {
			t.Errorf("%s attributes were accepted", name)
		}
	}
}

func TestValidAcceptsOnlyWhatTheSchemaAccepts(t *testing.T) {
	t.Parallel()
	decoder, err := decode.New[model](t.Context(), attributes())
	if err != nil {
		t.Fatal(err)
	}
	name := text("data")
	for _, test := range []struct {
		name  string
		given map[string]tftypes.Value
		want  bool
	}{
		{"all attributes", map[string]tftypes.Value{"name": name, "size": text("4Gi"), "labels": labels("ml"),
			"mounts": mounts("/data")}, true},
		{"required only", map[string]tftypes.Value{"name": name}, true},
		{"required missing", map[string]tftypes.Value{}, false},
		{"validator", map[string]tftypes.Value{"name": text("Data_1")}, false},
		{"validator of a map", map[string]tftypes.Value{"name": name, "labels": labels(nil)}, false},
		{"computed only", map[string]tftypes.Value{"name": name, "ready": tftypes.NewValue(tftypes.Bool, true)}, false},
		{"nested required missing", map[string]tftypes.Value{"name": name, "mounts": mounts("/data", nil)}, false},
		{"nested empty", map[string]tftypes.Value{"name": name, "mounts": mounts("")}, false},
	} {
		value, encoded := object(t, test.given)
		decoded, err := decoder.Decode(t.Context(), encoded)
		if err != nil {
			t.Fatal(test.name, err)
		}
		config := tfsdk.Config{Raw: value, Schema: schema.Schema{Attributes: attributes()}}
		got := decode.Valid(t.Context(), config, attributes(), func(name string) attr.Value {
			return decoder.Value(decoded, name)
		})
		if got != test.want {
			t.Errorf("%s: valid is %t", test.name, got)
		}
	}
}

func TestTextsOfAnObject(t *testing.T) {
	t.Parallel()
	_, encoded := object(t, map[string]tftypes.Value{"name": text("data"), "labels": labels("ml")})
	got, err := decode.Texts(encoded, "name", "size")
	if err != nil || len(got) != 1 || got["name"] != "data" {
		t.Errorf("got %v, %v", got, err)
	}
	_, encoded = object(t, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)})
	if got, err := decode.Texts(encoded, "name"); err == nil {
		t.Errorf("an unknown text is %v", got)
	}
}

func TestEqualExceptIgnoresOnlyTheNamedAttributes(t *testing.T) {
	t.Parallel()
	_, a := object(t, map[string]tftypes.Value{"name": text("data"), "labels": labels("ml")})
	_, b := object(t, map[string]tftypes.Value{"name": text("data"), "labels": labels("web")})
	_, c := object(t, map[string]tftypes.Value{"name": text("other"), "labels": labels("ml")})
	for _, test := range []struct {
		a, b   []byte
		except []string
		want   bool
	}{
		{a, a, nil, true}, {a, b, nil, false}, {a, b, []string{"labels"}, true}, {a, c, []string{"labels"}, false},
		{a, nil, []string{"labels"}, false}, {a, a[:len(a)-1], []string{"labels"}, false},
	} {
		if got := decode.EqualExcept(test.a, test.b, test.except...); got != test.want {
			t.Errorf("%x and %x except %v: %t", test.a, test.b, test.except, got)
		}
	}
}

func TestConformsRequiresTheTypesOfTheSchema(t *testing.T) {
	t.Parallel()
	typ, ok := schema.Schema{Attributes: attributes()}.Type().TerraformType(t.Context()).(tftypes.Object)
	if !ok {
		t.Fatal("the schema is not an object")
	}
	for state, want := range map[string]bool{
		`{"name":"a","size":null,"count":1,"ready":true,"labels":{"a":"b"},"mounts":[{"path":"/a"}]}`:  true,
		`{"name":null,"size":null,"count":null,"ready":null,"labels":null,"mounts":null}`:              true,
		`{"name":"a","size":null,"count":1,"ready":true,"labels":{"a":"b"}}`:                           false,
		`{"name":"a","size":null,"count":1,"ready":true,"labels":null,"mounts":null,"x":1}`:            false,
		`{"name":1,"size":null,"count":1,"ready":true,"labels":null,"mounts":null}`:                    false,
		`{"name":"a","size":null,"count":"1","ready":true,"labels":null,"mounts":null}`:                false,
		`{"name":"a","size":null,"count":1,"ready":1,"labels":null,"mounts":null}`:                     false,
		`{"name":"a","size":null,"count":1,"ready":true,"labels":["a"],"mounts":null}`:                 false,
		`{"name":"a","size":null,"count":1,"ready":true,"labels":{"a":1},"mounts":null}`:               false,
		`{"name":"a","size":null,"count":1,"ready":true,"labels":null,"mounts":[{"path":"/a","b":1}]}`: false,
		`null`: false,
	} {
		var attributes map[string]json.RawMessage
		if err := json.Unmarshal([]byte(state), &attributes); err != nil {
			t.Fatal(err)
		}
		if got := decode.Conforms(attributes, typ); got != want {
			t.Errorf("%s: %t", state, got)
		}
	}
}

// FuzzDecode also tests that no input makes the functions panic.
func FuzzDecode(f *testing.F) {
	_, full := object(f, map[string]tftypes.Value{"name": text("data"), "size": text("4Gi"), "labels": labels("ml"),
		"mounts": mounts("/data")})
	_, null := object(f, nil)
	for _, seed := range [][]byte{full, null, {0xc0}, {0x80}, {0xdf, 0xff, 0xff, 0xff, 0xff}, nil} {
		f.Add(seed)
	}
	decoder, err := decode.New[model](f.Context(), attributes())
	if err != nil {
		f.Fatal(err)
	}
	typ := schema.Schema{Attributes: attributes()}.Type().TerraformType(f.Context())
	f.Fuzz(func(t *testing.T, encoded []byte) {
		_, _ = decode.Texts(encoded, "name")
		_ = decode.EqualExcept(full, encoded, "name")
		got, err := decoder.Decode(t.Context(), encoded)
		value, frameworkErr := (&tfprotov6.DynamicValue{MsgPack: encoded}).Unmarshal(typ)
		if frameworkErr == nil {
			if _, convertErr := decoder.Convert(t.Context(), value); (convertErr == nil) != (err == nil) {
				t.Errorf("%x: %v if it is decoded, but %v if it is converted", encoded, err, convertErr)
			}
		}
		if err != nil {
			return
		}
		if frameworkErr != nil {
			t.Fatalf("%x is decoded, but not by the framework: %v", encoded, frameworkErr)
		}
		var want model
		state := tfsdk.State{Raw: value, Schema: schema.Schema{Attributes: attributes()}}
		if diags := state.Get(t.Context(), &want); diags.HasError() {
			t.Fatalf("%x is decoded, but not by the framework: %v", encoded, diags)
		}
		for attribute := range attributes() {
			if a, b := decoder.Value(got, attribute), decoder.Value(&want, attribute); !a.Equal(b) {
				t.Errorf("%s is %s, but %s by the framework", attribute, a, b)
			}
		}
	})
}
