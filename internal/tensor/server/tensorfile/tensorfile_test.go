package tensorfile

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

func tensors() map[string]layout.Layout {
	return map[string]layout.Layout{
		"scalar": layout.Of(layout.Float32),
		"vector": layout.Of("torch.int64", 300),
		"matrix": layout.Of(layout.Float32, 2, 3),
		"cube":   layout.Of("torch.float16", 300, 20, 20),
		"image":  layout.Of(layout.UInt8, 4, 3, 256, 70000),
		"large":  layout.Of("torch.int8", 5<<30),
		"empty":  layout.Of("torch.bool", 0, 4),
	}
}

// The fixtures were written by Python's own pickler; see testdata/fixtures.py.
func TestPickleEqualsThePickleOfPython(t *testing.T) {
	t.Parallel()
	for name, l := range tensors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join("../../torchfile/testdata", name+".pkl.hex"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(string(want)), hex.EncodeToString(pickle(l))); diff != "" {
				t.Errorf("pickle (-python +ours):\n%s", diff)
			}
		})
	}
}

func encode(t testing.TB, l layout.Layout, data []byte) []byte {
	t.Helper()
	e, err := NewEncoder(l)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := io.Copy(&out, e.File(bytes.NewReader(data))); err != nil {
		t.Fatal(err)
	}
	if int64(out.Len()) != e.Size() {
		t.Fatalf("the file has %d bytes instead of the announced %d", out.Len(), e.Size())
	}
	return out.Bytes()
}

func TestRecordsOfAFileAreUncompressedAndAligned(t *testing.T) {
	t.Parallel()
	data := []byte("0123456789abcdef01234567")
	file := encode(t, layout.Of(layout.Float32, 2, 3), data)
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range z.File {
		offset, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		if offset%64 != 0 || f.Method != zip.Store {
			t.Errorf("%s: at %d, by method %d", f.Name, offset, f.Method)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r) // checks the checksum
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		got[f.Name] = string(text)
	}
	want := map[string]string{
		"archive/data.pkl":  string(pickle(layout.Of(layout.Float32, 2, 3))),
		"archive/byteorder": "little", "archive/data/0": string(data), "archive/version": "3\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestWrittenFilesCanBeRead(t *testing.T) {
	t.Parallel()
	for _, l := range []layout.Layout{
		layout.Of(layout.Float32), layout.Of("torch.bool", 0), layout.Of("torch.complex128", 3, 1, 4, 1, 5),
		layout.Of("torch.bfloat16", 65536), layout.Of("torch.int8", 70000, 2),
	} {
		n, err := l.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		data := bytes.Repeat([]byte("abcdefg"), int(n)/7+1)[:n]
		file := encode(t, l, data)
		f, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", l, err)
			continue
		}
		if !f.Layout.Same(l) || !f.Layout.Contiguous() || !bytes.Equal(file[f.Offset:f.Offset+f.Bytes], data) {
			t.Errorf("%s is read as %s with %d bytes at %d", l, f.Layout, f.Bytes, f.Offset)
		}
	}
}

func TestPicklesAreReadAsTheWrittenLayouts(t *testing.T) {
	t.Parallel()
	for name, l := range tensors() {
		expression, err := unpickle(pickle(l))
		if err != nil {
			t.Fatal(err)
		}
		got, key, size, err := tensorOf(expression)
		if want, _ := l.Bytes(); err != nil || !got.Same(l) || !got.Contiguous() || key != "0" || size != want {
			t.Errorf("%s: %s with %d bytes in %q: %v", name, got, size, key, err)
		}
	}
}

func TestPickleOfBytesIsThatOfAVector(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 255, 256, 65535, 65536, 1 << 31, 1 << 40} {
		if diff := cmp.Diff(pickle(layout.Of(layout.UInt8, n)), torchfile.PickleOfBytes(n)); diff != "" {
			t.Errorf("%d bytes (-vector +bytes):\n%s", n, diff)
		}
	}
}

func TestTypesWithoutTypedStorageAreRejected(t *testing.T) {
	t.Parallel()
	if _, err := NewEncoder(layout.Of("torch.uint32")); err == nil {
		t.Error("accepted")
	}
}

