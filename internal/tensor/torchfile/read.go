package torchfile

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// File describes a tensor in a torch.save file and the position of its storage.
type File struct {
	Layout layout.Layout // within the storage
	Offset int64         // of the storage, in the file
	Bytes  int64         // of the storage
}

// Read finds the tensor in a file of the given size. It reads the description of
// the tensor, but not its data. Errors wrap ErrFormat, or are errors of r.
func Read(r io.ReaderAt, size int64) (File, error) {
	if err := checkDirectory(r, size); err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return File{}, fmt.Errorf("%w: %w: %w", ErrArchive, ErrFormat, err)
	}
	records := map[string]*zip.File{}
	prefix := ""
	for _, f := range z.File {
		records[f.Name] = f
		if strings.HasSuffix(f.Name, "/data.pkl") {
			prefix = strings.TrimSuffix(f.Name, "data.pkl")
		}
	}
	if prefix == "" {
		return File{}, fmt.Errorf("%w: the record data.pkl is missing", ErrFormat)
	}
	if order := records[prefix+"byteorder"]; order != nil {
		text, err := content(order)
		if err != nil {
			return File{}, err
		}
		if string(text) != "little" {
			return File{}, fmt.Errorf("%w: the byte order is %.20q, but only little is supported", ErrFormat, text)
		}
	}
	raw, err := content(records[prefix+"data.pkl"])
	if err != nil {
		return File{}, err
	}
	expression, err := unpickle(raw)
	if err != nil {
		return File{}, err
	}
	l, key, bytes, err := tensorOf(expression)
	if err != nil {
		return File{}, err
	}
	data := records[prefix+"data/"+key]
	if data == nil {
		return File{}, fmt.Errorf("%w: the storage %.20q is missing", ErrFormat, key)
	}
	if data.Method != zip.Store || data.UncompressedSize64 != uint64(bytes) { //nolint:gosec // never negative
		return File{}, fmt.Errorf("%w: storage %.20q has %d bytes, but its tensor requires %d",
			ErrFormat, key, data.UncompressedSize64, bytes)
	}
	offset, err := data.DataOffset()
	if err != nil {
		return File{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if offset < 0 || offset > size-bytes {
		return File{}, fmt.Errorf("%w: storage %.20q exceeds the file", ErrFormat, key)
	}
	return File{Layout: l, Offset: offset, Bytes: bytes}, nil
}

// checkDirectory limits the size of the archive's directory before the zip package
// reads it, which has no limit. The file of one tensor has few records.
func checkDirectory(r io.ReaderAt, size int64) error {
	// Sizes of the end record, and of the zip64 record and its locator immediately before it (APPNOTE.TXT, 4.3.14).
	const end, zip64, most = 22, 56 + 20, 64 << 10
	if size < end {
		return fmt.Errorf("%w: %d bytes are not a zip archive", ErrFormat, size)
	}
	last := make([]byte, min(size, zip64+end))
	if _, err := r.ReadAt(last, size-int64(len(last))); err != nil && err != io.EOF {
		return err
	}
	large, last := last[:len(last)-end], last[len(last)-end:]
	if string(last[:4]) != "PK\x05\x06" {
		return fmt.Errorf("%w: no zip directory at the end of the file; the format of torch.save before PyTorch "+
			"1.6 is not supported", ErrFormat)
	}
	bytes, start := uint64(binary.LittleEndian.Uint32(last[12:])), uint64(binary.LittleEndian.Uint32(last[16:]))
	stop := uint64(size - end)
	first := stop - min(stop, zip64)             // earliest end of the directory
	if start == 1<<32-1 && len(large) == zip64 { // a file of 4 GiB or more
		bytes, start, stop = binary.LittleEndian.Uint64(large[40:]), binary.LittleEndian.Uint64(large[48:]), first
	}
	if bytes > most || start > stop-min(stop, bytes) || start+bytes < first {
		return fmt.Errorf("%w: the zip directory has %d bytes at %d", ErrFormat, bytes, start)
	}
	return nil
}

// content reads a small record.
func content(f *zip.File) ([]byte, error) {
	if f.Method != zip.Store || f.UncompressedSize64 > maxPickle {
		return nil, fmt.Errorf("%w: record %.40q has %d bytes by method %d", ErrFormat, f.Name, f.UncompressedSize64,
			f.Method)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, maxPickle))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return out, nil
}

// tensorCall matches the expression that rebuilds a tensor or a parameter (torch/_utils.py). The last argument is the
// element type of an untyped storage.
var tensorCall = regexp.MustCompile(`^(?:torch\._utils\._rebuild_parameter\()?torch\._utils\._rebuild_tensor_v[23]\(` +
	`persistent\("storage", torch\.(?:storage\.)?(\w+), "(\w+)", "[^"]*", (\d+)\), ` +
	`(\d+), \(([\d, ]*)\), \(([\d, ]*)\), (?:True|False), collections\.OrderedDict\(\)(?:, (torch\.\w+))?\)` +
	`(?:, (?:True|False), collections\.OrderedDict\(\)\))?$`)

// tensorOf decodes the expression that rebuilds a tensor, and returns its layout in the
// storage, and the name and size of the storage.
func tensorOf(expression string) (l layout.Layout, key string, bytes int64, err error) {
	m := tensorCall.FindStringSubmatch(expression)
	if m == nil {
		return l, "", 0, fmt.Errorf("%w: the pickle is not that of a tensor: %.500q", ErrFormat, expression)
	}
	class, key := m[1], m[2]
	var numbers [4][]int64 // elements of the storage, offset, shape and stride
	for i, list := range m[3:7] {
		if numbers[i], err = ints(list); err != nil {
			return l, "", 0, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	elements := numbers[0][0]
	l = layout.Layout{Offset: numbers[1][0], Shape: numbers[2], Stride: numbers[3]}
	if l.DType = layout.OfStorage(class); class == "UntypedStorage" {
		l.DType = layout.DType(m[7])
	}
	if err := l.Validate(); err != nil {
		return l, "", 0, fmt.Errorf("%w: a %s: %w", ErrFormat, class, err)
	}
	span, _ := l.Span() // valid
	size := l.DType.Size()
	if class == "UntypedStorage" {
		size = 1 // an untyped storage counts bytes
	}
	if elements > (1<<63-1)/size || elements*size < span {
		return l, "", 0, fmt.Errorf("%w: %s ends at byte %d of a storage of %d elements", ErrFormat, l, span, elements)
	}
	return l, key, elements * size, nil
}

// ints parses a list such as "2, 3".
func ints(list string) ([]int64, error) {
	out := []int64{}
	for item := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(item, 10, 64)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
