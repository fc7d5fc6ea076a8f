package decode

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Texts returns attributes of a MessagePack object that are strings. It omits attributes that are null. An attribute
// that is unknown or not a string is an error.
func Texts(object []byte, names ...string) (map[string]string, error) {
	in := msgpack.NewDecoder(bytes.NewReader(object))
	length, err := in.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for range length {
		name, err := in.DecodeString()
		if err != nil {
			return nil, err
		}
		code, err := in.PeekCode()
		switch {
		case err != nil:
		case code != msgpcode.Nil && slices.Contains(names, name):
			texts[name], err = in.DecodeString()
		default:
			err = in.Skip()
		}
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// EqualExcept reports whether two MessagePack objects have the same attributes with the same values, except for the
// values of some attributes. Terraform encodes the attributes of an object in the order of their names.
func EqualExcept(a, b []byte, except ...string) bool {
	if bytes.Equal(a, b) {
		return true
	}
	first, second := msgpack.NewDecoder(bytes.NewReader(a)), msgpack.NewDecoder(bytes.NewReader(b))
	length, err := first.DecodeMapLen()
	if other, otherErr := second.DecodeMapLen(); err != nil || otherErr != nil || length != other {
		return false
	}
	for range length {
		name, err := first.DecodeString()
		if other, otherErr := second.DecodeString(); err != nil || otherErr != nil || name != other {
			return false
		}
		value, err := first.DecodeRaw()
		other, otherErr := second.DecodeRaw()
		if err != nil || otherErr != nil || !slices.Contains(except, name) && !bytes.Equal(value, other) {
			return false
		}
	}
	return true
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
