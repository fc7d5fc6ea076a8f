package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
)

// Encoder encodes the file of one tensor: the head, the data of the tensor, and the tail.
type Encoder struct {
	data int64
	head []byte
	tail []byte // with a checksum of 0
}

// NewEncoder returns an encoder for a tensor with this pickle and size in bytes, whose storage is "0".
func NewEncoder(pickle []byte, data int64) (*Encoder, error) {
	if data < 0 {
		return nil, fmt.Errorf("a tensor of %d bytes", data)
	}
	head, tail, err := frame(pickle, data)
	return &Encoder{data: data, head: head, tail: tail}, err
}

// Size returns the size of the file in bytes.
func (e *Encoder) Size() int64 { return int64(len(e.head)) + e.data + int64(len(e.tail)) }

// File returns a reader of the complete file, with the data of the tensor from data. The file is too short if data is.
func (e *Encoder) File(data io.Reader) io.Reader {
	sum := crc32.NewIEEE()
	return io.MultiReader(bytes.NewReader(e.head), io.TeeReader(io.LimitReader(data, e.data), sum),
		&deferred{open: func() io.Reader { return bytes.NewReader(e.tailWith(sum.Sum32())) }})
}

// tailWith returns the part of the file after the data, whose CRC-32 (IEEE) is sum.
func (e *Encoder) tailWith(sum uint32) []byte {
	tail := slices.Clone(e.tail)
	// The checksum is in the data descriptor, after its signature, and in the directory, 30 bytes before the name.
	binary.LittleEndian.PutUint32(tail[4:], sum)
	binary.LittleEndian.PutUint32(tail[bytes.LastIndex(tail, []byte(dataRecord))-30:], sum)
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

// frame returns the parts of a file before and after the data of the tensor, with a checksum of 0. It writes the
// archive with other data, which is only counted.
func frame(pickle []byte, data int64) (head, tail []byte, err error) {
	// Bytes of the fixed part of a local header, of an extra field, and of a data descriptor
	// (https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3 and 4.5).
	const header, extra, descriptor, descriptor64 = 30, 4, 16, 24
	// Flag: the checksum follows the data, before which it is not known. The files of PyTorch are the same.
	const hasDescriptor = 1 << 3
	out := &gap{from: math.MaxInt64}
	z := zip.NewWriter(out)
	at := int64(0)
	for _, record := range []struct {
		name    string
		content []byte // nil: the data of the tensor
	}{
		{folder + "/data.pkl", pickle}, {folder + "/byteorder", []byte("little")}, {dataRecord, nil},
		{folder + "/version", []byte("3\n")},
	} {
		at += header + extra + int64(len(record.name))
		padding := -at & (alignment - 1)
		at += padding
		file := &zip.FileHeader{Name: record.name, CRC32: crc32.ChecksumIEEE(record.content),
			Extra: append(binary.LittleEndian.AppendUint16([]byte("FB"), uint16(padding)),
				bytes.Repeat([]byte{'Z'}, int(padding))...)}
		size, content := int64(len(record.content)), io.Reader(bytes.NewReader(record.content))
		if record.name == dataRecord {
			size, content, file.Flags = data, filler{}, hasDescriptor
			out.from, out.to = at, at+size
			at += descriptor
			if size >= math.MaxUint32 {
				at += descriptor64 - descriptor
			}
		}
		at += size
		file.UncompressedSize64 = uint64(size)
		file.CompressedSize64 = file.UncompressedSize64
		w, err := z.CreateRaw(file)
		if err == nil {
			_, err = io.CopyN(w, content, size)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	err = z.Close()
	return out.head, out.tail, err
}

// filler is an endless reader of bytes with any value.
type filler struct{}

func (filler) Read(p []byte) (int, error) { return len(p), nil }

// gap stores what is written to it before and after a range, which it only counts.
type gap struct {
	head, tail   []byte
	at, from, to int64
}

func (g *gap) Write(p []byte) (int, error) {
	start := g.at
	g.at += int64(len(p))
	before := min(max(g.from-start, 0), int64(len(p)))
	inside := min(max(g.to-start, before), int64(len(p)))
	g.head, g.tail = append(g.head, p[:before]...), append(g.tail, p[inside:]...)
	return len(p), nil
}
