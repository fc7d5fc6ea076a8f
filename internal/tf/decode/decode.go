// Package decode fills the models of resources from the wire format of Terraform. It gives the same values as the
// framework, for a fraction of the cost: most attributes of a resource are null, and it allocates nothing for these.
package decode

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// ErrUnknown is the error of a value that is not known yet.
var ErrUnknown = errors.New("the value is not fully known")

// errInvalid is the error of a value that its type does not accept. The framework reports the reason.
var errInvalid = errors.New("invalid value")

var errNoAttribute = errors.New("the schema has no such attribute")

// Decoder decodes objects of one schema into the model M, a struct with one field for each attribute. It is safe for
// concurrent use.
type Decoder[M any] struct {
	fields map[string]field
	null   M // with all attributes null
}

type field struct {
	name  string
	index []int
	typ   attr.Type
	wire  tftypes.Type
}

// New returns a decoder. It returns an error unless each attribute has a field of its type, with the tag tfsdk, and
// each field an attribute.
func New[M any](ctx context.Context, attributes map[string]schema.Attribute) (*Decoder[M], error) {
	d := &Decoder[M]{fields: map[string]field{}}
	into := reflect.ValueOf(&d.null).Elem()
	for _, structField := range reflect.VisibleFields(into.Type()) {
		name, tagged := structField.Tag.Lookup("tfsdk")
		if structField.Anonymous || !tagged {
			continue
		}
		attribute, ok := attributes[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, errNoAttribute)
		}
		typ := attribute.GetType()
		f := field{name: name, index: structField.Index, typ: typ, wire: typ.TerraformType(ctx)}
		if err := f.set(ctx, into, tftypes.NewValue(f.wire, nil)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		d.fields[name] = f
	}
	if len(d.fields) != len(attributes) {
		return nil, fmt.Errorf("the schema has %d attributes, but the model %d fields", len(attributes), len(d.fields))
	}
	return d, nil
}

// Value returns the value of an attribute, or nil if the schema does not have it.
func (d *Decoder[M]) Value(model *M, name string) attr.Value {
	f, ok := d.fields[name]
	if !ok {
		return nil
	}
	value, _ := reflect.TypeAssert[attr.Value](reflect.ValueOf(model).Elem().FieldByIndex(f.index))
	return value
}

// Convert is [Decoder.Decode] for an object that is decoded already.
func (d *Decoder[M]) Convert(ctx context.Context, object tftypes.Value) (*M, error) {
	if !object.IsFullyKnown() {
		return nil, ErrUnknown
	}
	var values map[string]tftypes.Value
	if err := object.As(&values); err != nil {
		return nil, err
	}
	if len(values) != len(d.fields) {
		return nil, d.incomplete(len(values))
	}
	model := d.null
	into := reflect.ValueOf(&model).Elem()
	for name, value := range values {
		f, ok := d.fields[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, errNoAttribute)
		}
		if value.IsNull() {
			continue
		}
		if err := f.set(ctx, into, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return &model, nil
}

// Decode decodes a MessagePack object. It returns [ErrUnknown] if a part of the object is unknown, and another error
// if the object does not match the schema.
func (d *Decoder[M]) Decode(ctx context.Context, object []byte) (*M, error) {
	model := d.null
	into := reflect.ValueOf(&model).Elem()
	count := 0
	err := members(object, func(name string, in *msgpack.Decoder) error {
		f, ok := d.fields[name]
		if !ok {
			return errNoAttribute
		}
		count++
		if code, err := in.PeekCode(); err != nil || code == msgpcode.Nil {
			return errors.Join(err, in.DecodeNil())
		}
		return f.decode(ctx, in, into)
	})
	if err != nil {
		return nil, err
	}
	if count != len(d.fields) {
		return nil, d.incomplete(count)
	}
	return &model, nil
}

func (d *Decoder[M]) incomplete(count int) error {
	return fmt.Errorf("the object has %d attributes, but the schema %d", count, len(d.fields))
}

func (f field) decode(ctx context.Context, in *msgpack.Decoder, into reflect.Value) error {
	raw, err := in.DecodeRaw()
	if err != nil {
		return err
	}
	value, err := (&tfprotov6.DynamicValue{MsgPack: raw}).Unmarshal(f.wire)
	if err != nil {
		return err
	}
	if !value.IsFullyKnown() {
		return ErrUnknown
	}
	return f.set(ctx, into, value)
}

func (f field) set(ctx context.Context, into reflect.Value, value tftypes.Value) error {
	converted, err := f.typ.ValueFromTerraform(ctx, value)
	if err != nil {
		return err
	}
	if !validValue(ctx, path.Root(f.name), converted) {
		return errInvalid
	}
	to, from := into.FieldByIndex(f.index), reflect.ValueOf(converted)
	if !from.Type().AssignableTo(to.Type()) {
		return fmt.Errorf("the attribute has the type %s, but the field %s", from.Type(), to.Type())
	}
	to.Set(from)
	return nil
}
