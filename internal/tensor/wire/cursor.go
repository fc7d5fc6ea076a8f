package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// dataNumber is the number of the field with the data, in the chunks of both protocols.
const dataNumber = 3

// maxFields limits the total size of the fields other than data: IDs, shapes, metadata.
const maxFields = 64 << 10

// split separates the data of a message from the encoding of all other fields. The data is not copied; the caller
// must free it, also after an error.
func split(msg mem.BufferSlice) (fields []byte, data mem.BufferSlice, err error) {
	c := &cursor{bufs: msg, left: msg.Len()}
	fields = make([]byte, 0, 128)
	for c.left > 0 {
		tag, err := c.uvarint()
		if err != nil {
			return nil, data, err
		}
		if num, typ := protowire.DecodeTag(tag); num == dataNumber && typ == protowire.BytesType {
			data.Free() // the last value counts
			data, err = c.data()
		} else {
			fields, err = c.value(protowire.AppendVarint(fields, tag), typ)
		}
		if err != nil {
			return nil, data, err
		}
	}
	return fields, data, nil
}

// cursor reads a message in several buffers without joining them.
type cursor struct {
	bufs mem.BufferSlice
	at   int // in bufs[0]
	left int
}

// head returns the unread part of the first buffer that is not read completely.
func (c *cursor) head() []byte {
	for len(c.bufs) > 0 {
		if rest := c.bufs[0].ReadOnlyData()[c.at:]; len(rest) > 0 {
			return rest
		}
		c.bufs, c.at = c.bufs[1:], 0
	}
	return nil
}

// read calls f with the next n bytes, in one or several parts.
func (c *cursor) read(n int, f func(part []byte)) {
	for n > 0 {
		part := c.head()
		part = part[:min(len(part), n)]
		f(part)
		c.at += len(part)
		c.left -= len(part)
		n -= len(part)
	}
}

func (c *cursor) uvarint() (uint64, error) {
	v, n := protowire.ConsumeVarint(c.head())
	if n < 0 { // rarely in two buffers
		var raw []byte
		ahead := *c
		ahead.read(min(c.left, 10), func(part []byte) { raw = append(raw, part...) })
		if v, n = protowire.ConsumeVarint(raw); n < 0 {
			return 0, Errorf(Malformed, "a number is truncated or too long")
		}
	}
	c.read(n, func([]byte) {})
	return v, nil
}

// length reads the length of a length-delimited field.
func (c *cursor) length() (int, error) {
	n, err := c.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(c.left) { //nolint:gosec // never negative
		return 0, Errorf(Malformed, "a field of %d bytes in a message with %d remaining bytes", n, c.left)
	}
	return int(n), nil //nolint:gosec // not above left
}

// data returns the buffers of a length-delimited field, with separate references that the caller must free.
func (c *cursor) data() (mem.BufferSlice, error) {
	n, err := c.length()
	var out mem.BufferSlice
	c.read(n, func(part []byte) { out = append(out, c.bufs[0].Slice(c.at, c.at+len(part))) })
	return out, err
}

// value appends the encoding of a value.
func (c *cursor) value(b []byte, typ protowire.Type) ([]byte, error) {
	n := 0 // bytes that follow as they are
	var err error
	switch typ {
	case protowire.VarintType:
		var v uint64
		v, err = c.uvarint()
		b = protowire.AppendVarint(b, v)
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		n, err = c.length()
		b = protowire.AppendVarint(b, uint64(n)) //nolint:gosec // never negative
	default:
		err = Errorf(Malformed, "wire type %d", typ)
	}
	switch {
	case err != nil:
		return nil, err
	case n > c.left:
		return nil, Errorf(Malformed, "a field is truncated")
	case len(b)+n > maxFields:
		return nil, Errorf(Limit, "more than %d bytes of fields other than data", maxFields)
	}
	c.read(n, func(part []byte) { b = append(b, part...) })
	return b, nil
}
