package wire

import (
	"encoding/binary"
	"io"
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// dataNumber is the number of the field with the data, in the chunks of both protocols.
const dataNumber = 3

// maxFields limits the total size of the fields other than data: IDs, shapes, metadata.
const maxFields = 64 << 10

// split separates the data of a message from the encoding of all other fields. The data is not copied; the caller
// must free it, also after an error.
func split(msg mem.BufferSlice) (encoded []byte, data mem.BufferSlice, err error) {
	r, size := msg.Reader(), msg.Len()
	defer r.Close()
	encoded = make([]byte, 0, 128)
	for r.Remaining() > 0 {
		tag, err := number(r)
		if err != nil {
			return nil, data, err
		}
		if num, typ := protowire.DecodeTag(tag); num != dataNumber || typ != protowire.BytesType {
			if encoded, err = appendValue(protowire.AppendVarint(encoded, tag), typ, r); err != nil {
				return nil, data, err
			}
			continue
		}
		n, err := length(r)
		if err != nil {
			return nil, data, err
		}
		data.Free() // the last value counts
		data = part(msg, size-r.Remaining(), n)
		_, _ = r.Discard(n) // as length has checked, there are n bytes
	}
	return encoded, data, nil
}

// part returns n bytes of a message with separate references, which the caller must free.
func part(msg mem.BufferSlice, at, n int) (out mem.BufferSlice) {
	for _, buf := range msg {
		if size := min(buf.Len()-at, n); size > 0 {
			out = append(out, buf.Slice(at, at+size))
			n -= size
		}
		at = max(at-buf.Len(), 0)
	}
	return out
}

func number(r *mem.Reader) (uint64, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return 0, Errorf(Malformed, "a number is truncated or too long")
	}
	return n, nil
}

// length reads the length of a length-delimited field.
func length(r *mem.Reader) (int, error) {
	n, err := number(r)
	if err == nil && n > uint64(r.Remaining()) { //nolint:gosec // never negative
		err = Errorf(Malformed, "a field of %d bytes in a message with %d remaining bytes", n, r.Remaining())
	}
	return int(n), err //nolint:gosec // not above the rest
}

// appendValue appends the encoding of a value.
func appendValue(b []byte, typ protowire.Type, r *mem.Reader) ([]byte, error) {
	n := 0 // bytes that follow as they are
	var err error
	switch typ {
	case protowire.VarintType:
		var v uint64
		v, err = number(r)
		b = protowire.AppendVarint(b, v)
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		n, err = length(r)
		b = protowire.AppendVarint(b, uint64(n)) //nolint:gosec // never negative
	default:
		err = Errorf(Malformed, "wire type %d", typ)
	}
	switch {
	case err != nil:
		return nil, err
	case n > r.Remaining():
		return nil, Errorf(Malformed, "a field is truncated")
	case len(b)+n > maxFields:
		return nil, Errorf(Limit, "more than %d bytes of fields other than data", maxFields)
	}
	b = slices.Grow(b, n)[:len(b)+n]
	_, err = io.ReadFull(r, b[len(b)-n:])
	return b, err
}
