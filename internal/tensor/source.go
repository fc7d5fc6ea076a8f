package tensor

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/grpc/mem"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
)

// readerSource provides the bytes of a tensor in pieces of n bytes, which the caller must free. It reads into buffers
// that are reused after gRPC has sent them.
type readerSource struct {
	r    io.Reader
	pool mem.BufferPool
}

func (s *readerSource) next(n int) (mem.BufferSlice, error) {
	buf := s.pool.Get(n)
	if _, err := io.ReadFull(s.r, *buf); err != nil {
		s.pool.Put(buf)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, localError{fmt.Errorf("the tensor's data: %w", err)}
	}
	return mem.BufferSlice{mem.NewBuffer(buf, s.pool)}, nil
}

// fileSource provides the bytes of a torch.save file in the same way.
type fileSource struct {
	encoder *torchfile.Encoder
	data    readerSource
	left    int64 // of the data
	edge    []byte
	ended   bool
	crc     uint32
}

func newFileSource(e *torchfile.Encoder, data readerSource) *fileSource {
	return &fileSource{encoder: e, data: data, left: e.Data(), edge: e.Head()}
}

func (s *fileSource) next(n int) (mem.BufferSlice, error) {
	var out mem.BufferSlice
	for n > 0 {
		if len(s.edge) > 0 {
			part := min(n, len(s.edge))
			out = append(out, mem.SliceBuffer(s.edge[:part]))
			s.edge, n = s.edge[part:], n-part
			continue
		}
		if s.left == 0 {
			if s.ended {
				out.Free()
				return nil, localError{io.ErrUnexpectedEOF}
			}
			s.edge, s.ended = s.encoder.Tail(s.crc), true
			continue
		}
		part := int(min(int64(n), s.left))
		data, err := s.data.next(part)
		if err != nil {
			out.Free()
			return nil, err
		}
		for _, buf := range data {
			s.crc = crc32.Update(s.crc, crc32.IEEETable, buf.ReadOnlyData())
		}
		out = append(out, data...)
		s.left, n = s.left-int64(part), n-part
	}
	return out, nil
}
