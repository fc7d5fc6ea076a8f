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

// Encoder makes the file of one contiguous tensor: Head, then the tensor's
// bytes, then Tail. So the bytes themselves need not pass through it.
type Encoder struct {
	layout layout.Layout
	data   int64
	head   []byte
	tail   []byte // with a checksum of 0
}

// NewEncoder returns an encoder for a tensor of this type and shape; stride
// and offset are ignored. Types that PyTorch has no typed storage for are an
// error.
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

// Size is the number of bytes of the whole file.
func (e *Encoder) Size() int64 { return int64(len(e.head)) + e.data + int64(len(e.tail)) }

// Data is the number of bytes of the tensor.
func (e *Encoder) Data() int64 { return e.data }

// Head is what stands before the tensor's bytes.
func (e *Encoder) Head() []byte { return e.head }

// Tail is what stands after them. crc is their checksum: CRC-32, IEEE.
func (e *Encoder) Tail(crc uint32) []byte {
	tail := slices.Clone(e.tail)
	// In the data descriptor, which begins the tail, and in the directory, where it stands 16 bytes into the entry,
	// of which the name is at 46.
	entry := bytes.LastIndex(tail, []byte(dataRecord)) - 46
	binary.LittleEndian.PutUint32(tail[4:], crc)
	binary.LittleEndian.PutUint32(tail[entry+16:], crc)
	return tail
}

// Write writes the whole file, with exactly the tensor's bytes from data.
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

// frame makes what stands before and after the tensor's bytes. The archive
// is written as usual, but for these: they are counted and thrown away.
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
	// The checksum of the data is known only after it, so it stands in a data descriptor, as in PyTorch's files.
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

// gap keeps what is written, but for a stretch that is only counted.
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

// addRecord adds a record, after one whose data descriptor is still to come
// where that is given.
func addRecord(z *zip.Writer, out *gap, name string, data []byte, before *zip.FileHeader) error {
	record := &zip.FileHeader{
		Name: folder + "/" + name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data)),
	}
	if before != nil {
		// 4 each for signature and checksum, and two sizes of 4 or, in large files, 8.
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
