package tensor

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"google.golang.org/grpc"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Upload writes a tensor to a SkyTorch server. It reads the packed elements from
// data, exactly as many bytes as the layout has. The server creates the tensor if
// it does not exist.
func (c *Client) Upload(ctx context.Context, id uint64, l layout.Layout, data io.Reader) error {
	l = l.Packed()
	size, err := packedSize(l)
	if err != nil {
		return c.failed(ctx, "upload", strconv.FormatUint(id, 10), err)
	}
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "upload", strconv.FormatUint(id, 10), c.sendSky(t, id, l, size, data))
}

func packedSize(l layout.Layout) (int64, error) {
	if err := l.Validate(); err != nil {
		return 0, localError{err}
	}
	return l.Bytes()
}

func (c *Client) sendSky(t *transfer, id uint64, l layout.Layout, size int64, data io.Reader) error {
	source := readerSource{r: data, pool: c.pool}
	chunkSize := int64(c.options.ChunkSize)
	total := max((size+chunkSize-1)/chunkSize, 1)
	// A single chunk is sent with the end of the stream in one frame, like a unary call.
	desc := &grpc.StreamDesc{ClientStreams: total > 1}
	st, err := c.conn.NewStream(t.ctx, desc, skytorch.Service_UpdateTensor_FullMethodName)
	if err != nil {
		return err
	}
	for n := range total {
		//nolint:gosec // 2^32 chunks of 1 MiB
		fields := &skytorch.TensorChunk{TensorId: id, ChunkNumber: uint32(n), TotalChunks: uint32(total)}
		if n == 0 {
			describe(fields, l, size)
		}
		chunk := wire.SkyChunk{Fields: fields, Numbering: c.options.Numbering}
		if size > 0 {
			if chunk.Data, err = source.next(int(min(chunkSize, size-n*chunkSize))); err != nil {
				return err
			}
		}
		err := st.SendMsg(&chunk)
		chunk.Free()
		if errors.Is(err, io.EOF) {
			break // the server has ended the call; the status below states the reason
		}
		if err != nil {
			return err
		}
		t.progress()
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

// describe sets the fields of the first chunk. The metadata makes a SkyTorch server
// create the tensor.
func describe(chunk *skytorch.TensorChunk, l layout.Layout, size int64) {
	chunk.Shape, chunk.Stride, chunk.Dtype = l.Shape, l.Strides(), string(l.DType)
	chunk.TotalBytes = uint64(size) //nolint:gosec // never negative
	chunk.Metadata = &skytorch.TensorMetadata{
		TensorId: chunk.TensorId, Shape: l.Shape, Dtype: string(l.DType), Nbytes: size, DeviceType: "cpu",
		Stride: chunk.Stride,
	}
}

func succeeded(resp *skytorch.TensorResponse) error {
	if resp.GetSuccess() {
		return nil
	}
	return refusedError(printable.Foreign(resp.GetMessage()))
}

// Download reads a tensor from a SkyTorch server, and writes its packed elements to
// data. It returns the type and shape. If want is set, the tensor must have this
// type and shape. After an error, part of the data may have been written.
func (c *Client) Download(ctx context.Context, id uint64, want layout.Layout, data io.Writer) (layout.Layout, error) {
	t := c.transfer(ctx)
	defer t.end()
	l, err := c.receiveSky(t, id, want.Packed(), data)
	return l, c.failed(t.ctx, "download", strconv.FormatUint(id, 10), err)
}

func (c *Client) receiveSky(t *transfer, id uint64, want layout.Layout, data io.Writer) (layout.Layout, error) {
	st, err := c.conn.NewStream(t.ctx, &grpc.StreamDesc{ServerStreams: true}, skytorch.Service_GetTensor_FullMethodName)
	if err != nil {
		return want, err
	}
	err = st.SendMsg(&skytorch.GetTensorRequest{TensorId: id, Shape: want.Shape, Dtype: string(want.DType)})
	if err == nil {
		err = st.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return want, err
	}
	var chunk wire.SkyChunk
	defer func() { chunk.Free() }()
	if err := wire.Receive(st, &chunk); err != nil {
		if errors.Is(err, io.EOF) {
			err = wire.Errorf(wire.Truncated, "the stream ended before the first chunk")
		}
		return want, err
	}
	l, size, err := wire.Describe(chunk.Fields, want)
	if err != nil {
		return want, err
	}
	seq := wire.NewSequence(c.options.TensorLimit)
	if err := seq.Expect(size); err != nil {
		return want, err
	}
	if l.Fills(size) {
		return l.Packed(), pull(t, st, &chunk, seq, id, l, data)
	}
	var storage bytes.Buffer // contains the elements at the offset and strides of the layout
	if err := pull(t, st, &chunk, seq, id, l, &storage); err != nil {
		return want, err
	}
	return l.Packed(), l.Runs(func(off, n int64) error {
		_, err := data.Write(storage.Bytes()[off : off+n])
		return local(err)
	})
}

// pull receives all chunks after the first one.
func pull(
	t *transfer, st grpc.ClientStream, chunk *wire.SkyChunk, seq *wire.Sequence, id uint64, first layout.Layout,
	data io.Writer,
) error {
	for {
		if err := wire.Repeats(chunk.Fields, id, first); err != nil {
			return err
		}
		if err := seq.Add(chunk.Piece()); err != nil {
			return err
		}
		for _, buf := range chunk.Data {
			if _, err := data.Write(buf.ReadOnlyData()); err != nil {
				return local(err)
			}
		}
		chunk.Free()
		t.progress()
		switch err := wire.Receive(st, chunk); {
		case errors.Is(err, io.EOF):
			return seq.End()
		case err != nil:
			return err
		}
	}
}

func local(err error) error {
	if err == nil {
		return nil
	}
	return localError{err}
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
