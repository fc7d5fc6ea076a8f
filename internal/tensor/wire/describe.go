package wire

import (
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// MetadataLayout is the layout that metadata describes. It is not validated.
func MetadataLayout(m *skytorch.TensorMetadata) layout.Layout {
	return layout.Layout{
		DType: dtype(m.GetDtype()), Shape: m.GetShape(), Stride: m.GetStride(), Offset: m.GetStorageOffset(),
	}
}

func dtype(name string) layout.DType {
	if d, err := layout.ParseDType(name); err == nil {
		return d
	}
	return layout.DType(name) // Validate refuses it
}

// Describe returns how the data that begins with this first chunk lies, and
// how many bytes it has. What the chunk leaves out is taken from its
// metadata, then from want.
//
// SkyTorch sends the packed elements, but still names the offset that they
// had in their storage; for bfloat16 it sends the whole storage. So data of
// the elements' size is packed whatever the offset, and other data is a
// storage that the layout reaches into.
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
		return l, 0, Errorf(Mismatch, "the first chunk names no dtype")
	}
	if err := l.Validate(); err != nil {
		return l, 0, Errorf(Mismatch, "%v", err)
	}
	if want.DType != "" && !l.Same(want) {
		return l, 0, Errorf(Mismatch, "the chunks are of %s; %s was due", l, want)
	}
	packed, err := l.Bytes()
	if err != nil {
		return l, 0, Errorf(Mismatch, "%v", err)
	}
	span, err := l.Span()
	if err != nil {
		return l, 0, Errorf(Mismatch, "%v", err)
	}
	// The size of an empty tensor is 0, and 0 is left out on the wire.
	total := int64(min(c.TotalBytes, 1<<63-1))
	switch {
	case l.Contiguous() && (total == packed || total == 0):
		return l.Packed(), packed, nil
	case total == 0:
		return l, span, nil
	case packed == 0 || span > total:
		return l, 0, Errorf(Mismatch, "%d bytes for %s, which takes %d", total, l, max(packed, span))
	default:
		return l, total, nil
	}
}

// Repeats checks that what a later chunk says of the tensor is what the
// first one said.
func (c *SkyChunk) Repeats(id uint64, first layout.Layout) error {
	if c.ID != id && c.ID != 0 {
		return Errorf(Mismatch, "chunk %d is of tensor %d, the ones before are of %d", c.Number, c.ID, id)
	}
	if d := c.Layout.DType; d != "" && dtype(string(d)) != first.DType {
		return Errorf(Mismatch, "chunk %d has %s, the first one had %s", c.Number, d, first.DType)
	}
	if s := c.Layout.Shape; len(s) > 0 && !slices.Equal(s, first.Shape) {
		return Errorf(Mismatch, "chunk %d has shape %v, the first one had %v", c.Number, s, first.Shape)
	}
	return nil
}
