package wire

import (
	"bytes"
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// Numbering is the numbering of those fields of skytorch.torch.TensorChunk that
// describe the tensor.
type Numbering int

const (
	// From5 is the default, and the numbering of proto/skytorch/torch/service.proto: shape is 5, metadata is 10. The
	// main branch of SkyTorch uses it since 19 February 2026.
	From5 Numbering = iota
	// From7 is the numbering of SkyTorch 0.1.0, its only release: shape is 7, metadata is 12
	// (skytorch/torch/server/service.proto at tag v0.1.0 of github.com/astefanutti/skytorch). All other messages, and
	// chunks after the first one, are the same.
	From7
)

func (n Numbering) String() string {
	if n == From7 {
		return "from 7"
	}
	return "from 5"
}

// first returns the field number of the shape; stride, offset, dtype, size and metadata follow.
func (n Numbering) first() protowire.Number {
	if n == From7 {
		return 7
	}
	return 5
}

// SkyChunk is skytorch.torch.TensorChunk of proto/skytorch/torch/service.proto. It is received in either numbering, and
// sent in the one of its field Numbering.
type SkyChunk struct {
	Numbering Numbering
	ID        uint64
	Number    uint32
	Total     uint32
	// Only the first chunk has these fields.
	Layout     layout.Layout
	TotalBytes uint64
	Metadata   *skytorch.TensorMetadata
	Data       mem.BufferSlice

	bad error
}

// Free frees the data, so that the chunk can be reused.
func (c *SkyChunk) Free() {
	c.Data.Free()
	*c = SkyChunk{}
}

// Piece returns the position of the chunk in its sequence.
func (c *SkyChunk) Piece() Piece {
	return Piece{Number: c.Number, Total: c.Total, Bytes: c.Data.Len()}
}

func (c *SkyChunk) refuse(err error) { *c = SkyChunk{bad: err} }

func (c *SkyChunk) fault() error { return c.bad }

func (c *SkyChunk) data() mem.BufferSlice { return c.Data }

func (c *SkyChunk) encode(b []byte) ([]byte, error) {
	first := c.Numbering.first()
	b = appendNumber(b, 1, c.ID)
	b = appendNumber(b, 2, uint64(c.Number))
	b = appendNumber(b, 4, uint64(c.Total))
	b = appendList(b, first, c.Layout.Shape)
	b = appendList(b, first+1, c.Layout.Stride)
	b = appendNumber(b, first+2, uint64(c.Layout.Offset)) //nolint:gosec // two's complement
	b = appendText(b, first+3, string(c.Layout.DType))
	b = appendNumber(b, first+4, c.TotalBytes)
	if !utf8.ValidString(string(c.Layout.DType)) {
		return nil, Errorf(Malformed, "the dtype %.80q is not UTF-8", c.Layout.DType)
	}
	if c.Metadata == nil {
		return b, nil
	}
	b = protowire.AppendTag(b, first+5, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(proto.Size(c.Metadata))) //nolint:gosec // never negative
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, c.Metadata)
}

func (c *SkyChunk) decode(fields []byte, data mem.BufferSlice) error {
	m := SkyChunk{Numbering: numberingOf(fields), Data: data}
	for len(fields) > 0 {
		var f field
		var err error
		if f, fields, err = next(fields); err != nil {
			return err
		}
		switch {
		case f.is(1, protowire.VarintType):
			m.ID = f.number
		case f.is(2, protowire.VarintType):
			m.Number = uint32(f.number) //nolint:gosec // protobuf truncates, too
		case f.is(4, protowire.VarintType):
			m.Total = uint32(f.number) //nolint:gosec // protobuf truncates, too
		case f.num >= m.Numbering.first():
			err = m.describe(f.num-m.Numbering.first(), f)
		}
		if err != nil {
			return err
		}
	}
	*c = m
	return nil
}

// describe sets a field that describes the tensor. at is its position in either numbering.
func (c *SkyChunk) describe(at protowire.Number, f field) (err error) {
	switch isNumber, isBytes := f.typ == protowire.VarintType, f.typ == protowire.BytesType; {
	case at == 0 && (isNumber || isBytes):
		c.Layout.Shape, err = f.appendNumbers(c.Layout.Shape)
	case at == 1 && (isNumber || isBytes):
		c.Layout.Stride, err = f.appendNumbers(c.Layout.Stride)
	case at == 2 && isNumber:
		c.Layout.Offset = int64(f.number) //nolint:gosec // two's complement
	case at == 3 && isBytes:
		var text string
		text, err = f.text()
		c.Layout.DType = layout.DType(text)
	case at == 4 && isNumber:
		c.TotalBytes = f.number
	case at == 5 && isBytes:
		if c.Metadata == nil {
			c.Metadata = &skytorch.TensorMetadata{}
		}
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(f.bytes, c.Metadata); err != nil {
			return Errorf(Malformed, "%v", err)
		}
	}
	return err
}

// numberingOf detects the numbering by the position of the dtype name, or by fields
// that only one numbering has. A list of strides is never mistaken for a name, and
// neither is metadata, which starts with a tag.
func numberingOf(fields []byte) Numbering {
	var text [13][]byte
	above10 := false
	for len(fields) > 0 {
		f, rest, err := next(fields)
		if err != nil {
			break // decode rejects the chunk
		}
		if f.num >= 5 && f.num <= 12 {
			if f.typ == protowire.BytesType {
				text[f.num] = f.bytes
			}
			above10 = above10 || f.num > 10
		}
		fields = rest
	}
	switch dtype := []byte("torch."); {
	case above10, bytes.HasPrefix(text[10], dtype):
		return From7
	case bytes.HasPrefix(text[8], dtype), len(text[7]) == 0:
		return From5
	default:
		return From7
	}
}