func TestFilesInTheLayoutOfPyTorchCanBeRead(t *testing.T) {
	t.Parallel()
	whole := layout.Layout{DType: layout.Float32, Shape: []int64{2, 3}, Stride: []int64{3, 1}}
	for name, want := range map[string]layout.Layout{
		"saved":     whole,
		"parameter": whole,
		"view":      {DType: layout.Float32, Shape: []int64{2, 2}, Stride: []int64{3, 1}, Offset: 1},
	} {
		file, err := os.ReadFile(filepath.Join("../../torchfile/testdata", name+".pt"))
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, f.Layout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if f.Bytes != 24 || file[f.Offset+7] != 0x3f { // the second number is 1.0
			t.Errorf("%s: %d bytes at %d", name, f.Bytes, f.Offset)
		}
	}
}

func TestInvalidFilesAreRejected(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../torchfile/testdata/list.pt")
	if err != nil {
		t.Fatal(err)
	}
	good := encode(t, layout.Of(layout.Float32, 2, 3), make([]byte, 24))
	replaced := func(old, with string) []byte {
		out := bytes.Replace(good, []byte(old), []byte(with), 1)
		if bytes.Equal(out, good) {
			t.Fatalf("%q is not in the file", old)
		}
		return out
	}
	for name, file := range map[string][]byte{
		"empty":               nil,
		"a list":              list,
		"truncated":           good[:len(good)-1],
		"without its head":    good[100:],
		"a function of os":    replaced("torch._utils\n_rebuild_tensor_v2\n", "posixxxxxxxx\nsystemxxxxxxxxxxxx\n"),
		"an unknown storage":  replaced("FloatStorage", "FlootStorage"),
		"a shape beyond":      replaced("K\x02K\x03\x86", "K\x09K\x03\x86"),
		"another byte order":  replaced("little", "biggie"),
		"without its storage": bytes.ReplaceAll(good, []byte("data/0"), []byte("data/1")),
	} {
		if f, err := Read(bytes.NewReader(file), int64(len(file))); err == nil {
			t.Errorf("%s: read as %+v", name, f)
		} else if !errors.Is(err, torchfile.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"saved", "view", "parameter", "list"} {
		file, err := os.ReadFile(filepath.Join("../../torchfile/testdata", name+".pt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add(encode(f, layout.Of(layout.Float32, 2, 3), make([]byte, 24)))
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		span, err := got.Layout.Span()
		if err != nil || span > got.Bytes || got.Offset+got.Bytes > int64(len(file)) {
			t.Errorf("%+v in a file of %d bytes: %v", got, len(file), err)
		}
	})
}

func FuzzUnpickle(f *testing.F) {
	for _, l := range tensors() {
		f.Add(pickle(l))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		v, err := unpickle(in)
		if err != nil {
			return
		}
		l, _, size, err := tensorOf(v)
		if err != nil {
			return
		}
		if span, err := l.Span(); l.Validate() != nil || err != nil || span > size {
			t.Errorf("%+v ends at byte %d of %d", l, span, size)
		}
	})
}

func FuzzWrite(f *testing.F) {
	f.Add(1, int64(2), int64(3), []byte("0123456789abcdef01234567"))
	f.Fuzz(func(t *testing.T, kind int, a, b int64, data []byte) {
		types := layout.DTypes()
		l := layout.Of(types[(kind%len(types)+len(types))%len(types)], a&7, b&7)
		if l.Validate() != nil || l.DType.Storage() == "" {
			return
		}
		n, err := l.Bytes()
		if err != nil || n > int64(len(data)) {
			return
		}
		data = data[:n]
		file := encode(t, l, data)
		got, err := Read(bytes.NewReader(file), int64(len(file)))
		if err != nil || !got.Layout.Same(l) {
			t.Fatalf("%s is read as %s: %v", l, got.Layout, err)
		}
		if !bytes.Equal(file[got.Offset:got.Offset+got.Bytes], data) {
			t.Errorf("the content of %s differs", l)
		}
	})
}
