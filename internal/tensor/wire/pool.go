package wire

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// Pool keeps buffers of one size for their next use, until the garbage
// collector comes. Unlike gRPC's own it does not clear them: whoever takes one
// overwrites it. Other sizes are made anew.
type Pool struct {
	size int
	pool sync.Pool
}

var _ mem.BufferPool = (*Pool)(nil)

// NewPool returns a pool of buffers of that many bytes.
func NewPool(size int) *Pool { return &Pool{size: size} }

// Get returns a buffer of that length, with whatever it had in it.
func (p *Pool) Get(length int) *[]byte {
	if length == p.size {
		if buf, ok := p.pool.Get().(*[]byte); ok {
			return buf
		}
	}
	buf := make([]byte, length)
	return &buf
}

// Put takes a buffer back.
func (p *Pool) Put(buf *[]byte) {
	if *buf = (*buf)[:cap(*buf)]; len(*buf) == p.size {
		p.pool.Put(buf)
	}
}
