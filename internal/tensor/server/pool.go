package server

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// pool reuses buffers of one size until the garbage collector frees them. Unlike
// the pool of gRPC, it does not clear them: the caller must overwrite them. Buffers
// of other sizes are not reused.
type pool struct {
	size int
	pool sync.Pool
}

var _ mem.BufferPool = (*pool)(nil)

// newPool returns a pool of buffers of the given size in bytes.
func newPool(size int) *pool { return &pool{size: size} }

// Get returns a buffer of the given length with undefined content.
func (p *pool) Get(length int) *[]byte {
	if length == p.size {
		if buf, ok := p.pool.Get().(*[]byte); ok {
			return buf
		}
	}
	buf := make([]byte, length)
	return &buf
}

// Put returns a buffer to the pool.
func (p *pool) Put(buf *[]byte) {
	if *buf = (*buf)[:cap(*buf)]; len(*buf) == p.size {
		p.pool.Put(buf)
	}
}
