package torchfile

import (
	"archive/zip"
	"bytes"
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
}

// NewEncoder returns an encoder for a tensor of this type and shape. Stride and
// offset are ignored. Types for which PyTorch has no typed storage are an error.
func NewEncoder(l layout.Layout) (*Encoder, error) {
	l = l.Packed()
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if storages()[l.DType] == "" {
		return nil, fmt.Errorf("%s has no typed storage in PyTorch; convert the tensor to another type", l.DType)
	}
	data, err := l.Bytes()
	if err != nil {
		return nil, err
	}
	e := &Encoder{layout: l, data: data}
	return e, e.frame()
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
	// The checksum is in the data descriptor, at the start of the tail, and in the directory, at byte 16 of the
	// entry, whose name is at byte 46.
	entry := bytes.LastIndex(tail, []byte(dataRecord)) - 46
	binary.LittleEndian.PutUint32(tail[4:], crc)
	binary.LittleEndian.PutUint32(tail[entry+16:], crc)
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

// frame creates the parts before and after the data of the tensor. It writes the
// archive with placeholder data, which is counted and discarded.
func (e *Encoder) frame() error {
	out := &gap{}
	z := zip.NewWriter(out)
	for _, r := range []struct {
		name string
		text []byte
	}{{"data.pkl", pickle(e.layout)}, {"byteorder", []byte("little")}} {
		if err := addRecord(z, out, r.name, r.text, nil); err != nil {
			return err
		}
	}
	// The checksum is known only after the data, so it is in a data descriptor, as in the files of PyTorch.
	record := &zip.FileHeader{
		Name: dataRecord, Method: zip.Store, Flags: 8,
		CompressedSize64: uint64(e.data), UncompressedSize64: uint64(e.data), //nolint:gosec // never negative
	}
	body, err := startRecord(z, out, record)
	if err != nil {
		return err
	}
	e.head = slices.Clone(out.kept.Bytes())
	out.kept.Reset()
	out.discard = true
	filler := make([]byte, min(e.data, 64<<10))
	for left := e.data; left > 0; left -= int64(len(filler)) {
		filler = filler[:min(left, int64(len(filler)))]
		if _, err := body.Write(filler); err != nil {
			return err
		}
	}
	if err := z.Flush(); err != nil {
		return err
	}
	out.discard = false
	if err := addRecord(z, out, "version", []byte("3\n"), record); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	e.tail = out.kept.Bytes()
	return nil
}

// gap stores written bytes, except for a range that it only counts.
type gap struct {
	kept    bytes.Buffer
	discard bool
	at      int64
}

func (g *gap) Write(p []byte) (int, error) {
	g.at += int64(len(p))
	if g.discard {
		return len(p), nil
	}
	return g.kept.Write(p)
}

// addRecord adds a record. before is the preceding record if its data descriptor is
// not written yet.
func addRecord(z *zip.Writer, out *gap, name string, data []byte, before *zip.FileHeader) error {
	record := &zip.FileHeader{
		Name: folder + "/" + name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
	}
	if before != nil {
		// 4 bytes each for signature and checksum, and two sizes of 4 bytes or, in large files, 8 bytes.
		out.at += 16
		if before.UncompressedSize64 >= 1<<32-1 {
			out.at += 8
		}
	}
	w, err := startRecord(z, out, record)
	if err != nil {
		return err
	}
	if _, err = w.Write(data); err != nil {
		return err
	}
	return z.Flush()
}

// startRecord writes a record's header, padded so that its data is aligned.
func startRecord(z *zip.Writer, out *gap, record *zip.FileHeader) (io.Writer, error) {
	const header, field = 30, 4 // the fixed part of a local file header, and of an extra field
	start := out.at + header + field + int64(len(record.Name))
	padding := int((alignment - start%alignment) % alignment)
	record.Extra = append([]byte("FB"), binary.LittleEndian.AppendUint16(nil, uint16(padding))...)
	record.Extra = append(record.Extra, bytes.Repeat([]byte{'Z'}, padding)...)
	w, err := z.CreateRaw(record)
	if err != nil {
		return nil, err
	}
	return w, z.Flush()
}
