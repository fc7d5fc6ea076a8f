package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// members calls visit for each attribute of a MessagePack object. visit has to read or skip the value.
func members(object []byte, visit func(name string, in *msgpack.Decoder) error) error {
	in := msgpack.NewDecoder(bytes.NewReader(object))
	length, err := in.DecodeMapLen()
	if err != nil {
		return err
	}
	for range length {
		name, err := in.DecodeString()
		if err != nil {
			return err
		}
		if err := visit(name, in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Texts returns attributes of a MessagePack object that are strings. It omits attributes that are null. An attribute
// that is unknown or not a string is an error.
func Texts(object []byte, names ...string) (map[string]string, error) {
	texts := map[string]string{}
	return texts, members(object, func(name string, in *msgpack.Decoder) error {
		code, err := in.PeekCode()
		switch {
		case err != nil:
		case code == msgpcode.Nil || !slices.Contains(names, name):
			err = in.Skip()
		default:
			texts[name], err = in.DecodeString()
		}
		return err
	})
}

var errDiffer = errors.New("the objects differ")

// EqualExcept reports whether two MessagePack objects have the same attributes with the same values, except for the
// values of some attributes. Terraform encodes the attributes of an object in the order of their names.
func EqualExcept(a, b []byte, except ...string) bool {
	if bytes.Equal(a, b) {
		return true
	}
	second := msgpack.NewDecoder(bytes.NewReader(b))
	length, err := second.DecodeMapLen()
	return err == nil && nil == members(a, func(name string, first *msgpack.Decoder) error {
		length--
		value, err := first.DecodeRaw()
		if err != nil {
			return err
		}
		otherName, err := second.DecodeString()
		if err != nil {
			return err
		}
		other, err := second.DecodeRaw()
		if err != nil {
			return err
		}
		if name != otherName || !bytes.Equal(value, other) && !slices.Contains(except, name) {
			return errDiffer
		}
		return nil
	}) && length == 0
}

// Conforms reports whether a JSON object has exactly the attributes of an object type, with values of their types.
// Terraform stores state in this form.
func Conforms(object map[string]json.RawMessage, typ tftypes.Object) bool {
	if object == nil || len(object) != len(typ.AttributeTypes) {
		return false
	}
	for name, attribute := range typ.AttributeTypes {
		value, ok := object[name]
		if !ok || !conforms(value, attribute) {
			return false
		}
	}
	return true
}

func conforms(value json.RawMessage, typ tftypes.Type) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return len(value) > 0
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		var object map[string]json.RawMessage
		return json.Unmarshal(value, &object) == nil && Conforms(object, typ)
	case tftypes.Map:
		var entries map[string]json.RawMessage
		if json.Unmarshal(value, &entries) != nil {
			return false
		}
		for _, entry := range entries {
			if !conforms(entry, typ.ElementType) {
				return false
			}
		}
		return true
	case tftypes.List:
		var items []json.RawMessage
		return json.Unmarshal(value, &items) == nil &&
			!slices.ContainsFunc(items, func(item json.RawMessage) bool { return !conforms(item, typ.ElementType) })
	}
	switch {
	case typ.Is(tftypes.String):
		return value[0] == '"'
	case typ.Is(tftypes.Bool):
		return value[0] == 't' || value[0] == 'f'
	case typ.Is(tftypes.Number):
		return value[0] == '-' || '0' <= value[0] && value[0] <= '9'
	}
	return false
}
