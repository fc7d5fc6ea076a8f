package torchfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
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
		l.DType.Storage(), appendInt(nil, elements), tuple(l.Shape), tuple(l.Strides()))
}

// appendInt appends a non-negative number in as few bytes as possible.
func appendInt(out []byte, n int64) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(out, opBinInt1, byte(n)) //nolint:gosec // below 2^8
	case n <= math.MaxUint16:
		return binary.LittleEndian.AppendUint16(append(out, opBinInt2), uint16(n))
	case n <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(out, opBinInt), uint32(n))
	default: // the shortest two's complement, with a leading 0 bit
		raw := binary.LittleEndian.AppendUint64(nil, uint64(n))
		size := 8
		for size > 1 && raw[size-1] == 0 && raw[size-2] < 0x80 {
			size--
		}
		return slices.Concat(out, []byte{opLong1, byte(size)}, raw[:size]) //nolint:gosec // at most 8
	}
}

func tuple(list []int64) []byte {
	var out []byte
	if len(list) > 3 {
		out = append(out, opMark)
	}
	for _, n := range list {
		out = appendInt(out, n)
	}
	if len(list) > 3 {
		return append(out, opTuple)
	}
	return append(out, []byte{opEmptyTuple, opTuple1, opTuple2, opTuple3}[len(list)])
}
