// Package torchfile writes and reads files of torch.save and torch.load with one
// tensor, which are the payload of KPU's protocol.
//
// The file is a zip archive whose records are not compressed and start at multiples
// of 64 bytes (the extra field "FB" contains the padding). All records are in one
// folder:
//
//	archive/data.pkl   a pickle with the layout of the tensor in storage "0"
//	archive/byteorder  "little"
//	archive/data/0     the storage's bytes
//	archive/version    "3\n"
//
// The pickle, of protocol 2, is the call
//
//	torch._utils._rebuild_tensor_v2(storage, offset, shape, stride, False, collections.OrderedDict())
//
// in which storage is the persistent ID ("storage", torch.FloatStorage, "0",
// "cpu", elements). Reading a file executes nothing.
//
// Facts: https://docs.pytorch.org/docs/stable/notes/serialization.html, and in
// the source of PyTorch torch/serialization.py (_save, persistent_id),
// torch/_tensor.py (_reduce_ex_internal) and caffe2/serialize/inline_container.cc.
package torchfile

import "errors"

const (
	folder     = "archive"
	dataRecord = folder + "/data/0"
	alignment  = 64
	// MaxPickle limits the size of the pickle of one tensor, which is about 300 bytes.
	MaxPickle = 64 << 10
)

// ErrFormat is returned for files that are not a torch.save file of one tensor.
var ErrFormat = errors.New("not a torch.save file of one tensor")

// ErrArchive is returned, together with ErrFormat, for incomplete files: the zip
// directory is missing, or does not match a file of torch.save.
var ErrArchive = errors.New("incomplete file")
