package torchfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The file has memo entries and another folder, like those of PyTorch; see testdata/fixtures.py.
func TestTensorOfBytesInTheLayoutOfPyTorchIsRecognized(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("testdata", "bytes.pt"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if !IsPickleOfBytes(f.Pickle, 24) || IsPickleOfBytes(f.Pickle, 23) {
		t.Errorf("the pickle is %q", f.Pickle)
	}
	if offset, err := f.Storage("0", 24); err != nil || file[offset+7] != 0x3f {
		t.Errorf("data at %d: %v", offset, err)
	}
	if _, err := f.Storage("0", 23); err == nil {
		t.Error("a storage of another size is accepted")
	}
}

func TestOnlyThePickleOfATensorOfBytesIsRecognized(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 255, 256, 65535, 65536, 1 << 31, 1 << 40} {
		good := PickleOfBytes(n)
		replaced := func(old, with string) []byte {
			out := strings.Replace(string(good), old, with, 1)
			if out == string(good) {
				t.Fatalf("%q is not in the pickle", old)
			}
			return []byte(out)
		}
		for name, c := range map[string]struct {
			pickle []byte
			want   bool
		}{
			"the written one":   {good, true},
			"on a GPU":          {replaced("X\x03\x00\x00\x00cpu", "X\x06\x00\x00\x00cuda:0q\x04"), true},
			"truncated":         {good[:len(good)-1], false},
			"with more":         {append(bytes.Clone(good), '.'), false},
			"nothing":           {nil, false},
			"of another type":   {replaced("ByteStorage", "CharStorage"), false},
			"of another size":   {PickleOfBytes(n + 1), false},
			"with a stride":     {replaced("K\x01\x85\x89", "K\x02\x85\x89"), false},
			"with an offset":    {replaced("QK\x00", "QK\x01"), false},
			"a function of os":  {replaced("torch._utils\n_rebuild_tensor_v2", "posix\nsystem"), false},
			"an endless device": {replaced("X\x03\x00\x00\x00cpu", "X\xff\xff\xff\xffcpu"), false},
			"no device":         {good[:bytes.Index(good, []byte("cpu"))-2], false},
		} {
			if got := IsPickleOfBytes(c.pickle, n); got != c.want {
				t.Errorf("%d bytes, %s: %t, want %t", n, name, got, c.want)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"saved", "view", "parameter", "list", "bytes"} {
		file, err := os.ReadFile(filepath.Join("testdata", name+".pt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		const size = 24
		offset, err := got.Storage("0", size)
		if err == nil && (offset < 0 || offset+size > int64(len(file))) {
			t.Errorf("%d bytes at %d in a file of %d", size, offset, len(file))
		}
		IsPickleOfBytes(got.Pickle, size)
	})
}
