package server

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/tensorfile"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// kpuService is kpu.torch.Service.
type kpuService struct {
	kputorch.UnimplementedServiceServer
	server *Server
}

// arriving is a file of which not all chunks are received.
type arriving struct {
	seq      *wire.Sequence
	metadata map[string]string
	size     int64 // -1 while unknown
	content  *content
}

// maxArriving is the maximum number of incomplete tensors of one stream.
const maxArriving = 64

// receive receives any number of tensors, whose chunks may be interleaved.
func (s *kpuService) receive(st grpc.ServerStream) error {
	open := map[string]*arriving{}
	defer func() {
		for _, a := range open {
			a.content.release()
		}
	}()
	response := &kputorch.TensorResponse{Success: true}
	for chunk, err := range wire.Chunks[*kputorch.TensorChunk](st) {
		if err != nil {
			return fail(err)
		}
		a, err := s.begin(open, chunk)
		if err != nil {
			return fail(err)
		}
		if err := s.take(a, chunk); err != nil {
			return fail(err)
		}
		if a.seq.Done() {
			if err := s.keep(open, chunk.Fields.GetTensorId(), response); err != nil {
				return fail(err)
			}
		}
	}
	if err := s.finish(open, response); err != nil {
		return fail(err)
	}
	response.Message = fmt.Sprintf("received %d tensors", len(response.ReceivedTensorIds))
	return st.SendMsg(response)
}

func (s *kpuService) begin(open map[string]*arriving, chunk *wire.KPUChunk) (*arriving, error) {
	if a := open[chunk.Fields.GetTensorId()]; a != nil {
		return a, nil
	}
	seq, size, err := s.sequence(len(open), chunk)
	if err != nil {
		return nil, err
	}
	s.server.store.makeRoom(overhead)
	c, err := newContent(s.server.store.budget)
	if err != nil {
		return nil, err
	}
	a := &arriving{seq: seq, metadata: chunk.Fields.GetMetadata(), size: size, content: c}
	open[chunk.Fields.GetTensorId()] = a
	return a, nil
}

// sequence returns the sequence of a new tensor, and the announced size, on a stream with other incomplete tensors.
func (s *kpuService) sequence(incomplete int, first *wire.KPUChunk) (*wire.Sequence, int64, error) {
	if incomplete >= maxArriving {
		return nil, 0, wire.Errorf(wire.Limit, "more than %d incomplete tensors on one stream", maxArriving)
	}
	seq := wire.NewSequence(s.server.options.TensorLimit)
	size, err := seq.ExpectFile(first.Fields)
	return seq, size, err
}

func (s *kpuService) take(a *arriving, chunk *wire.KPUChunk) error {
	if err := a.seq.Add(chunk.Piece()); err != nil {
		return fmt.Errorf("tensor %.80q: %w", chunk.Fields.GetTensorId(), err)
	}
	n := int64(chunk.Data.Len())
	s.server.metrics.received.Add(n)
	s.server.store.makeRoom(n + blockSize)
	return a.content.grow(chunk.Data, a.size)
}

// finish completes tensors whose sender did not announce their size.
func (s *kpuService) finish(open map[string]*arriving, response *kputorch.TensorResponse) error {
	for id, a := range open {
		if err := a.seq.End(); err != nil {
			return fmt.Errorf("tensor %.80q: %w", id, err)
		}
		if err := s.keep(open, id, response); err != nil {
			return err
		}
	}
	return nil
}

// keep checks a complete file and stores it. A file that does not contain one tensor
// is stored unchanged, because PyTorch supports more formats than this package.
func (s *kpuService) keep(open map[string]*arriving, id string, response *kputorch.TensorResponse) error {
	a := open[id]
	f, err := tensorfile.Read(a.content, a.content.size)
	if err != nil && a.metadata["dtype"] != "" || errors.Is(err, torchfile.ErrArchive) {
		return wire.Errorf(wire.Malformed, "tensor %.80q: %v", id, err)
	}
	if err == nil {
		if err := agrees(f.Layout, a.metadata); err != nil {
			return wire.Errorf(wire.Mismatch, "tensor %.80q: %v", id, err)
		}
	}
	delete(open, id)
	s.server.store.addFile(id, a.content)
	response.ReceivedTensorIds = append(response.ReceivedTensorIds, id)
	return nil
}

// agrees compares the tensor with its description in the first chunk.
func agrees(l layout.Layout, metadata map[string]string) error {
	if d := metadata["dtype"]; d != "" && d != string(l.DType) {
		return fmt.Errorf("the dtype is %.40q in the first chunk, but %s in the file", d, l.DType)
	}
	text := metadata["shape"]
	if text == "" {
		return nil
	}
	shape, err := parseShape(text)
	if err != nil {
		return err
	}
	if said := (layout.Layout{DType: l.DType, Shape: shape}); !said.Same(l) {
		return fmt.Errorf("the shape is %v in the first chunk, but %v in the file", shape, l.Shape)
	}
	return nil
}

