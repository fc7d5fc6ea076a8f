package wire

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// The chunks are encoded and decoded here, because the generated code takes as long for the few fields of a chunk as
// the transfer of a small tensor. It decides in the tests what is correct.

// field is one field of an encoded message.
type field struct {
	num    protowire.Number
	typ    protowire.Type
	number uint64 // of a VarintType
	bytes  []byte // of a BytesType
}

// next decodes the first field of a message, and returns the rest of the message.
func next(b []byte) (f field, rest []byte, err error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 || num > protowire.MaxValidNumber {
		return f, nil, Errorf(Malformed, "an invalid field number")
	}
	f, b = field{num: num, typ: typ}, b[n:]
	switch typ {
	case protowire.VarintType:
		f.number, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return f, nil, Errorf(Malformed, "field %d: %v", num, protowire.ParseError(n))
	}
	return f, b[n:], nil
}

// is reports whether the field has this number and type. Fields of another type are ignored, like unknown ones.
func (f field) is(num protowire.Number, typ protowire.Type) bool { return f.num == num && f.typ == typ }

// text returns a string, which must be UTF-8 in protobuf.
func (f field) text() (string, error) {
	if !utf8.Valid(f.bytes) {
		return "", Errorf(Malformed, "field %d is not UTF-8", f.num)
	}
	return string(f.bytes), nil
}

// appendNumbers appends the numbers of a repeated field, which is packed or not.
func (f field) appendNumbers(list []int64) ([]int64, error) {
	packed := f.bytes
	if f.typ == protowire.VarintType {
		list = append(list, int64(f.number)) //nolint:gosec // two's complement
	}
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, Errorf(Malformed, "field %d: %v", f.num, protowire.ParseError(n))
		}
		if list == nil {
			list = make([]int64, 0, min(len(packed), 8))
		}
		list, packed = append(list, int64(v)), packed[n:] //nolint:gosec // two's complement
		if len(list) > layout.MaxDims {
			break
		}
	}
	if len(list) > layout.MaxDims {
		return nil, Errorf(Limit, "more than %d dimensions", layout.MaxDims)
	}
	return list, nil
}

// appendNumber appends a number, which is omitted if it is 0.
func appendNumber(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

// appendText appends a string, which is omitted if it is empty.
func appendText(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), s)
}

// appendList appends numbers as a packed field.
func appendList(b []byte, num protowire.Number, list []int64) []byte {
	if len(list) == 0 {
		return b
	}
	size := 0
	for _, v := range list {
		size += protowire.SizeVarint(uint64(v)) //nolint:gosec // two's complement
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	for _, v := range list {
		b = protowire.AppendVarint(b, uint64(v)) //nolint:gosec // two's complement
	}
	return b
}

// appendEntry appends an entry of a map: a message with the key in field 1 and the value in field 2.
func appendEntry(b []byte, num protowire.Number, key, value string) []byte {
	size := 2 + protowire.SizeBytes(len(key)) + protowire.SizeBytes(len(value))
	b = protowire.AppendTag(b, num, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size)) //nolint:gosec // never negative
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), key)
	return protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), value)
}

// entry decodes an entry of a map.
func (f field) entry() (key, value string, err error) {
	for b := f.bytes; len(b) > 0; {
		if f, b, err = next(b); err != nil {
			return "", "", err
		}
		switch {
		case f.is(1, protowire.BytesType):
			key, err = f.text()
		case f.is(2, protowire.BytesType):
			value, err = f.text()
		}
		if err != nil {
			return "", "", err
		}
	}
	return key, value, nil
}
