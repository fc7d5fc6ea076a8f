package tensor

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/mem"
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
