package torchfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// Encoder encodes the file of one contiguous tensor: the head, the data of the tensor, and the tail.
type Encoder struct {
	layout layout.Layout
	data   int64
	head   []byte
	tail   []byte // with a checksum of 0
	sums   [2]int // positions of the checksum in the tail
}

// NewEncoder returns an encoder for a tensor of this type and shape. Stride and
// offset are ignored. Types for which PyTorch has no typed storage are an error.
func NewEncoder(l layout.Layout) (*Encoder, error) {
	l = l.Packed()
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if l.DType.Storage() == "" {
		return nil, fmt.Errorf("%s has no typed storage in PyTorch; convert the tensor to another type", l.DType)
	}
	data, _ := l.Bytes() // valid
	e := &Encoder{layout: l, data: data}
	e.frame()
	return e, nil
}

// Size returns the size of the file in bytes.
func (e *Encoder) Size() int64 { return int64(len(e.head)) + e.data + int64(len(e.tail)) }

// File returns a reader of the complete file, with the data of the tensor from data. The file is too short if data is.
func (e *Encoder) File(data io.Reader) io.Reader {
	sum := crc32.NewIEEE()
	return io.MultiReader(bytes.NewReader(e.head), io.TeeReader(io.LimitReader(data, e.data), sum),
		&deferred{open: func() io.Reader { return bytes.NewReader(e.tailWith(sum.Sum32())) }})
}

// tailWith returns the part of the file after the data. crc is the CRC-32 (IEEE) of the data.
func (e *Encoder) tailWith(crc uint32) []byte {
	tail := slices.Clone(e.tail)
	for _, at := range e.sums {
		binary.LittleEndian.PutUint32(tail[at:], crc)
	}
	return tail
}

// deferred is a reader that is opened when it is first read.
type deferred struct {
	open func() io.Reader
	io.Reader
}

func (d *deferred) Read(p []byte) (int, error) {
	if d.Reader == nil {
		d.Reader = d.open()
	}
	return d.Reader.Read(p)
}

// frame creates the parts before and after the data of the tensor.
func (e *Encoder) frame() {
	a := archive{out: make([]byte, 0, 1536), records: make([]record, 0, 4)}
	a.add(folder+"/data.pkl", pickle(e.layout))
	a.add(folder+"/byteorder", []byte("little"))
	head := a.skip(dataRecord, e.data)
	a.add(folder+"/version", []byte("3\n"))
	sums := a.close()
	e.head, e.tail = a.out[:head:head], a.out[head:]
	e.sums = [2]int{4, sums[2] - head} // in the data descriptor, after its signature, and in the directory
}
