package tensorfile

import (
	"fmt"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

// Opcodes of pickle protocol 2 (https://github.com/python/cpython/blob/3.13/Lib/pickletools.py).
const (
	opMark       = '('
	opStop       = '.'
	opBinInt     = 'J'
	opBinInt1    = 'K'
	opBinInt2    = 'M'
	opLong1      = 0x8a
	opBinPersID  = 'Q'
	opReduce     = 'R'
	opBinUnicode = 'X'
	opGlobal     = 'c'
	opBinGet     = 'h'
	opBinPut     = 'q'
	opTuple      = 't'
	opEmptyTuple = ')'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opNewTrue    = 0x88
	opNewFalse   = 0x89
	opProto      = 0x80
)

// pickle returns the pickle of a contiguous tensor in storage "0". Its bytes are those of Python's pickler without memo
// entries, which nothing refers to, as by pickletools.optimize.
func pickle(l layout.Layout) []byte {
	elements, _ := l.Elements()
	return fmt.Appendf(make([]byte, 0, 256), "\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("+
		"(X\x07\x00\x00\x00storagectorch\n%s\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu%stQ"+
		"K\x00%s%s\x89ccollections\nOrderedDict\n)RtR.",
		l.DType.Storage(), torchfile.AppendInt(nil, elements), tuple(l.Shape), tuple(l.Strides()))
}

func tuple(list []int64) []byte {
	var out []byte
	if len(list) > 3 {
		out = append(out, opMark)
	}
	for _, n := range list {
		out = torchfile.AppendInt(out, n)
	}
	if len(list) > 3 {
		return append(out, opTuple)
	}
	return append(out, []byte{opEmptyTuple, opTuple1, opTuple2, opTuple3}[len(list)])
}
