package server

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
)

// put sets the content of a tensor to packed content, which it takes ownership of.
// It creates the tensor if it does not exist.
func (s *Server) put(id uint64, v view, c *content) error {
	old, ok := s.store.peek(id)
	if !ok {
		s.store.add(id, v, c)
		s.store.speaks(id, v.numbering)
		return nil
	}
	if !old.layout.Same(v.layout) { // created while the data was being received
		c.release()
		return status.Errorf(codes.Aborted, "tensor %d was changed to %s while %s was being sent", id, old.layout,
			v.layout)
	}
	s.store.speaks(id, v.numbering)
	defer c.release()
	return s.replace(old, c)
}

// replace writes packed content to a tensor, and thereby to all tensors that share
// its storage.
func (s *Server) replace(v view, c *content) error {
	v.storage.write.Lock()
	defer v.storage.write.Unlock()
	now := s.store.current(v.storage)
	if now == nil {
		return nil // deleted in the meantime
	}
	defer now.release()
	if v.layout.Fills(now.size) && c.size == now.size {
		s.store.swap(v.storage, c.acquire())
		return nil
	}
	next, err := now.clone()
	if err != nil {
		return err
	}
	at := int64(0)
	err = v.layout.Runs(func(off, n int64) error {
		at += n
		return next.overwrite(off, c, at-n, n)
	})
	if err != nil {
		next.release()
		return err
	}
	s.store.swap(v.storage, next)
	return nil
}

func (s *Server) copy(ctx context.Context, req *skytorch.CopyTensorRequest) error {
	src, from, err := s.store.get(req.GetSrcTensorId())
	if err != nil {
		return err
	}
	defer from.release()
	dst, to, err := s.store.get(req.GetDstTensorId())
	if err != nil {
		return err
	}
	to.release()
	if err := ctx.Err(); err != nil {
		return err
	}
	if req.GetNumBytes() > 0 || req.GetSrcOffset() != 0 || req.GetDstOffset() != 0 {
		return s.copyBytes(req, from, dst.storage)
	}
	if !src.layout.Same(dst.layout) {
		return status.Errorf(codes.InvalidArgument, "tensor %d is %s, but tensor %d is %s: type and shape must be "+
			"equal",
			req.GetSrcTensorId(), src.layout, req.GetDstTensorId(), dst.layout)
	}
	if src.layout.Fills(from.size) {
		return s.replace(dst, from) // shared until one of the tensors is written
	}
	packed, err := from.pack(src.layout)
	if err != nil {
		return err
	}
	defer packed.release()
	return s.replace(dst, packed)
}

// copyBytes copies a range between storages, or everything up to the end of the
// source if the request has no size.
func (s *Server) copyBytes(req *skytorch.CopyTensorRequest, from *content, dst *storage) error {
	n := req.GetNumBytes()
	if n <= 0 {
		n = from.size - req.GetSrcOffset()
	}
	inside := func(off, size int64) bool { return off >= 0 && n >= 0 && off <= size && n <= size-off }
	dst.write.Lock()
	defer dst.write.Unlock()
	now := s.store.current(dst)
	if now == nil {
		return nil
	}
	defer now.release()
	if !inside(req.GetSrcOffset(), from.size) || !inside(req.GetDstOffset(), now.size) {
		return status.Errorf(codes.OutOfRange, "%d bytes from %d of %d to %d of %d",
			n, req.GetSrcOffset(), from.size, req.GetDstOffset(), now.size)
	}
	next, err := now.clone()
	if err != nil {
		return err
	}
	if err := next.overwrite(req.GetDstOffset(), from, req.GetSrcOffset(), n); err != nil {
		next.release()
		return err
	}
	s.store.swap(dst, next)
	return nil
}

// pack returns the elements of a valid layout as separate content.
func (c *content) pack(l layout.Layout) (*content, error) {
	size, _ := l.Bytes() // valid
	out, err := newContent(c.budget)
	if err != nil {
		return nil, err
	}
	err = l.Runs(func(off, n int64) error {
		return c.spans(off, n, func(p []byte) error { return out.write(p, size) })
	})
	if err != nil {
		out.release()
		return nil, err
	}
	return out, nil
}

// pieces calls f with the packed elements of a valid layout, in pieces of size bytes. For
// an empty tensor, it calls f once without data. Contiguous elements are not copied.
// f must not retain the data.
func (c *content) pieces(l layout.Layout, size int64, f func(mem.BufferSlice) error) error {
	total, _ := l.Bytes() // valid
	if total == 0 {
		return f(nil)
	}
	if l.Contiguous() {
		for at, end := l.Offset*l.DType.Size(), l.Offset*l.DType.Size()+total; at < end; at += size {
			data := c.slice(at, min(size, end-at))
			err := f(data)
			data.Free()
			if err != nil {
				return err
			}
		}
		return nil
	}
	piece := make([]byte, 0, min(size, total))
	flush := func() error {
		err := f(mem.BufferSlice{mem.SliceBuffer(piece)})
		total -= int64(len(piece))
		piece = make([]byte, 0, min(size, total)) // the previous piece may still be in use by gRPC
		return err
	}
	return l.Runs(func(off, n int64) error {
		for n > 0 {
			part := min(n, int64(cap(piece)-len(piece)))
			if err := c.spans(off, part, func(p []byte) error { piece = append(piece, p...); return nil }); err != nil {
				return err
			}
			off, n = off+part, n-part
			if len(piece) == cap(piece) {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
