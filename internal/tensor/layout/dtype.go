// Package layout describes the elements of a tensor: their type, and how shape,
// stride and offset map them to bytes. It is pure, and its arithmetic is safe for
// untrusted numbers: nothing overflows.
package layout

import (
	"fmt"
	"strings"
)

// DType is the PyTorch name of an element type, such as "torch.float32".
type DType string

// The element types that PyTorch stores as plain little-endian numbers
// (https://pytorch.org/docs/stable/tensor_attributes.html#torch.dtype).
const (
	Float64    DType = "torch.float64"
	Float32    DType = "torch.float32"
	Float16    DType = "torch.float16"
	BFloat16   DType = "torch.bfloat16"
	Float8E4M3 DType = "torch.float8_e4m3fn"
	Float8E5M2 DType = "torch.float8_e5m2"
	Int64      DType = "torch.int64"
	Int32      DType = "torch.int32"
	Int16      DType = "torch.int16"
	Int8       DType = "torch.int8"
	UInt64     DType = "torch.uint64"
	UInt32     DType = "torch.uint32"
	UInt16     DType = "torch.uint16"
	UInt8      DType = "torch.uint8"
	Bool       DType = "torch.bool"
	Complex64  DType = "torch.complex64"
	Complex128 DType = "torch.complex128"
)

// DTypes lists all supported element types.
func DTypes() []DType {
	return []DType{
		Float64, Float32, Float16, BFloat16, Float8E4M3, Float8E5M2, Int64, Int32, Int16, Int8,
		UInt64, UInt32, UInt16, UInt8, Bool, Complex64, Complex128,
	}
}

// Size returns the number of bytes of one element, or 0 for an unknown type.
func (d DType) Size() int64 {
	switch d {
	case Complex128:
		return 16
	case Float64, Int64, UInt64, Complex64:
		return 8
	case Float32, Int32, UInt32:
		return 4
	case Float16, BFloat16, Int16, UInt16:
		return 2
	case Float8E4M3, Float8E5M2, Int8, UInt8, Bool:
		return 1
	default:
		return 0
	}
}

// ParseDType returns the element type with the given name. The prefix "torch." is
// optional.
func ParseDType(name string) (DType, error) {
	d := DType(name)
	if !strings.HasPrefix(name, "torch.") {
		d = DType("torch." + name)
	}
	if d.Size() == 0 {
		return "", fmt.Errorf("unknown dtype %.40q, must be one of %s", name, DTypes())
	}
	return d, nil
}
