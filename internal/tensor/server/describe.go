package server

import (
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// layoutOf returns the layout that a message describes, without validating it: a chunk, or metadata.
func layoutOf(m interface {
	GetDtype() string
	GetShape() []int64
	GetStride() []int64
	GetStorageOffset() int64
}) layout.Layout {
	return layout.Layout{
		DType: dtype(m.GetDtype()), Shape: m.GetShape(), Stride: m.GetStride(), Offset: m.GetStorageOffset(),
	}
}

func dtype(name string) layout.DType {
	if d, err := layout.ParseDType(name); err == nil {
		return d
	}
	return layout.DType(name) // Validate rejects it
}

// describe returns the layout and the size of the data that starts with a first
// chunk. Fields that the chunk omits are taken from its metadata, then from want.
//
// SkyTorch sends the packed elements, but with their offset in the original
// storage. For bfloat16, it sends the complete storage. Therefore, data with the
// size of the elements is packed regardless of the offset. Data of any other size
// is a storage that contains the elements.
func describe(first *skytorch.TensorChunk, want layout.Layout) (layout.Layout, int64, error) {
	l := layoutOf(first)
	if l.DType == "" {
		if l = want; first.GetMetadata().GetDtype() != "" {
			l = layoutOf(first.GetMetadata())
		}
		l = l.Packed()
	}
	if l.DType == "" {
		return l, 0, wire.Errorf(wire.Mismatch, "the first chunk has no dtype")
	}
	if err := l.Validate(); err != nil {
		return l, 0, wire.Errorf(wire.Mismatch, "%v", err)
	}
	if want.DType != "" && !l.Same(want) {
		return l, 0, wire.Errorf(wire.Mismatch, "the chunks have %s instead of %s", l, want)
	}
	packed, _ := l.Bytes() // valid
	span, _ := l.Span()
	// The size of an empty tensor is 0, which is omitted on the wire.
	total := int64(min(first.GetTotalBytes(), 1<<63-1))
	switch {
	case l.Contiguous() && (total == packed || total == 0):
		return l.Packed(), packed, nil
	case total == 0:
		return l, span, nil
	case packed == 0 || span > total:
		return l, 0, wire.Errorf(wire.Mismatch, "%d bytes for %s, which requires %d", total, l, max(packed, span))
	default:
		return l, total, nil
	}
}

// repeats checks that a later chunk describes the same tensor as the first one.
func repeats(c *skytorch.TensorChunk, id uint64, first layout.Layout) error {
	if c.GetTensorId() != id && c.GetTensorId() != 0 {
		return wire.Errorf(wire.Mismatch, "chunk %d belongs to tensor %d, but earlier chunks belong to tensor %d",
			c.GetChunkNumber(), c.GetTensorId(), id)
	}
	if d := c.GetDtype(); d != "" && dtype(d) != first.DType {
		return wire.Errorf(wire.Mismatch, "chunk %d has %s, but the first one had %s", c.GetChunkNumber(), d,
			first.DType)
	}
	if s := c.GetShape(); len(s) > 0 && !slices.Equal(s, first.Shape) {
		return wire.Errorf(wire.Mismatch, "chunk %d has shape %v, but the first one had %v", c.GetChunkNumber(), s,
			first.Shape)
	}
	return nil
}
