package torchfile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// Encoder encodes the file of one contiguous tensor: Head, the data of the tensor,
// and Tail. The data itself does not pass through the encoder.
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

// Data returns the size of the tensor in bytes.
func (e *Encoder) Data() int64 { return e.data }

// Head returns the part of the file before the data of the tensor.
func (e *Encoder) Head() []byte { return e.head }

// Tail returns the part of the file after the data. crc is the CRC-32 (IEEE) of the data.
func (e *Encoder) Tail(crc uint32) []byte {
	tail := slices.Clone(e.tail)
	for _, at := range e.sums {
		binary.LittleEndian.PutUint32(tail[at:], crc)
	}
	return tail
}

// Write writes the complete file, with the data of the tensor from data.
func (e *Encoder) Write(w io.Writer, data io.Reader) error {
	if _, err := w.Write(e.head); err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyN(io.MultiWriter(w, sum), data, e.data); err != nil {
		return fmt.Errorf("tensor of %d bytes: %w", e.data, err)
	}
	_, err := w.Write(e.Tail(sum.Sum32()))
	return err
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
