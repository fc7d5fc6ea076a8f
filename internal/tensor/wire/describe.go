package wire

import (
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// MetadataLayout returns the layout that metadata describes, without validating it.
func MetadataLayout(m *skytorch.TensorMetadata) layout.Layout {
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

// Describe returns the layout and the size of the data that starts with this first
// chunk. Fields that the chunk omits are taken from its metadata, then from want.
//
// SkyTorch sends the packed elements, but with their offset in the original
// storage. For bfloat16, it sends the complete storage. Therefore, data with the
// size of the elements is packed regardless of the offset. Data of any other size
// is a storage that contains the elements.
func (c *SkyChunk) Describe(want layout.Layout) (layout.Layout, int64, error) {
	l := c.Layout
	l.DType = dtype(string(l.DType))
	if l.DType == "" {
		if l = want; c.Metadata.GetDtype() != "" {
			l = MetadataLayout(c.Metadata)
		}
		l = l.Packed()
	}
	if l.DType == "" {
		return l, 0, Errorf(Mismatch, "the first chunk has no dtype")
	}
	if err := l.Validate(); err != nil {
		return l, 0, Errorf(Mismatch, "%v", err)
	}
	if want.DType != "" && !l.Same(want) {
		return l, 0, Errorf(Mismatch, "the chunks have %s instead of %s", l, want)
	}
	packed, err := l.Bytes()
	if err != nil {
		return l, 0, Errorf(Mismatch, "%v", err)
	}
	span, err := l.Span()
	if err != nil {
		return l, 0, Errorf(Mismatch, "%v", err)
	}
	// The size of an empty tensor is 0, which is omitted on the wire.
	total := int64(min(c.TotalBytes, 1<<63-1))
	switch {
	case l.Contiguous() && (total == packed || total == 0):
		return l.Packed(), packed, nil
	case total == 0:
		return l, span, nil
	case packed == 0 || span > total:
		return l, 0, Errorf(Mismatch, "%d bytes for %s, which requires %d", total, l, max(packed, span))
	default:
		return l, total, nil
	}
}

// Repeats checks that a later chunk describes the same tensor as the first one.
func (c *SkyChunk) Repeats(id uint64, first layout.Layout) error {
	if c.ID != id && c.ID != 0 {
		return Errorf(Mismatch, "chunk %d belongs to tensor %d, but earlier chunks belong to tensor %d", c.Number, c.ID,
			id)
	}
	if d := c.Layout.DType; d != "" && dtype(string(d)) != first.DType {
		return Errorf(Mismatch, "chunk %d has %s, but the first one had %s", c.Number, d, first.DType)
	}
	if s := c.Layout.Shape; len(s) > 0 && !slices.Equal(s, first.Shape) {
		return Errorf(Mismatch, "chunk %d has shape %v, but the first one had %v", c.Number, s, first.Shape)
	}
	return nil
}
