package wire

import (
	"bytes"
	"fmt"
	"slices"

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

func (c *SkyChunk) refuse(err error) { c.bad = err }

func (c *SkyChunk) fault() error { return c.bad }

func (c *SkyChunk) marshal() ([]byte, mem.BufferSlice) {
	b := appendUint(make([]byte, 0, 256), 1, c.ID)
	b = appendUint(b, 2, uint64(c.Number))
	b = appendUint(b, 4, uint64(c.Total))
	first := c.Numbering.first()
	b = appendInts(b, first, c.Layout.Shape)
	b = appendInts(b, first+1, c.Layout.Stride)
	b = appendUint(b, first+2, uint64(c.Layout.Offset)) //nolint:gosec // int64 is two's complement on the wire
	if c.Layout.DType != "" {
		b = protowire.AppendString(protowire.AppendTag(b, first+3, protowire.BytesType), string(c.Layout.DType))
	}
	b = appendUint(b, first+4, c.TotalBytes)
	if c.Metadata != nil {
		raw, err := proto.Marshal(c.Metadata)
		if err != nil { // only for text that is not UTF-8; dtypes and devices are ASCII
			panic(fmt.Sprintf("metadata of tensor %d: %v", c.ID, err))
		}
		b = protowire.AppendBytes(protowire.AppendTag(b, first+5, protowire.BytesType), raw)
	}
	return appendDataHead(b, c.Data), c.Data
}

// described contains all values of the fields 5 to 12, until their numbering is
// known.
type described [13][]value

type value struct {
	number uint64
	text   []byte // nil for a number
}

func (c *SkyChunk) unmarshal(msg mem.BufferSlice) (err error) {
	*c = SkyChunk{}
	defer func() {
		if err != nil {
			c.Free()
		}
	}()
	r := newCursor(msg)
	var d described
	for r.left > 0 {
		num, typ, err := r.tag()
		if err != nil {
			return err
		}
		switch {
		case num == 1 && typ == protowire.VarintType:
			c.ID, err = r.uvarint()
		case num == 2 && typ == protowire.VarintType:
			c.Number, err = r.uint32()
		case num == 3 && typ == protowire.BytesType:
			c.Data.Free()
			c.Data, err = r.dataField()
		case num == 4 && typ == protowire.VarintType:
			c.Total, err = r.uint32()
		case num >= 5 && num <= 12 && (typ == protowire.VarintType || typ == protowire.BytesType):
			err = d.add(r, num, typ)
		default:
			err = r.skip(typ)
		}
		if err != nil {
			return err
		}
	}
	return c.describe(&d)
}

func (d *described) add(r *cursor, num protowire.Number, typ protowire.Type) (err error) {
	if len(d[num]) >= layout.MaxDims {
		return Errorf(Limit, "field %d more than %d times", num, layout.MaxDims)
	}
	var v value
	if typ == protowire.BytesType {
		v.text, err = r.smallField()
	} else {
		v.number, err = r.uvarint()
	}
	d[num] = append(d[num], v)
	return err
}

// number and text return the last value of a field, like protobuf does. They ignore
// values of the other kind.
func (d *described) number(num protowire.Number) uint64 {
	for _, v := range slices.Backward(d[num]) {
		if v.text == nil {
			return v.number
		}
	}
	return 0
}

func (d *described) text(num protowire.Number) []byte {
	for _, v := range slices.Backward(d[num]) {
		if v.text != nil {
			return v.text
		}
	}
	return nil
}

// numbering detects the numbering by the position of the dtype name, or by fields
// that only one numbering has. A list of strides is never mistaken for a name, and
// neither is metadata, which starts with a tag.
func (d *described) numbering() Numbering {
	switch {
	case bytes.HasPrefix(d.text(10), []byte("torch.")), len(d[11]) > 0, len(d[12]) > 0:
		return From7
	case bytes.HasPrefix(d.text(8), []byte("torch.")):
		return From5
	case len(d.text(7)) > 0:
		return From7
	default:
		return From5
	}
}

func (c *SkyChunk) describe(d *described) (err error) {
	c.Numbering = d.numbering()
	first := c.Numbering.first()
	if c.Layout.Shape, err = d.ints(first); err != nil {
		return err
	}
	if c.Layout.Stride, err = d.ints(first + 1); err != nil {
		return err
	}
	c.Layout.Offset = int64(d.number(first + 2)) //nolint:gosec // int64 on the wire
	c.Layout.DType = layout.DType(d.text(first + 3))
	c.TotalBytes = d.number(first + 4)
	for _, v := range d[first+5] {
		if v.text == nil {
			continue
		}
		if c.Metadata == nil {
			c.Metadata = &skytorch.TensorMetadata{}
		}
		// A repeated message is merged into the previous one.
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(v.text, c.Metadata); err != nil {
			return Errorf(Malformed, "metadata: %v", err)
		}
	}
	return nil
}

// ints returns a list of numbers, packed or not.
func (d *described) ints(num protowire.Number) ([]int64, error) {
	var out []int64
	for _, v := range d[num] {
		if v.text == nil {
			out = append(out, int64(v.number)) //nolint:gosec // int64 on the wire
		}
		for raw := v.text; len(raw) > 0; {
			item, n := protowire.ConsumeVarint(raw)
			if n < 0 {
				return nil, Errorf(Malformed, "field %d is not a list of numbers", num)
			}
			out, raw = append(out, int64(item)), raw[n:] //nolint:gosec // int64 on the wire
			if len(out) > layout.MaxDims {
				break
			}
		}
		if len(out) > layout.MaxDims {
			return nil, Errorf(Limit, "more than %d numbers in field %d", layout.MaxDims, num)
		}
	}
	return out, nil
}

func appendInts(b []byte, num protowire.Number, list []int64) []byte {
	if len(list) == 0 {
		return b
	}
	var packed []byte
	for _, v := range list {
		packed = protowire.AppendVarint(packed, uint64(v)) //nolint:gosec // int64 on the wire
	}
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), packed)
}
