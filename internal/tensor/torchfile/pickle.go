package torchfile

import (
	"encoding/binary"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// Opcodes of pickle protocol 2 (https://github.com/python/cpython/blob/3.13/Lib/pickletools.py).
const (
	opMark       = '('
	opStop       = '.'
	opPop        = '0'
	opBinInt     = 'J'
	opBinInt1    = 'K'
	opBinInt2    = 'M'
	opBinPersID  = 'Q'
	opReduce     = 'R'
	opBinUnicode = 'X'
	opGlobal     = 'c'
	opEmptyDict  = '}'
	opBinGet     = 'h'
	opLongBinGet = 'j'
	opBinPut     = 'q'
	opLongBinPut = 'r'
	opTuple      = 't'
	opEmptyTuple = ')'
	opProto      = 0x80
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opNewTrue    = 0x88
	opNewFalse   = 0x89
	opLong1      = 0x8a
	opNone       = 'N'
)

// pickler writes the same bytes as Python's pickler, and memoizes each value in order.
type pickler struct {
	out  []byte
	memo byte
}

// pickle returns the pickle of a contiguous tensor in storage "0".
func pickle(l layout.Layout) []byte {
	elements, _ := l.Elements()
	p := &pickler{out: append(make([]byte, 0, 384), opProto, 2)}
	p.global("torch._utils", "_rebuild_tensor_v2")
	p.op(opMark)
	{
		p.op(opMark)
		p.text("storage")
		p.global("torch", storage(l.DType))
		p.text("0")
		p.text("cpu")
		p.int(elements)
		p.op(opTuple)
		p.put()
		p.op(opBinPersID)
	}
	p.int(0)
	p.tuple(l.Shape)
	p.tuple(l.Strides())
	p.op(opNewFalse)
	p.global("collections", "OrderedDict")
	p.op(opEmptyTuple)
	p.op(opReduce)
	p.put()
	p.op(opTuple)
	p.put()
	p.op(opReduce)
	p.put()
	p.op(opStop)
	return p.out
}

func (p *pickler) op(code byte) { p.out = append(p.out, code) }

func (p *pickler) put() {
	p.out = append(p.out, opBinPut, p.memo)
	p.memo++
}

func (p *pickler) global(module, name string) {
	p.out = append(p.out, opGlobal)
	p.out = append(append(p.out, module...), '\n')
	p.out = append(append(p.out, name...), '\n')
	p.put()
}

func (p *pickler) text(s string) {
	p.op(opBinUnicode)
	p.out = binary.LittleEndian.AppendUint32(p.out, uint32(len(s))) //nolint:gosec // a short name
	p.out = append(p.out, s...)
	p.put()
}

// int writes a non-negative number in as few bytes as possible.
func (p *pickler) int(n int64) {
	switch {
	case n < 1<<8:
		p.out = append(p.out, opBinInt1, byte(n)) //nolint:gosec // below 2^8
	case n < 1<<16:
		p.out = binary.LittleEndian.AppendUint16(append(p.out, opBinInt2), uint16(n))
	case n < 1<<31:
		p.out = binary.LittleEndian.AppendUint32(append(p.out, opBinInt), uint32(n))
	default: // the shortest two's complement, with a leading 0 bit
		raw := binary.LittleEndian.AppendUint64(nil, uint64(n))
		size := 8
		for size > 1 && raw[size-1] == 0 && raw[size-2] < 0x80 {
			size--
		}
		p.out = slices.Concat(p.out, []byte{opLong1, byte(size)}, raw[:size]) //nolint:gosec // at most 8
	}
}

func (p *pickler) tuple(list []int64) {
	if len(list) > 3 {
		p.op(opMark)
	}
	for _, n := range list {
		p.int(n)
	}
	switch len(list) {
	case 0:
		p.op(opEmptyTuple) // never memoized
		return
	case 1:
		p.op(opTuple1)
	case 2:
		p.op(opTuple2)
	case 3:
		p.op(opTuple3)
	default:
		p.op(opTuple)
	}
	p.put()
}
