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

// Element types that this module sends.
const (
	Float32 DType = "torch.float32"
	UInt8   DType = "torch.uint8"
)

// elementType describes an element type that PyTorch stores as plain little-endian numbers.
type elementType struct {
	dtype   DType
	size    int64  // bytes
	storage string // see [DType.Storage]
}

// elementTypes lists all supported element types (https://pytorch.org/docs/stable/tensor_attributes.html#torch.dtype).
func elementTypes() [17]elementType {
	return [...]elementType{
		{"torch.float64", 8, "DoubleStorage"},
		{Float32, 4, "FloatStorage"},
		{"torch.float16", 2, "HalfStorage"},
		{"torch.bfloat16", 2, "BFloat16Storage"},
		{"torch.float8_e4m3fn", 1, ""},
		{"torch.float8_e5m2", 1, ""},
		{"torch.int64", 8, "LongStorage"},
		{"torch.int32", 4, "IntStorage"},
		{"torch.int16", 2, "ShortStorage"},
		{"torch.int8", 1, "CharStorage"},
		{"torch.uint64", 8, ""},
		{"torch.uint32", 4, ""},
		{"torch.uint16", 2, ""},
		{UInt8, 1, "ByteStorage"},
		{"torch.bool", 1, "BoolStorage"},
		{"torch.complex64", 8, "ComplexFloatStorage"},
		{"torch.complex128", 16, "ComplexDoubleStorage"},
	}
}

// DTypes lists all supported element types.
func DTypes() []DType {
	var list []DType
	for _, t := range elementTypes() {
		list = append(list, t.dtype)
	}
	return list
}

func (d DType) elementType() elementType {
	for _, t := range elementTypes() {
		if t.dtype == d {
			return t
		}
	}
	return elementType{}
}

// Size returns the number of bytes of one element, or 0 for an unknown type.
func (d DType) Size() int64 { return d.elementType().size }

// Storage returns the name of PyTorch's typed storage for the type (torch/storage.py, _dtype_to_storage_type_map), or
// "" for newer types, which have none.
func (d DType) Storage() string { return d.elementType().storage }

// OfStorage returns the element type with a typed storage of this name, or "".
func OfStorage(name string) DType {
	for _, t := range elementTypes() {
		if t.storage == name && name != "" {
			return t.dtype
		}
	}
	return ""
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
