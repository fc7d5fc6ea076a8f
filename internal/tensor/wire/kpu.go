package wire

import (
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// KPUChunk is kpu.torch.TensorChunk of proto/kpu/torch/service.proto.
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

func (c *KPUChunk) refuse(err error) { *c = KPUChunk{bad: err} }

func (c *KPUChunk) fault() error { return c.bad }

func (c *KPUChunk) data() mem.BufferSlice { return c.Data }

func (c *KPUChunk) encode(b []byte) ([]byte, error) {
	valid := utf8.ValidString(c.ID)
	b = appendText(b, 1, c.ID)
	b = appendNumber(b, 2, uint64(c.Number))
	b = appendNumber(b, 4, uint64(c.Total))
	b = appendNumber(b, 5, protowire.EncodeBool(c.Last))
	for key, value := range c.Metadata {
		valid = valid && utf8.ValidString(key) && utf8.ValidString(value)
		b = appendEntry(b, 6, key, value)
	}
	if !valid {
		return nil, Errorf(Malformed, "the ID or metadata of tensor %.80q is not UTF-8", c.ID)
	}
	return b, nil
}

func (c *KPUChunk) decode(fields []byte, data mem.BufferSlice) error {
	m := KPUChunk{Data: data}
	for len(fields) > 0 {
		var f field
		var err error
		if f, fields, err = next(fields); err != nil {
			return err
		}
		switch {
		case f.is(1, protowire.BytesType):
			m.ID, err = f.text()
		case f.is(2, protowire.VarintType):
			m.Number = uint32(f.number) //nolint:gosec // protobuf truncates, too
		case f.is(4, protowire.VarintType):
			m.Total = uint32(f.number) //nolint:gosec // protobuf truncates, too
		case f.is(5, protowire.VarintType):
			m.Last = protowire.DecodeBool(f.number)
		case f.is(6, protowire.BytesType):
			if m.Metadata == nil {
				m.Metadata = map[string]string{}
			}
			var key, value string
			key, value, err = f.entry()
			m.Metadata[key] = value
		}
		if err != nil {
			return err
		}
	}
	*c = m
	return nil
}
