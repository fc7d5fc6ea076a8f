package torchfile

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// File is a torch.save file.
type File struct {
	Pickle []byte // description of what was saved

	size    int64
	folder  string // with a slash
	records map[string]*zip.File
}

// Open reads the description of what was saved in a file of the given size, but not its data. Errors wrap ErrFormat, or
// are errors of r.
func Open(r io.ReaderAt, size int64) (*File, error) {
	if err := checkDirectory(r, size); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArchive, err)
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %w", ErrArchive, ErrFormat, err)
	}
	f := &File{size: size, records: map[string]*zip.File{}}
	for _, record := range z.File {
		f.records[record.Name] = record
		if strings.HasSuffix(record.Name, "/data.pkl") {
			f.folder = strings.TrimSuffix(record.Name, "data.pkl")
		}
	}
	if f.folder == "" {
		return nil, fmt.Errorf("%w: the record data.pkl is missing", ErrFormat)
	}
	if order := f.records[f.folder+"byteorder"]; order != nil {
		text, err := content(order)
		if err != nil {
			return nil, err
		}
		if string(text) != "little" {
			return nil, fmt.Errorf("%w: the byte order is %.20q, but only little is supported", ErrFormat, text)
		}
	}
	f.Pickle, err = content(f.records[f.folder+"data.pkl"])
	return f, err
}

// Storage returns the position of a storage in the file, which must have this number of bytes.
func (f *File) Storage(key string, bytes int64) (offset int64, err error) {
	data := f.records[f.folder+"data/"+key]
	if data == nil {
		return 0, fmt.Errorf("%w: the storage %.20q is missing", ErrFormat, key)
	}
	if data.Method != zip.Store || data.UncompressedSize64 != uint64(bytes) { //nolint:gosec // never negative
		return 0, fmt.Errorf("%w: storage %.20q has %d bytes, but its tensor requires %d",
			ErrFormat, key, data.UncompressedSize64, bytes)
	}
	offset, err = data.DataOffset()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if offset < 0 || offset > f.size-bytes {
		return 0, fmt.Errorf("%w: storage %.20q exceeds the file", ErrFormat, key)
	}
	return offset, nil
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
	if f.Method != zip.Store || f.UncompressedSize64 > MaxPickle {
		return nil, fmt.Errorf("%w: record %.40q has %d bytes by method %d", ErrFormat, f.Name, f.UncompressedSize64,
			f.Method)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, MaxPickle))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return out, nil
}
