package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/grpc"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// file is a tensor as a torch.save file.
type file struct {
	id     string
	layout layout.Layout
	size   int64
	chunks int64
	data   readerSource
}

func (c *Client) file(id string, l layout.Layout, data io.Reader) (file, error) {
	e, err := torchfile.NewEncoder(l)
	if err != nil {
		return file{}, localError{err}
	}
	chunkSize := int64(c.options.ChunkSize)
	return file{
		id: id, layout: l, size: e.Size(), chunks: (e.Size() + chunkSize - 1) / chunkSize,
		data: readerSource{r: e.File(data), pool: c.pool},
	}, nil
}

// push sends the chunks of a file. It returns io.EOF if the server ended the call in
// the meantime.
func (c *Client) push(t *transfer, st grpc.ClientStream, f file) error {
	size := int64(c.options.ChunkSize)
	for n := range f.chunks {
		//nolint:gosec // 2^32 chunks of 1 MiB
		fields := &kputorch.TensorChunk{TensorId: f.id, ChunkNumber: uint32(n), TotalChunks: uint32(f.chunks),
			IsLast: n+1 == f.chunks}
		if n == 0 {
			fields.Metadata = fileMetadata(f.layout, f.size)
		}
		data, err := f.data.next(int(min(size, f.size-n*size)))
		if err != nil {
			return err
		}
		chunk := wire.KPUChunk{Fields: fields, Data: data}
		err = st.SendMsg(&chunk)
		chunk.Free()
		if err != nil {
			return err
		}
		t.progress()
	}
	return nil
}

// fileMetadata returns the metadata that KPU adds to the first chunk, in its format.
func fileMetadata(l layout.Layout, size int64) map[string]string {
	return map[string]string{
		"shape": strings.ReplaceAll(fmt.Sprint(l.Shape), " ", ", "), "dtype": string(l.DType), "device": "cpu",
		"size_bytes": strconv.FormatInt(size, 10),
	}
}

// Echo sends a tensor to a KPU server, which returns it. It reads the packed elements
// from data, exactly as many bytes as the layout has, and writes the returned
// torch.save file to returned. The server may return it with another ID.
func (c *Client) Echo(
	ctx context.Context, id string, l layout.Layout, data io.Reader, returned io.Writer,
) error {
	f, err := c.file(id, l, data)
	if err != nil {
		return c.failed(ctx, "echo", id, err)
	}
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "echo", id, c.echo(t, f, returned))
}

func (c *Client) echo(t *transfer, f file, returned io.Writer) error {
	// A single chunk is sent with the end of the stream in one frame, like a unary call.
	desc := &grpc.StreamDesc{ClientStreams: f.chunks != 1, ServerStreams: true}
	st, err := c.conn.NewStream(t.ctx, desc, kputorch.Service_StreamTensors_FullMethodName)
	if err != nil {
		return err
	}
	if f.chunks > 1 {
		return c.exchange(t, st, f, returned)
	}
	// gRPC never waits with the first chunk, whatever its size, for the server to read it.
	if err = c.push(t, st, f); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return c.pullFile(t, st, returned)
}

// exchange sends a file and receives it at the same time, because the server returns the first chunks before it has
// received the last ones.
func (c *Client) exchange(t *transfer, st grpc.ClientStream, f file, returned io.Writer) error {
	pushed := make(chan error, 1)
	go func() {
		err := c.push(t, st, f)
		if err == nil {
			err = st.CloseSend()
		} else if !errors.Is(err, io.EOF) {
			t.cancel(err) // the server will not return anything more
		}
		pushed <- err
	}()
	err := c.pullFile(t, st, returned)
	if err != nil {
		t.cancel(err)
	}
	if sent := <-pushed; sent != nil && !errors.Is(sent, io.EOF) {
		if _, ok := errors.AsType[localError](sent); ok || err == nil {
			return sent
		}
	}
	return err
}

// pullFile receives one tensor, after which the stream must end.
func (c *Client) pullFile(t *transfer, st grpc.ClientStream, returned io.Writer) error {
	var id string
	var seq *wire.Sequence // nil before the first chunk
	var chunk wire.KPUChunk
	defer func() { chunk.Free() }()
	for {
		chunk.Free()
		switch err := wire.Receive(st, &chunk); {
		case errors.Is(err, io.EOF) && seq == nil:
			return wire.Errorf(wire.Truncated, "0 of 1 tensors were returned")
		case errors.Is(err, io.EOF):
			return inTensor(id, seq.End())
		case err != nil:
			return err
		}
		t.progress()
		if seq == nil {
			var err error
			if seq, _, err = wire.FileSequence(chunk.Fields, c.options.TensorLimit); err != nil {
				return err
			}
			id = chunk.Fields.GetTensorId()
		}
		if chunk.Fields.GetTensorId() != id || seq.Done() {
			return wire.Errorf(wire.Limit, "more tensors than requested; at most 1 are accepted")
		}
		if err := seq.Add(chunk.Piece()); err != nil {
			return inTensor(id, err)
		}
		for _, buf := range chunk.Data {
			if _, err := returned.Write(buf.ReadOnlyData()); err != nil {
				return local(err)
			}
		}
	}
}

func inTensor(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tensor %.80q: %w", id, err)
}
