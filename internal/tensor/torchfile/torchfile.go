// Package torchfile writes and reads what torch.save makes of one tensor, and
// torch.load takes: the payload of KPU's protocol.
//
// The file is a zip archive whose records are stored, not compressed, and
// begin at multiples of 64 bytes (padding stands in an extra field "FB").
// All are in one folder:
//
//	archive/data.pkl   a pickle: how the tensor lies in storage "0"
//	archive/byteorder  "little"
//	archive/data/0     the storage's bytes
//	archive/version    "3\n"
//
// The pickle, of protocol 2, is the call
//
//	torch._utils._rebuild_tensor_v2(storage, offset, shape, stride, False, collections.OrderedDict())
//
// in which storage is the persistent id ("storage", torch.FloatStorage, "0",
// "cpu", elements). Nothing is executed when it is read: the interpreter
// knows the few opcodes and names that a tensor needs, and refuses others.
//
// Facts: https://docs.pytorch.org/docs/stable/notes/serialization.html, and in
// the source of PyTorch torch/serialization.py (_save, persistent_id),
// torch/_tensor.py (_reduce_ex_internal) and caffe2/serialize/inline_container.cc.
package torchfile

import (
	"errors"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

const (
	folder     = "archive"
	dataRecord = folder + "/data/0"
	alignment  = 64
	// maxPickle bounds the pickle of one tensor, which takes some 300 bytes.
	maxPickle = 64 << 10
)

// ErrFormat is met where a file is no torch.save file of one tensor.
var ErrFormat = errors.New("not a torch.save file of one tensor")

// ErrArchive is met, with ErrFormat, where a file is not even whole: it has
// no zip directory, or none that fits a file of torch.save.
var ErrArchive = errors.New("not a whole file")

// storages pairs element types with the names of PyTorch's typed storages
// (torch/storage.py, _dtype_to_storage_type_map). Newer types have none.
func storages() map[layout.DType]string {
	return map[layout.DType]string{
		layout.Float64: "DoubleStorage", layout.Float32: "FloatStorage", layout.Float16: "HalfStorage",
		layout.BFloat16: "BFloat16Storage", layout.Int64: "LongStorage", layout.Int32: "IntStorage",
		layout.Int16: "ShortStorage", layout.Int8: "CharStorage", layout.UInt8: "ByteStorage",
		layout.Bool: "BoolStorage", layout.Complex64: "ComplexFloatStorage", layout.Complex128: "ComplexDoubleStorage",
	}
}
