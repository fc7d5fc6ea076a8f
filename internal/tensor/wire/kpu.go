package wire

import (
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// KPUChunk is kpu.torch.TensorChunk.
type KPUChunk struct {
	ID       string
	Number   uint32
	Total    uint32
	Last     bool
	Metadata map[string]string // on the first chunk: shape, dtype, device, size_bytes
	Data     mem.BufferSlice

	bad error
}

// Free frees the data, so that the chunk can be reused.
func (c *KPUChunk) Free() {
	c.Data.Free()
	*c = KPUChunk{}
}

// Piece returns the position of the chunk in its sequence.
func (c *KPUChunk) Piece() Piece {
	return Piece{Number: c.Number, Total: c.Total, Last: c.Last, Bytes: c.Data.Len()}
}

func (c *KPUChunk) refuse(err error) { c.bad = err }

func (c *KPUChunk) fault() error { return c.bad }

func (c *KPUChunk) marshal() ([]byte, mem.BufferSlice) {
	b := make([]byte, 0, 256)
	if c.ID != "" {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, c.ID)
	}
	b = appendUint(b, 2, uint64(c.Number))
	b = appendUint(b, 4, uint64(c.Total))
	if c.Last {
		b = appendUint(b, 5, 1)
	}
	for k, v := range c.Metadata {
		// with a tag of one byte each
		size := 2 + protowire.SizeBytes(len(k)) + protowire.SizeBytes(len(v))
		//nolint:gosec // never negative
		b = protowire.AppendVarint(protowire.AppendTag(b, 6, protowire.BytesType), uint64(size))
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), k)
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), v)
	}
	return appendDataHead(b, c.Data), c.Data
}

func (c *KPUChunk) unmarshal(msg mem.BufferSlice) (err error) {
	*c = KPUChunk{}
	defer func() {
		if err != nil {
			c.Free()
		}
	}()
	r := newCursor(msg)
	for r.left > 0 {
		num, typ, err := r.tag()
		if err != nil {
			return err
		}
		switch {
		case num == 1 && typ == protowire.BytesType:
			c.ID, err = r.text()
		case num == 2 && typ == protowire.VarintType:
			c.Number, err = r.uint32()
		case num == 3 && typ == protowire.BytesType:
			c.Data.Free()
			c.Data, err = r.dataField()
		case num == 4 && typ == protowire.VarintType:
			c.Total, err = r.uint32()
		case num == 5 && typ == protowire.VarintType:
			var v uint64
			v, err = r.uvarint()
			c.Last = v != 0
		case num == 6 && typ == protowire.BytesType:
			err = c.addMetadata(r)
		default:
			err = r.skip(typ)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *KPUChunk) addMetadata(r *cursor) error {
	raw, err := r.smallField()
	if err != nil {
		return err
	}
	var pair [2]string
	for len(raw) > 0 {
		num, typ, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return Errorf(Malformed, "metadata is truncated")
		}
		value := raw[n:]
		if n = protowire.ConsumeFieldValue(num, typ, value); n < 0 {
			return Errorf(Malformed, "metadata is truncated")
		}
		if (num == 1 || num == 2) && typ == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(value)
			if !utf8.Valid(text) {
				return Errorf(Malformed, "a text is not UTF-8")
			}
			pair[num-1] = string(text)
		}
		raw = value[n:]
	}
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[pair[0]] = pair[1]
	return nil
}

func (c *cursor) text() (string, error) {
	raw, err := c.smallField()
	if err != nil {
		return "", err
	}
	if !utf8.Valid(raw) {
		return "", Errorf(Malformed, "a text is not UTF-8")
	}
	return string(raw), nil
}

func (c *cursor) uint32() (uint32, error) {
	v, err := c.uvarint()
	if err != nil {
		return 0, err
	}
	if v > 1<<32-1 {
		return 0, Errorf(Malformed, "%d instead of a 32-bit number", v)
	}
	return uint32(v), nil
}

// appendUint appends a number, and nothing if it is 0.
func appendUint(b []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func appendDataHead(b []byte, data mem.BufferSlice) []byte {
	n := data.Len()
	if n == 0 {
		return b
	}
	b = protowire.AppendTag(b, 3, protowire.BytesType)
	return protowire.AppendVarint(b, uint64(n)) //nolint:gosec // never negative
}
