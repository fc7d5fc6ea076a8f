package server

import (
	"fmt"
	"io"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// blockSize is the size of the blocks in which tensors are stored. A block is sent
// without copying, and announced but unsent data allocates no memory.
const blockSize = 1 << 20

// overhead is the accounted size of a tensor in addition to its data, so that empty tensors count, too.
const overhead = 1 << 10

// budget counts the bytes of all tensors.
type budget struct {
	used  atomic.Int64
	limit int64
	pool  *pool // of blocks
}

func (b *budget) reserve(n int64) error {
	if used := b.used.Add(n); used > b.limit {
		b.used.Add(-n)
		return status.Errorf(codes.ResourceExhausted,
			"the server stores %d bytes of tensors, but may store at most %d: delete tensors, or increase "+
				"-memory-limit", used-n, b.limit)
	}
	return nil
}

// content is the data of a storage. Its creator writes it once. After that it never
// changes, so that it can be sent without a lock.
type content struct {
	blocks [][]byte     // all of size blockSize except the last
	owned  []mem.Buffer // the same blocks with reference counts, for reuse after they are sent
	size   int64
	budget *budget
	charge int64
	refs   atomic.Int32
}

func newContent(b *budget) (*content, error) {
	if err := b.reserve(overhead); err != nil {
		return nil, err
	}
	c := &content{budget: b, charge: overhead}
	c.refs.Store(1)
	return c, nil
}

// zeros returns n zero bytes, for which all blocks are the same block.
func zeros(b *budget, n int64) (*content, error) {
	c, err := newContent(b)
	if err != nil {
		return nil, err
	}
	if err := c.take(n); err != nil {
		c.release()
		return nil, err
	}
	zero := make([]byte, min(n, blockSize))
	for c.size < n {
		part := min(n-c.size, blockSize)
		c.blocks = append(c.blocks, zero[:part])
		c.owned = append(c.owned, mem.SliceBuffer(zero[:part]))
		c.size += part
	}
	return c, nil
}

func (c *content) take(n int64) error {
	if err := c.budget.reserve(n); err != nil {
		return err
	}
	c.charge += n
	return nil
}

func (c *content) acquire() *content {
	c.refs.Add(1)
	return c
}

// release frees the data after the last reference is released.
func (c *content) release() {
	if c.refs.Add(-1) == 0 {
		for _, block := range c.owned {
			block.Free()
		}
		c.budget.used.Add(-c.charge)
	}
}

// grow appends data. want is the expected total size (-1 if unknown). This is the
// only copy of the data of a tensor.
func (c *content) grow(data mem.BufferSlice, want int64) error {
	for _, buf := range data {
		if err := c.write(buf.ReadOnlyData(), want); err != nil {
			return err
		}
	}
	return nil
}

func (c *content) write(p []byte, want int64) error {
	for len(p) > 0 {
		last := len(c.blocks) - 1
		if last < 0 || len(c.blocks[last]) == cap(c.blocks[last]) {
			if err := c.addBlock(want, len(p)); err != nil {
				return err
			}
			last = len(c.blocks) - 1
		}
		block := c.blocks[last]
		n := min(len(p), cap(block)-len(block))
		c.blocks[last] = append(block, p[:n]...)
		c.size += int64(n)
		p = p[n:]
	}
	return nil
}

// addBlock adds a block: of the expected size or, if that is unknown, of twice the
// size of the last one, up to a full block.
func (c *content) addBlock(want int64, due int) error {
	last := len(c.blocks) - 1
	if last < 0 || cap(c.blocks[last]) == blockSize {
		room := int64(min(max(due, 4<<10), blockSize))
		if want >= 0 {
			room = min(want-c.size, blockSize)
		}
		if err := c.take(room); err != nil {
			return err
		}
		buf := c.budget.pool.Get(int(room))
		c.blocks = append(c.blocks, (*buf)[:0:room])
		c.owned = append(c.owned, mem.NewBuffer(buf, c.budget.pool))
		return nil
	}
	old := c.blocks[last]
	room := min(2*cap(old), blockSize)
	if err := c.take(int64(room - cap(old))); err != nil {
		return err
	}
	buf := c.budget.pool.Get(room)
	c.blocks[last] = append((*buf)[:0:room], old...)
	c.owned[last].Free()
	c.owned[last] = mem.NewBuffer(buf, c.budget.pool)
	return nil
}

// slice returns a part of the content for sending without a copy. The caller must
// free it.
func (c *content) slice(off, n int64) mem.BufferSlice {
	var out mem.BufferSlice
	for n > 0 {
		start := int(off % blockSize)
		part := int(min(int64(len(c.blocks[off/blockSize])-start), n))
		out = append(out, c.owned[off/blockSize].Slice(start, start+part))
		off, n = off+int64(part), n-int64(part)
	}
	return out
}

// spans calls f with parts of the content, which f must not retain.
func (c *content) spans(off, n int64, f func([]byte) error) error {
	for n > 0 {
		block := c.blocks[off/blockSize][off%blockSize:]
		block = block[:min(int64(len(block)), n)]
		if err := f(block); err != nil {
			return err
		}
		off, n = off+int64(len(block)), n-int64(len(block))
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (c *content) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > c.size {
		return 0, fmt.Errorf("offset %d in content of %d bytes", off, c.size)
	}
	n := 0
	err := c.spans(off, min(int64(len(p)), c.size-off), func(part []byte) error {
		n += copy(p[n:], part)
		return nil
	})
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// clone returns a copy that may still be overwritten.
func (c *content) clone() (*content, error) {
	out, err := newContent(c.budget)
	if err != nil {
		return nil, err
	}
	if err := c.spans(0, c.size, func(p []byte) error { return out.write(p, c.size) }); err != nil {
		out.release()
		return nil, err
	}
	return out, nil
}

// overwrite copies n bytes of src to content that is not shared yet.
func (c *content) overwrite(off int64, src *content, from, n int64) error {
	return src.spans(from, n, func(p []byte) error {
		for len(p) > 0 {
			n := copy(c.blocks[off/blockSize][off%blockSize:], p)
			off, p = off+int64(n), p[n:]
		}
		return nil
	})
}
