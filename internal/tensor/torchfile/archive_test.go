package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// cut stores written bytes, except for a range that it only counts.
type cut struct {
	kept    bytes.Buffer
	discard bool
	at      int64
}

func (c *cut) Write(p []byte) (int, error) {
	c.at += int64(len(p))
	if c.discard {
		return len(p), nil
	}
	return c.kept.Write(p)
}

// standard is the file of a tensor of zeros, written by archive/zip, without these zeros.
func standard(t *testing.T, l layout.Layout, size int64) []byte {
	t.Helper()
	out := &cut{}
	z := zip.NewWriter(out)
	before := int64(0) // bytes that z writes before the next record
	start := func(r *zip.FileHeader) io.Writer {
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
		data := out.at + before + 30 + 4 + int64(len(r.Name))
		padding := (64 - data%64) % 64
		r.Extra = append(binary.LittleEndian.AppendUint16([]byte("FB"), uint16(padding)),
			bytes.Repeat([]byte{'Z'}, int(padding))...)
		w, err := z.CreateRaw(r)
		if err == nil {
			err = z.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	write := func(w io.Writer, data []byte) {
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	add := func(name string, data []byte) {
		n := uint64(len(data))
		write(start(&zip.FileHeader{Name: name, CRC32: crc32.ChecksumIEEE(data), CompressedSize64: n,
			UncompressedSize64: n}), data)
	}
	add("archive/data.pkl", pickle(l))
	add("archive/byteorder", []byte("little"))
	w := start(&zip.FileHeader{Name: "archive/data/0", Flags: 8, CompressedSize64: uint64(size),
		UncompressedSize64: uint64(size)})
	out.discard = true
	zeros := make([]byte, 1<<20)
	for left := size; left > 0; left -= int64(len(zeros)) {
		zeros = zeros[:min(left, int64(len(zeros)))]
		write(w, zeros)
	}
	if err := z.Flush(); err != nil {
		t.Fatal(err)
	}
	out.discard = false
	if before = 16; size >= 1<<32-1 { // the data descriptor
		before = 24
	}
	add("archive/version", []byte("3\n"))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.kept.Bytes()
}

func TestArchivesEqualThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	all := tensors()
	for name, size := range map[string]int64{
		"below 4 GiB": 1<<32 - 2, "zip64": 1<<32 - 1, "directory beyond 4 GiB": 1<<32 - 600, "4 GiB": 1 << 32,
	} {
		all[name] = layout.Of(layout.UInt8, size)
	}
	for name, l := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := NewEncoder(l)
			if err != nil {
				t.Fatal(err)
			}
			got := append(bytes.Clone(e.head), e.tailWith(0)...)
			if diff := cmp.Diff(standard(t, l, e.data), got); diff != "" {
				t.Errorf("head and tail (-archive/zip +ours):\n%s", diff)
			}
		})
	}
}

func BenchmarkEncoder(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		e, err := NewEncoder(layout.Of(layout.UInt8, 1<<10))
		if err != nil {
			b.Fatal(err)
		}
		_ = e.tailWith(1)
	}
}