// parseShape parses "[2, 3]", "(2, 3)", "torch.Size([2, 3])" and "2,3".
func parseShape(text string) ([]int64, error) {
	inner := strings.Trim(strings.TrimPrefix(strings.TrimSpace(text), "torch.Size"), "[]() ")
	var shape []int64
	for part := range strings.SplitSeq(inner, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 || len(shape) >= wire.MaxDims {
			return nil, fmt.Errorf("invalid shape %.80q", text)
		}
		shape = append(shape, n)
	}
	return shape, nil
}

// echo returns each chunk unchanged after checking its sequence.
func (s *kpuService) echo(st grpc.ServerStream) error {
	open := map[string]*wire.Sequence{}
	for chunk, err := range wire.Chunks[*kputorch.TensorChunk](st) {
		if err != nil {
			return fail(err)
		}
		if err := s.pass(open, chunk); err != nil {
			return fail(fmt.Errorf("tensor %.80q: %w", chunk.Fields.GetTensorId(), err))
		}
		n := int64(chunk.Data.Len())
		s.server.metrics.received.Add(n)
		if err := st.SendMsg(chunk); err != nil {
			return err
		}
		s.server.metrics.sent.Add(n)
	}
	for id, seq := range open {
		if err := seq.End(); err != nil {
			return fail(fmt.Errorf("tensor %.80q: %w", id, err))
		}
	}
	return nil
}

func (s *kpuService) pass(open map[string]*wire.Sequence, chunk *wire.KPUChunk) error {
	seq := open[chunk.Fields.GetTensorId()]
	if seq == nil {
		var err error
		if seq, _, err = s.sequence(len(open), chunk); err != nil {
			return err
		}
		open[chunk.Fields.GetTensorId()] = seq
	}
	if err := seq.Add(chunk.Piece()); err != nil {
		return err
	}
	if seq.Done() {
		delete(open, chunk.Fields.GetTensorId())
	}
	return nil
}

// send sends tensors: the one with the ID in the parameter tensor_id, or random
// tensors of the requested shape (10,10 by default), like KPU.
func (s *kpuService) send(st grpc.ServerStream) error {
	var req kputorch.TensorRequest
	if err := st.RecvMsg(&req); err != nil {
		return err
	}
	count := max(req.GetCount(), 1)
	if id := req.GetParameters()["tensor_id"]; id != "" {
		c, err := s.server.store.file(id)
		if err != nil {
			return err
		}
		defer c.release()
		return s.sendFile(st, id, c, nil)
	}
	shape := []int64{10, 10}
	if text := req.GetParameters()["shape"]; text != "" {
		var err error
		if shape, err = parseShape(text); err != nil {
			return status.Errorf(codes.InvalidArgument, "parameters: %v; use a shape such as \"20,20\"", err)
		}
	}
	for range count {
		if err := s.sendRandom(st, layout.Of(layout.Float32, shape...)); err != nil {
			return err
		}
	}
	return nil
}

// sendRandom generates a tensor of numbers from 0 to 1 and sends it. The tensor
// counts against the memory limit only while it is sent.
func (s *kpuService) sendRandom(st grpc.ServerStream, l layout.Layout) error {
	if err := l.Validate(); err != nil {
		return status.Errorf(codes.InvalidArgument, "parameters: %v", err)
	}
	size, _ := l.Bytes() // valid
	var e *torchfile.Encoder
	if size <= s.server.options.TensorLimit { // the encoder takes time in proportion to the size
		var err error
		if e, err = tensorfile.NewEncoder(l); err != nil {
			return status.Errorf(codes.InvalidArgument, "parameters: %v", err)
		}
		size = e.Size()
	}
	if size > s.server.options.TensorLimit {
		return status.Errorf(codes.ResourceExhausted, "%s requires %d bytes, but a tensor can have at most %d", l, size,
			s.server.options.TensorLimit)
	}
	s.server.store.makeRoom(e.Size() + overhead)
	c, err := newContent(s.server.store.budget)
	if err != nil {
		return err
	}
	defer c.release()
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // test data, not a secret
	if _, err := io.Copy(growing{c, e.Size()}, e.File(uniform{random})); err != nil {
		return fail(err)
	}
	id := fmt.Sprintf("%016x", rand.Uint64()) //nolint:gosec // an ID, not a secret
	return s.sendFile(st, id, c, map[string]string{
		"shape": strings.ReplaceAll(fmt.Sprint(l.Shape), " ", ", "), "dtype": string(l.DType), "device": "cpu",
	})
}

func (s *kpuService) sendFile(st grpc.ServerStream, id string, c *content, metadata map[string]string) error {
	size := int64(s.server.options.ChunkSize)
	total := uint32(max((c.size+size-1)/size, 1)) //nolint:gosec // at most 2^43 chunks
	next := uint32(0)
	return c.pieces(layout.Of(layout.UInt8, c.size), size, func(data mem.BufferSlice) error {
		chunk := &kputorch.TensorChunk{TensorId: id, ChunkNumber: next, TotalChunks: total, IsLast: next+1 == total}
		if next == 0 {
			chunk.Metadata = map[string]string{"size_bytes": strconv.FormatInt(c.size, 10)}
			maps.Copy(chunk.Metadata, metadata)
		}
		next++
		if err := st.SendMsg(&wire.KPUChunk{Fields: chunk, Data: data}); err != nil {
			return err
		}
		s.server.metrics.sent.Add(int64(data.Len()))
		return nil
	})
}
