package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// dtype is the type of the elements of all tensors.
const dtype = "torch.uint8"

// Upload writes a tensor of bytes to a SkyTorch server. It reads exactly size bytes from data. The server creates the
// tensor if it does not exist.
func (c *Client) Upload(ctx context.Context, id uint64, size int64, data io.Reader) error {
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "upload", strconv.FormatUint(id, 10),
		c.upload(t, id, source{data: data, size: size, chunk: int64(c.options.ChunkSize)}))
}

func (c *Client) upload(t *transfer, id uint64, s source) error {
	if s.size < 0 {
		return local(fmt.Errorf("a tensor of %d bytes", s.size))
	}
	// A single chunk is sent with the end of the stream in one frame, like a unary call.
	desc := &grpc.StreamDesc{ClientStreams: s.chunks() > 1}
	st, err := c.conn.NewStream(t.ctx, desc, skytorch.Service_UpdateTensor_FullMethodName)
	if err != nil {
		return err
	}
	err = t.send(st, s, func(number, total uint32, data mem.BufferSlice) any {
		fields := &skytorch.TensorChunk{TensorId: id, ChunkNumber: number, TotalChunks: total}
		if number == 0 {
			fields.Shape, fields.Stride, fields.Dtype = []int64{s.size}, []int64{1}, dtype
			fields.TotalBytes = uint64(s.size)          //nolint:gosec // not negative
			fields.Metadata = &skytorch.TensorMetadata{ // makes the server create the tensor
				TensorId: id, Shape: fields.Shape, Dtype: dtype, Nbytes: s.size, DeviceType: "cpu",
				Stride: fields.Stride,
			}
		}
		return &wire.SkyChunk{Fields: fields, Numbering: c.options.Numbering, Data: data}
	})
	if err != nil && !errors.Is(err, io.EOF) { // after io.EOF, the status below states the reason
		return err
	}
	if err := st.CloseSend(); err != nil {
		return err
	}
	var resp skytorch.TensorResponse
	if err := st.RecvMsg(&resp); errors.Is(err, io.EOF) {
		return wire.Errorf(wire.Truncated, "the server ended the call without a response")
	} else if err != nil {
		return err
	}
	return succeeded(&resp)
}

func succeeded(resp *skytorch.TensorResponse) error {
	if resp.GetSuccess() {
		return nil
	}
	return &Error{Class: Refused, Err: fmt.Errorf("the server rejected the request: %.500s",
		printable.Foreign(resp.GetMessage()))}
}

// Download reads a tensor of bytes from a SkyTorch server, and writes it to data. The tensor must have this size. After
// an error, part of the data may have been written.
func (c *Client) Download(ctx context.Context, id uint64, size int64, data io.Writer) error {
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "download", strconv.FormatUint(id, 10), c.download(t, id, size, data))
}

func (c *Client) download(t *transfer, id uint64, size int64, data io.Writer) error {
	seq := wire.NewSequence(c.options.TensorLimit)
	if err := seq.Expect(size); err != nil {
		return err
	}
	st, err := c.conn.NewStream(t.ctx, &grpc.StreamDesc{ServerStreams: true}, skytorch.Service_GetTensor_FullMethodName)
	if err != nil {
		return err
	}
	err = st.SendMsg(&skytorch.GetTensorRequest{TensorId: id, Shape: []int64{size}, Dtype: dtype})
	if err == nil {
		err = st.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return receive(t, st, seq, data, func(chunk *skytorch.TensorChunk) error {
		if total := chunk.GetTotalBytes(); total != 0 {
			if err := seq.Expect(int64(min(total, math.MaxInt64))); err != nil {
				return err
			}
		}
		return describes(chunk, id, size)
	})
}

// describes checks that a chunk belongs to a tensor of bytes. Any field may be missing. Metadata counts if the chunk
// itself has no type.
//
// SkyTorch sends the packed elements, but with their offset in the original storage, which is therefore not checked.
func describes(chunk *skytorch.TensorChunk, id uint64, size int64) error {
	if chunk.GetTensorId() != id && chunk.GetTensorId() != 0 {
		return wire.Errorf(wire.Mismatch, "chunk %d belongs to tensor %d instead of tensor %d", chunk.GetChunkNumber(),
			chunk.GetTensorId(), id)
	}
	kind, shape, want := chunk.GetDtype(), chunk.GetShape(), []int64{size}
	if meta := chunk.GetMetadata(); kind == "" && meta.GetDtype() != "" {
		kind, shape = meta.GetDtype(), meta.GetShape()
	}
	if kind != "" && strings.TrimPrefix(kind, "torch.") != strings.TrimPrefix(dtype, "torch.") ||
		(kind != "" || len(shape) > 0) && !slices.Equal(shape, want) {
		return wire.Errorf(wire.Mismatch, "chunk %d has %.40q%v instead of %q%v", chunk.GetChunkNumber(), kind, shape,
			dtype, want)
	}
	if total := chunk.GetTotalBytes(); total != 0 && total != uint64(size) { //nolint:gosec // not negative
		return wire.Errorf(wire.Mismatch, "%d bytes for a tensor of %d", total, size)
	}
	if stride := chunk.GetStride(); size > 1 && len(stride) > 0 && !slices.Equal(stride, []int64{1}) {
		return wire.Errorf(wire.Mismatch, "the elements have stride %v", stride)
	}
	return nil
}

// Delete deletes tensors of the server. Tensors that do not exist are ignored.
func (c *Client) Delete(ctx context.Context, ids ...uint64) error {
	resp, err := skytorch.NewServiceClient(c.conn).DeleteTensors(c.outgoing(ctx),
		&skytorch.DeleteTensorsRequest{TensorIds: ids})
	if err == nil {
		err = succeeded(resp)
	}
	return c.failed(ctx, "delete", "", err)
}
