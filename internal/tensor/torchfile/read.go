package torchfile

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
)

// Functions that rebuild a tensor (torch/_utils.py).
const (
	rebuildV2        global = "torch._utils._rebuild_tensor_v2"
	rebuildV3        global = "torch._utils._rebuild_tensor_v3"
	rebuildParameter global = "torch._utils._rebuild_parameter"
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
	value, err := unpickle(raw)
	if err != nil {
		return File{}, err
	}
	l, key, bytes, err := tensorOf(value)
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
	const end, locators, most = 22, 76, 64 << 10
	var raw [end]byte
	if size < end {
		return fmt.Errorf("%w: %d bytes are not a zip archive", ErrFormat, size)
	}
	if _, err := r.ReadAt(raw[:], size-end); err != nil && err != io.EOF {
		return err
	}
	if string(raw[:4]) != "PK\x05\x06" {
		return fmt.Errorf("%w: no zip directory at the end of the file; the format of torch.save before PyTorch "+
			"1.6 is not supported", ErrFormat)
	}
	bytes := int64(binary.LittleEndian.Uint32(raw[12:]))
	start := int64(binary.LittleEndian.Uint32(raw[16:]))
	if start == 1<<32-1 { // a file of 4 GiB or more: the real numbers are in the zip64 record
		return checkLargeDirectory(r, size-end)
	}
	if bytes > most || start < size-end-bytes-locators || start > size-end-bytes {
		return fmt.Errorf("%w: the zip directory has %d bytes at %d", ErrFormat, bytes, start)
	}
	return nil
}

// checkLargeDirectory does the same for an archive of 4 GiB or more, whose zip64
// record and locator are immediately before its end (APPNOTE.TXT, 4.3.14).
func checkLargeDirectory(r io.ReaderAt, end int64) error {
	const record, locator, most = 56, 20, 64 << 10
	var raw [record]byte
	at := end - record - locator
	if at < 0 {
		return fmt.Errorf("%w: the zip directory is missing", ErrFormat)
	}
	if _, err := r.ReadAt(raw[:], at); err != nil {
		return err
	}
	bytes, start := binary.LittleEndian.Uint64(raw[40:]), binary.LittleEndian.Uint64(raw[48:])
	if string(raw[:4]) != "PK\x06\x06" || bytes > most || start != uint64(at)-bytes {
		return fmt.Errorf("%w: the zip64 directory has %d bytes at %d", ErrFormat, bytes, start)
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

// tensorOf decodes the call that rebuilds a tensor, and returns its layout in the
// storage, and the name and size of the storage.
func tensorOf(v any) (l layout.Layout, key string, bytes int64, err error) {
	c, ok := v.(call)
	if ok && c.function == rebuildParameter && len(c.args) > 0 {
		c, ok = c.args[0].(call)
	}
	if !ok || c.function == rebuildParameter || len(c.args) < 6 {
		return l, "", 0, fmt.Errorf("%w: the result of the pickle is not a tensor", ErrFormat)
	}
	ref, ok := c.args[0].(reference)
	if !ok {
		return l, "", 0, fmt.Errorf("%w: a tensor without a storage", ErrFormat)
	}
	l.Offset, ok = c.args[1].(int64)
	if ok {
		l.Shape, ok = ints(c.args[2])
	}
	if ok {
		l.Stride, ok = ints(c.args[3])
	}
	if !ok {
		return l, "", 0, fmt.Errorf("%w: offset, shape or stride is not a number", ErrFormat)
	}
	key, elements, d, err := storageOf(ref)
	if err != nil {
		return l, "", 0, err
	}
	size := int64(1) // an untyped storage counts bytes
	if l.DType = d; d == "" {
		if l.DType, err = typeOf(c); err != nil {
			return l, "", 0, err
		}
	} else {
		size = d.Size()
	}
	if err := l.Validate(); err != nil {
		return l, "", 0, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	span, err := l.Span()
	if err != nil {
		return l, "", 0, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if elements < 0 || elements > (1<<63-1)/size || elements*size < span {
		return l, "", 0, fmt.Errorf("%w: %s ends at byte %d of a storage of %d elements", ErrFormat, l, span, elements)
	}
	return l, key, elements * size, nil
}

// storageOf decodes ("storage", type, name, device, elements). The type is "" for
// an untyped storage.
func storageOf(ref reference) (key string, elements int64, d layout.DType, err error) {
	bad := fmt.Errorf("%w: a persistent ID that is not a storage", ErrFormat)
	if len(ref.id) != 5 || ref.id[0] != "storage" {
		return "", 0, "", bad
	}
	class, ok := ref.id[1].(global)
	if ok {
		key, ok = ref.id[2].(string)
	}
	if ok {
		elements, ok = ref.id[4].(int64)
	}
	if !ok {
		return "", 0, "", bad
	}
	if class == "torch.storage.UntypedStorage" || class == "torch.UntypedStorage" {
		return key, elements, "", nil
	}
	for _, d := range layout.DTypes() {
		if name := storage(d); name != "" && class == "torch."+global(name) {
			return key, elements, d, nil
		}
	}
	return "", 0, "", fmt.Errorf("%w: a storage of type %.80q", ErrFormat, string(class))
}

// typeOf returns the element type, which is the last argument in the third form of the call.
func typeOf(c call) (layout.DType, error) {
	if c.function == rebuildV3 && len(c.args) > 6 {
		if name, ok := c.args[6].(global); ok {
			return layout.ParseDType(string(name))
		}
	}
	return "", fmt.Errorf("%w: an untyped storage without a type", ErrFormat)
}

func ints(v any) ([]int64, bool) {
	list, ok := v.(tuple)
	if !ok {
		return nil, false
	}
	out := make([]int64, len(list))
	for i, item := range list {
		if out[i], ok = item.(int64); !ok {
			return nil, false
		}
	}
	return out, true
}
