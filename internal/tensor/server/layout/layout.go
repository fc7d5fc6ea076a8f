package layout

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// ErrOverflow is returned if the number of elements or bytes of a shape overflows.
var ErrOverflow = errors.New("too many elements")

// Layout describes the position of a tensor in its storage. Shape, Stride and
// Offset count elements. A nil Stride is the stride of a contiguous tensor. The
// zero Layout is not a tensor: a scalar has a DType.
type Layout struct {
	DType  DType
	Shape  []int64
	Stride []int64
	Offset int64
}

// Of returns the layout of a contiguous tensor.
func Of(d DType, shape ...int64) Layout { return Layout{DType: d, Shape: shape} }

func (l Layout) String() string {
	return fmt.Sprintf("%s%v", l.DType, l.Shape)
}

// Validate returns an error for an invalid layout: an unknown type, a negative or
// missing number, or an overflow of the number of elements.
func (l Layout) Validate() error {
	if l.DType.Size() == 0 {
		_, err := ParseDType(string(l.DType))
		return err
	}
	if len(l.Shape) > wire.MaxDims {
		return fmt.Errorf("%d dimensions, but at most %d are supported", len(l.Shape), wire.MaxDims)
	}
	for _, n := range l.Shape {
		if n < 0 {
			return fmt.Errorf("shape %v has a negative dimension", l.Shape)
		}
	}
	if len(l.Stride) != 0 && len(l.Stride) != len(l.Shape) {
		return fmt.Errorf("stride %v and shape %v have different numbers of dimensions", l.Stride, l.Shape)
	}
	for _, n := range l.Stride {
		if n < 0 {
			return fmt.Errorf("stride %v is negative", l.Stride)
		}
	}
	if l.Offset < 0 {
		return fmt.Errorf("storage offset %d is negative", l.Offset)
	}
	if _, err := l.Bytes(); err != nil {
		return err
	}
	_, err := l.Span()
	return err
}

// Elements returns the number of elements, which is 1 for a scalar.
func (l Layout) Elements() (int64, error) {
	if slices.Contains(l.Shape, 0) {
		return 0, nil
	}
	n := int64(1)
	for _, d := range l.Shape {
		n = mul(n, d)
	}
	if n == overflow {
		return 0, fmt.Errorf("shape %v: %w", l.Shape, ErrOverflow)
	}
	return n, nil
}

// Bytes returns the size of the packed elements.
func (l Layout) Bytes() (int64, error) {
	n, err := l.Elements()
	if err != nil {
		return 0, err
	}
	b := mul(n, l.DType.Size())
	if b == overflow {
		return 0, fmt.Errorf("%s of shape %v: %w", l.DType, l.Shape, ErrOverflow)
	}
	return b, nil
}

// Span returns the number of bytes from the start of the storage to the end of the
// last element. It is 0 without elements.
func (l Layout) Span() (int64, error) {
	elements, err := l.Elements()
	if err != nil || elements == 0 {
		return 0, err
	}
	last := l.Offset
	for i, stride := range l.Strides() {
		last = add(last, mul(l.Shape[i]-1, stride))
	}
	end := mul(add(last, 1), l.DType.Size())
	if end == overflow {
		return 0, fmt.Errorf("shape %v with stride %v and offset %d: %w", l.Shape, l.Stride, l.Offset, ErrOverflow)
	}
	return end, nil
}

// Strides returns the stride, or computes it if it is nil. The layout must be
// valid.
func (l Layout) Strides() []int64 {
	if len(l.Stride) == len(l.Shape) {
		return l.Stride
	}
	s := make([]int64, len(l.Shape))
	step := int64(1)
	for i := len(s) - 1; i >= 0; i-- {
		s[i] = step
		step *= max(l.Shape[i], 1) // like in PyTorch, an empty dimension counts as one
	}
	return s
}

// Contiguous reports whether the elements are contiguous and in order, regardless
// of the offset.
func (l Layout) Contiguous() bool {
	if len(l.Stride) == 0 || slices.Contains(l.Shape, 0) {
		return true
	}
	step := int64(1)
	for i, n := range slices.Backward(l.Shape) {
		if n == 1 {
			continue // its stride is never used
		}
		if l.Stride[i] != step {
			return false
		}
		step *= n
	}
	return true
}

// Fills reports whether the elements in order occupy a complete storage of the
// given size.
func (l Layout) Fills(size int64) bool {
	bytes, err := l.Bytes()
	return err == nil && bytes == size && l.Contiguous() && (l.Offset == 0 || bytes == 0)
}

// Packed returns the layout of the same elements in a separate storage.
func (l Layout) Packed() Layout {
	return Layout{DType: l.DType, Shape: l.Shape}
}

// Same reports whether two layouts have the same type and shape.
func (l Layout) Same(m Layout) bool {
	return l.DType == m.DType && slices.Equal(l.Shape, m.Shape)
}

// overflow is the result of [mul] and [add] if the number is too large, and if an operand was overflow. No operand is
// negative, and overflow is never multiplied by 0.
const overflow = math.MaxInt64

func mul(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // both are never negative
	if hi != 0 || lo > overflow {
		return overflow
	}
	return int64(lo)
}

func add(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return overflow
}
