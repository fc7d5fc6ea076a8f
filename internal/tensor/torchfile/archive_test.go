package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
func standard(t *testing.T, pickle []byte, size int64) []byte {
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
	add("archive/data.pkl", pickle)
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

// tensor is the pickle of a tensor, and its size in bytes.
type tensor struct {
	pickle []byte
	size   int64
}

// tensors returns tensors of several types and shapes. Their pickles were written by Python's own pickler; see
// testdata/fixtures.py.
func tensors(t testing.TB) map[string]tensor {
	t.Helper()
	out := map[string]tensor{}
	for name, size := range map[string]int64{"scalar": 4, "vector": 2400, "matrix": 24, "cube": 240_000,
		"image": 4 * 3 * 256 * 70_000, "large": 5 << 30, "empty": 0} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".pkl.hex"))
		if err != nil {
			t.Fatal(err)
		}
		pickle, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = tensor{pickle, size}
	}
	for name, size := range map[string]int64{
		"below 4 GiB": 1<<32 - 2, "zip64": 1<<32 - 1, "directory beyond 4 GiB": 1<<32 - 600, "4 GiB": 1 << 32,
	} {
		out[name] = tensor{PickleOfBytes(size), size}
	}
	return out
}

func TestArchivesEqualThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for name, c := range tensors(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := NewEncoder(c.pickle, c.size)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(standard(t, c.pickle, c.size), slices.Concat(e.head, e.tailWith(0))); diff != "" {
				t.Errorf("head and tail (-archive/zip +ours):\n%s", diff)
			}
		})
	}
}

// sparse is a file whose middle consists of zeros and is not stored.
type sparse struct {
	head, tail []byte
	size       int64
}

func (s sparse) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) && off < s.size {
		start := s.size - int64(len(s.tail))
		switch {
		case off < int64(len(s.head)):
			p[n] = s.head[off]
		case off >= start:
			p[n] = s.tail[off-start]
		default:
			p[n] = 0
		}
		n, off = n+1, off+1
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestTensorsAbove4GiBCanBeWrittenAndRead(t *testing.T) {
	t.Parallel()
	c := tensors(t)["large"]
	e, err := NewEncoder(c.pickle, c.size)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(sparse{e.head, e.tailWith(crc32.ChecksumIEEE(nil)), e.Size()}, e.Size())
	if err != nil {
		t.Fatal(err)
	}
	offset, err := f.Storage("0", 5<<30)
	if err != nil || offset != int64(len(e.head)) || !bytes.Equal(f.Pickle, c.pickle) {
		t.Errorf("read: %q with data at %d: %v", f.Pickle, offset, err)
	}
}

func TestNegativeSizesAreRejected(t *testing.T) {
	t.Parallel()
	if _, err := NewEncoder(PickleOfBytes(1), -1); err == nil {
		t.Error("accepted")
	}
}

func BenchmarkEncoder(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		e, err := NewEncoder(PickleOfBytes(1<<10), 1<<10)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, e.File(bytes.NewReader(make([]byte, 1<<10)))); err != nil {
			b.Fatal(err)
		}
	}
}
