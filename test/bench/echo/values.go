package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/vmihailenco/msgpack/v5"
)

// object is an encoded value of a resource, by attribute. Only attributes that change are decoded.
type object map[string]msgpack.RawMessage

// Encodings of https://github.com/zclconf/go-cty/blob/v1.18.1/cty/msgpack/unknown.go: null, and a value that is
// unknown without refinements.
const (
	null    = "\xc0"
	unknown = "\xd4\x00\x00"
)

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == null }

func decode(value *tfprotov6.DynamicValue) (object, error) {
	decoder := msgpack.NewDecoder(bytes.NewReader(value.MsgPack))
	n, err := decoder.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	o := make(object, n)
	for range n {
		name, err := decoder.DecodeString()
		if err != nil {
			return nil, err
		}
		if o[name], err = decoder.DecodeRaw(); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o object) encode() (*tfprotov6.DynamicValue, error) {
	data, err := msgpack.Marshal(map[string]msgpack.RawMessage(o))
	return &tfprotov6.DynamicValue{MsgPack: data}, err
}

func (o object) equal(other object) bool {
	return maps.EqualFunc(o, other, func(a, b msgpack.RawMessage) bool { return bytes.Equal(a, b) })
}

// text returns a string attribute; "" if it is null or unknown.
func (o object) text(name string) (text string, err error) {
	raw := o[name]
	if isNull(raw) || string(raw) == unknown {
		return "", nil
	}
	return text, msgpack.Unmarshal(raw, &text)
}

func (o object) set(name string, value any) error {
	raw, err := msgpack.Marshal(value)
	o[name] = raw
	return err
}

// fromJSON decodes a value from a state file.
func fromJSON(data []byte) (attributes map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return attributes, decoder.Decode(&attributes)
}

// mapStrings returns a copy of a value in which the strings are replaced, and numbers are as in MessagePack.
func mapStrings(value any, replace func(string) string) (any, error) {
	switch value := value.(type) {
	case string:
		return replace(value), nil
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n, nil
		}
		return value.Float64()
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			var err error
			if out[i], err = mapStrings(item, replace); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			var err error
			if out[replace(key)], err = mapStrings(item, replace); err != nil {
				return nil, err
			}
		}
		return out, nil
	case nil, bool:
		return value, nil
	}
	return nil, fmt.Errorf("unexpected %T in a state file", value)
}
