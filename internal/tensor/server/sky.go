package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// skyService is skytorch.torch.Service.
type skyService struct {
	skytorch.UnimplementedServiceServer
	server *Server
}

// update receives one tensor. Readers see it only after it is complete.
func (s *skyService) update(st grpc.ServerStream) error {
	id, v, c, err := s.takeTensor(st)
	if err != nil {
		return fail(err)
	}
	if err := s.server.put(id, v, c); err != nil {
		return fail(err)
	}
	return st.SendMsg(&skytorch.TensorResponse{Success: true})
}

// takeTensor receives a packed tensor into new content.
func (s *skyService) takeTensor(st grpc.ServerStream) (id uint64, v view, c *content, err error) {
	var chunk wire.SkyChunk
	if err := wire.Receive(st, &chunk); err != nil {
		if errors.Is(err, io.EOF) {
			err = wire.Errorf(wire.Truncated, "the stream ended before the first chunk")
		}
		return 0, v, nil, err
	}
	defer func() { chunk.Free() }()
	id = chunk.Fields.GetTensorId()
	if m := chunk.Fields.GetMetadata(); m != nil {
		if m.GetTensorId() != id && m.GetTensorId() != 0 {
			return 0, v, nil, wire.Errorf(wire.Mismatch, "metadata of tensor %d on a chunk of tensor %d",
				m.GetTensorId(), id)
		}
		m.TensorId = id
	}
	want, err := s.expected(id, chunk.Fields.GetMetadata())
	if err != nil {
		return 0, v, nil, err
	}
	l, size, err := describe(chunk.Fields, want)
	if err != nil {
		return 0, v, nil, err
	}
	seq := wire.NewSequence(s.server.options.TensorLimit)
	if err := seq.Expect(size); err != nil {
		return 0, v, nil, err
	}
	if err := s.server.store.ensureView(chunk.Fields.GetMetadata(), s.server.options.TensorLimit); err != nil {
		return 0, v, nil, err
	}
	v = view{layout: l, numbering: chunk.Numbering}
	c, err = newContent(s.server.store.budget)
	if err != nil {
		return 0, v, nil, err
	}
	if err := s.fill(st, &chunk, seq, c, l, size); err != nil {
		c.release()
		return 0, v, nil, err
	}
	if l.Fills(size) {
		return id, v, c, nil
	}
	packed, err := c.pack(l)
	c.release()
	v.layout = l.Packed()
	return id, v, packed, err
}

// expected returns the required layout of the data: the layout of the existing
// tensor, or of the metadata.
func (s *skyService) expected(id uint64, m *skytorch.TensorMetadata) (layout.Layout, error) {
	if v, ok := s.server.store.peek(id); ok {
		return v.layout.Packed(), nil
	}
	if m.GetDtype() == "" {
		return layout.Layout{}, nil
	}
	l := layoutOf(m)
	if err := l.Validate(); err != nil {
		return l, wire.Errorf(wire.Mismatch, "metadata: %v", err)
	}
	return l.Packed(), nil
}

func (s *skyService) fill(
	st grpc.ServerStream, chunk *wire.SkyChunk, seq *wire.Sequence, c *content, first layout.Layout, size int64,
) error {
	id := chunk.Fields.GetTensorId()
	for {
		if err := seq.Add(chunk.Piece()); err != nil {
			return err
		}
		s.server.metrics.received.Add(int64(chunk.Piece().Bytes))
		if err := c.grow(chunk.Data, size); err != nil {
			return err
		}
		chunk.Free()
		switch err := wire.Receive(st, chunk); {
		case errors.Is(err, io.EOF):
			return seq.End()
		case err != nil:
			return err
		}
		if err := repeats(chunk.Fields, id, first); err != nil {
			return err
		}
	}
}

// get sends one packed tensor.
func (s *skyService) get(st grpc.ServerStream) error {
	var req skytorch.GetTensorRequest
	if err := st.RecvMsg(&req); err != nil {
		return err
	}
	if m := req.GetMetadata(); m != nil {
		m.TensorId = req.GetTensorId()
		if err := s.server.store.ensure(m, s.server.options.TensorLimit); err != nil {
			return err
		}
	}
	v, c, err := s.server.store.get(req.GetTensorId())
	if err != nil {
		return err
	}
	defer c.release()
	want := layout.Layout{DType: dtype(req.GetDtype()), Shape: req.GetShape()}
	if want.DType != "" && !want.Same(v.layout) {
		return status.Errorf(codes.FailedPrecondition, "tensor %d is %s, but the request is for %s", req.GetTensorId(),
			v.layout, want)
	}
	return s.sendTensor(st, req.GetTensorId(), v, c)
}

func (s *skyService) sendTensor(st grpc.ServerStream, id uint64, v view, c *content) error {
	bytes, _ := v.layout.Bytes() // valid
	size := int64(s.server.options.ChunkSize)
	total := max((bytes+size-1)/size, 1)
	next := uint32(0)
	return c.pieces(v.layout, size, func(data mem.BufferSlice) error {
		//nolint:gosec // at most 2^43 chunks
		chunk := &skytorch.TensorChunk{TensorId: id, ChunkNumber: next, TotalChunks: uint32(total)}
		if next == 0 {
			l := v.layout.Packed()
			chunk.Shape, chunk.Stride, chunk.Dtype = l.Shape, l.Strides(), string(l.DType)
			chunk.TotalBytes = uint64(bytes) //nolint:gosec // never negative
		}
		next++
		if err := st.SendMsg(&wire.SkyChunk{Fields: chunk, Numbering: v.numbering, Data: data}); err != nil {
			return err
		}
		s.server.metrics.sent.Add(int64(data.Len()))
		return nil
	})
}

// CopyTensor copies a tensor, or bytes of its storage, to another tensor.
func (s *skyService) CopyTensor(
	ctx context.Context, req *skytorch.CopyTensorRequest,
) (*skytorch.TensorResponse, error) {
	if m := req.GetSrcMetadata(); m != nil {
		m.TensorId = req.GetSrcTensorId()
	}
	if m := req.GetDstMetadata(); m != nil {
		m.TensorId = req.GetDstTensorId()
	}
	// The destination may be a view of the source.
	for _, m := range []*skytorch.TensorMetadata{req.GetSrcMetadata(), req.GetDstMetadata()} {
		if err := s.server.store.ensure(m, s.server.options.TensorLimit); err != nil {
			return nil, err
		}
	}
	if err := s.server.copy(ctx, req); err != nil {
		return nil, fail(err)
	}
	return &skytorch.TensorResponse{Success: true}, nil
}

// DeleteTensors deletes tensors.
func (s *skyService) DeleteTensors(
	_ context.Context, req *skytorch.DeleteTensorsRequest,
) (*skytorch.TensorResponse, error) {
	return &skytorch.TensorResponse{Success: true, Message: fmt.Sprintf("deleted %d tensors",
		s.server.store.delete(req.GetTensorIds()))}, nil
}
