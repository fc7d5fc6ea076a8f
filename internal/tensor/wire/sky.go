package wire

import (
	"bytes"
	"iter"

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

// SkyChunk is skytorch.torch.TensorChunk. It is received in either numbering, and
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

// Describes reports whether the chunk has fields that describe the tensor.
func (c *SkyChunk) Describes() bool {
	return c.Layout.DType != "" || len(c.Layout.Shape) > 0 || c.TotalBytes > 0
}

func (c *SkyChunk) refuse(err error) { *c = SkyChunk{bad: err} }

func (c *SkyChunk) fault() error { return c.bad }

func (c *SkyChunk) data() mem.BufferSlice { return c.Data }

func (c *SkyChunk) encode(b []byte) ([]byte, error) {
	fields, err := proto.MarshalOptions{}.MarshalAppend(b, &skytorch.TensorChunk{
		TensorId: c.ID, ChunkNumber: c.Number, TotalChunks: c.Total, Shape: c.Layout.Shape, Stride: c.Layout.Stride,
		StorageOffset: c.Layout.Offset, Dtype: string(c.Layout.DType), TotalBytes: c.TotalBytes, Metadata: c.Metadata,
	})
	return renumber(fields, From5, c.Numbering), err
}

func (c *SkyChunk) decode(fields []byte, data mem.BufferSlice) error {
	n := numberingOf(fields)
	var m skytorch.TensorChunk
	if err := proto.Unmarshal(renumber(fields, n, From5), &m); err != nil {
		return Errorf(Malformed, "%v", err)
	}
	if max(len(m.GetShape()), len(m.GetStride())) > layout.MaxDims {
		return Errorf(Limit, "more than %d dimensions", layout.MaxDims)
	}
	*c = SkyChunk{
		Numbering: n, ID: m.GetTensorId(), Number: m.GetChunkNumber(), Total: m.GetTotalChunks(),
		Layout: layout.Layout{
			DType: layout.DType(m.GetDtype()), Shape: m.GetShape(), Stride: m.GetStride(), Offset: m.GetStorageOffset(),
		},
		TotalBytes: m.GetTotalBytes(), Metadata: m.GetMetadata(), Data: data,
	}
	return nil
}

// numberingOf detects the numbering by the position of the dtype name, or by fields
// that only one numbering has. A list of strides is never mistaken for a name, and
// neither is metadata, which starts with a tag.
func numberingOf(fields []byte) Numbering {
	var text [13][]byte
	above10 := false
	for num, raw := range parts(fields) {
		if num >= 5 && num <= 12 {
			_, typ, n := protowire.ConsumeTag(raw)
			if typ == protowire.BytesType {
				text[num], _ = protowire.ConsumeBytes(raw[n:])
			}
			above10 = above10 || num > 10
		}
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

// renumber changes the numbering of the fields that describe the tensor. It removes
// numbers that the old numbering does not have.
func renumber(fields []byte, from, to Numbering) []byte {
	if from == to {
		return fields
	}
	out := make([]byte, 0, cap(fields))
	for num, raw := range parts(fields) {
		_, typ, n := protowire.ConsumeTag(raw)
		switch at := num - from.first(); {
		case num < 5 || num > 12:
			out = append(out, raw...)
		case at >= 0 && at < 6:
			out = append(protowire.AppendTag(out, to.first()+at, typ), raw[n:]...)
		}
	}
	return out
}

// parts returns the number and the encoding of each field.
func parts(fields []byte) iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(fields) > 0 {
			num, _, n := protowire.ConsumeField(fields)
			if n < 0 { // a number that protobuf rejects as well
				n = len(fields)
			}
			if !yield(num, fields[:n]) {
				return
			}
			fields = fields[n:]
		}
	}
}
