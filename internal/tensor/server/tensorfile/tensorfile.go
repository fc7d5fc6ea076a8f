// Package tensorfile describes tensors of any type and shape in files of package torchfile.
package tensorfile

import (
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

// NewEncoder returns an encoder for a tensor of this type and shape. Stride and
// offset are ignored. Types for which PyTorch has no typed storage are an error.
func NewEncoder(l layout.Layout) (*torchfile.Encoder, error) {
	l = l.Packed()
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if l.DType.Storage() == "" {
		return nil, fmt.Errorf("%s has no typed storage in PyTorch; convert the tensor to another type", l.DType)
	}
	data, _ := l.Bytes() // valid
	return torchfile.NewEncoder(pickle(l), data)
}

// File describes a tensor in a torch.save file and the position of its storage.
type File struct {
	Layout layout.Layout // within the storage
	Offset int64         // of the storage, in the file
	Bytes  int64         // of the storage
}

// Read finds the tensor in a file of the given size. It reads the description of
// the tensor, but not its data. Errors wrap torchfile.ErrFormat, or are errors of r.
//
// Reading a file executes nothing: the interpreter of the pickle supports only the opcodes that a tensor requires, and
// returns the call as text, which must be the one that rebuilds a tensor.
func Read(r io.ReaderAt, size int64) (File, error) {
	f, err := torchfile.Open(r, size)
	if err != nil {
		return File{}, err
	}
	expression, err := unpickle(f.Pickle)
	if err != nil {
		return File{}, err
	}
	l, key, bytes, err := tensorOf(expression)
	if err != nil {
		return File{}, err
	}
	offset, err := f.Storage(key, bytes)
	if err != nil {
		return File{}, err
	}
	return File{Layout: l, Offset: offset, Bytes: bytes}, nil
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
		return l, "", 0, fmt.Errorf("%w: the pickle is not that of a tensor: %.500q", torchfile.ErrFormat, expression)
	}
	class, key := m[1], m[2]
	var numbers [4][]int64 // elements of the storage, offset, shape and stride
	for i, list := range m[3:7] {
		if numbers[i], err = ints(list); err != nil {
			return l, "", 0, fmt.Errorf("%w: %w", torchfile.ErrFormat, err)
		}
	}
	elements := numbers[0][0]
	l = layout.Layout{Offset: numbers[1][0], Shape: numbers[2], Stride: numbers[3]}
	if l.DType = layout.OfStorage(class); class == "UntypedStorage" {
		l.DType = layout.DType(m[7])
	}
	if err := l.Validate(); err != nil {
		return l, "", 0, fmt.Errorf("%w: a %s: %w", torchfile.ErrFormat, class, err)
	}
	span, _ := l.Span() // valid
	size := l.DType.Size()
	if class == "UntypedStorage" {
		size = 1 // an untyped storage counts bytes
	}
	if elements > (1<<63-1)/size || elements*size < span {
		return l, "", 0, fmt.Errorf("%w: %s ends at byte %d of a storage of %d elements", torchfile.ErrFormat, l, span,
			elements)
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
