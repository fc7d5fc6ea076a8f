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

// Tensor is a tensor to send to a KPU server. Either Reader or Bytes provides its
// packed elements. Bytes must not change until the call has returned or, after a
// failed call, until the client is closed.
type Tensor struct {
	ID     string
	Layout layout.Layout
	Reader io.Reader
	Bytes  []byte
}

// Arrival is a tensor of which the first chunk was received from a KPU server.
type Arrival struct {
	ID       string
	Metadata map[string]string // as sent by the server
}

// Sink returns the writer for the torch.save file of a tensor.
type Sink func(Arrival) (io.Writer, error)

// file is a tensor as a torch.save file.
type file struct {
	tensor Tensor
	size   int64
	chunks int64
	data   source
}

// files returns the tensors as files, and the total number of their chunks.
func (c *Client) files(tensors []Tensor) (files []file, chunks int64, err error) {
	files = make([]file, len(tensors))
	for i, t := range tensors {
		e, err := torchfile.NewEncoder(t.Layout)
		if err != nil {
			return nil, 0, localError{err}
		}
		var data source = &bytesSource{t.Bytes}
		if t.Reader != nil {
			data = &readerSource{r: t.Reader, pool: c.pool}
		}
		chunkSize := int64(c.options.ChunkSize)
		files[i] = file{tensor: t, size: e.Size(), chunks: (e.Size() + chunkSize - 1) / chunkSize,
			data: newFileSource(e, data)}
		chunks += files[i].chunks
	}
	return files, chunks, nil
}

// Send sends tensors to a KPU server.
func (c *Client) Send(ctx context.Context, tensors ...Tensor) error {
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "send", names(tensors), c.sendAll(t, tensors))
}

func names(tensors []Tensor) string {
	var ids []string
	for _, t := range tensors {
		ids = append(ids, t.ID)
	}
	return strings.Join(ids, ", ")
}

func (c *Client) sendAll(t *transfer, tensors []Tensor) error {
	files, _, err := c.files(tensors)
	if err != nil {
		return err
	}
	st, err := c.conn.NewStream(t.ctx, &grpc.StreamDesc{ClientStreams: true},
		kputorch.Service_ReceiveTensors_FullMethodName)
	if err != nil {
		return err
	}
	if err := c.push(t, st, files); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var resp kputorch.TensorResponse
	if err := closeAndReceive(st, &resp); err != nil {
		return err
	}
	if err := succeeded(&resp); err != nil {
		return err
	}
	if n := len(resp.GetReceivedTensorIds()); n != len(tensors) {
		return wire.Errorf(wire.Truncated, "the server received %d of %d tensors", n, len(tensors))
	}
	return nil
}

// push sends the chunks of all files. It returns io.EOF if the server ended the
// call in the meantime.
func (c *Client) push(t *transfer, st grpc.ClientStream, files []file) error {
	for _, f := range files {
		size := int64(c.options.ChunkSize)
		for n := range f.chunks {
			//nolint:gosec // 2^32 chunks of 1 MiB
			chunk := wire.KPUChunk{ID: f.tensor.ID, Number: uint32(n), Total: uint32(f.chunks), Last: n+1 == f.chunks}
			if n == 0 {
				chunk.Metadata = fileMetadata(f.tensor.Layout, f.size)
			}
			var err error
			if chunk.Data, err = f.data.next(int(min(size, f.size-n*size))); err != nil {
				return err
			}
			err = st.SendMsg(&chunk)
			chunk.Free()
			if err != nil {
				return err
			}
			t.progress()
		}
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

// Request requests tensors from a KPU server, and returns the number of received
// tensors. KPU generates them with the shape in the parameter "shape", such as
// "20,20".
func (c *Client) Request(ctx context.Context, count uint32, parameters map[string]string, sink Sink) (int, error) {
	t := c.transfer(ctx)
	defer t.end()
	n, err := c.request(t, &kputorch.TensorRequest{Count: count, Parameters: parameters}, sink)
	return n, c.failed(t.ctx, "request", "", err)
}

func (c *Client) request(t *transfer, req *kputorch.TensorRequest, sink Sink) (int, error) {
	st, err := c.conn.NewStream(t.ctx, &grpc.StreamDesc{ServerStreams: true},
		kputorch.Service_SendTensors_FullMethodName)
	if err != nil {
		return 0, err
	}
	err = st.SendMsg(req)
	if err == nil {
		err = st.CloseSend()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return c.pullFiles(t, st, sink, int(req.GetCount()))
}

// Echo sends tensors to a KPU server, which returns them in the same order. The
// IDs of the returned tensors may differ.
func (c *Client) Echo(ctx context.Context, sink Sink, tensors ...Tensor) error {
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "echo", names(tensors), c.echo(t, sink, tensors))
}

func (c *Client) echo(t *transfer, sink Sink, tensors []Tensor) error {
	files, chunks, err := c.files(tensors)
	if err != nil {
		return err
	}
	// A single chunk is sent with the end of the stream in one frame, like a unary call.
	desc := &grpc.StreamDesc{ClientStreams: chunks != 1, ServerStreams: true}
	st, err := c.conn.NewStream(t.ctx, desc, kputorch.Service_StreamTensors_FullMethodName)
	if err != nil {
		return err
	}
	var n int
	if chunks == 1 {
		// gRPC never waits with the first chunk, whatever its size, for the server to read it.
		if err = c.push(t, st, files); err == nil || errors.Is(err, io.EOF) {
			n, err = c.pullFiles(t, st, sink, len(files))
		}
	} else {
		n, err = c.exchange(t, st, files, sink)
	}
	if err == nil && n != len(files) {
		err = wire.Errorf(wire.Truncated, "%d of %d tensors were returned", n, len(files))
	}
	return err
}

// exchange sends files and receives tensors at the same time, because the server returns the first chunks before it
// has received the last ones. It returns the number of received tensors.
func (c *Client) exchange(t *transfer, st grpc.ClientStream, files []file, sink Sink) (int, error) {
	pushed := make(chan error, 1)
	go func() {
		err := c.push(t, st, files)
		if err == nil {
			err = st.CloseSend()
		} else if !errors.Is(err, io.EOF) {
			t.cancel(err) // the server will not return anything more
		}
		pushed <- err
	}()
	n, err := c.pullFiles(t, st, sink, len(files))
	if err != nil {
		t.cancel(err)
	}
	if sent := <-pushed; sent != nil && !errors.Is(sent, io.EOF) {
		if _, ok := errors.AsType[localError](sent); ok || err == nil {
			return n, sent
		}
	}
	return n, err
}

// incoming is a file of which not all chunks are received.
type incoming struct {
	seq  *wire.Sequence
	data io.Writer
}

// maxIncoming is the maximum number of incomplete tensors.
const maxIncoming = 64

// pullFiles receives at most limit tensors until the stream ends, and returns their number.
func (c *Client) pullFiles(t *transfer, st grpc.ClientStream, sink Sink, limit int) (int, error) {
	open := map[string]incoming{}
	var chunk wire.KPUChunk
	defer func() { chunk.Free() }()
	for whole := 0; ; {
		chunk.Free()
		switch err := wire.Receive(st, &chunk); {
		case errors.Is(err, io.EOF):
			for id, in := range open {
				if err := in.seq.End(); err != nil {
					return whole, fmt.Errorf("tensor %.80q: %w", id, err)
				}
			}
			return whole + len(open), nil
		case err != nil:
			return whole, err
		}
		t.progress()
		in, err := c.incoming(open, &chunk, sink)
		if err != nil {
			return whole, err
		}
		if err := in.seq.Add(chunk.Piece()); err != nil {
			return whole, fmt.Errorf("tensor %.80q: %w", chunk.ID, err)
		}
		for _, buf := range chunk.Data {
			if _, err := in.data.Write(buf.ReadOnlyData()); err != nil {
				return whole, local(err)
			}
		}
		if whole+len(open) > limit {
			return whole, wire.Errorf(wire.Limit, "more tensors than requested; at most %d are accepted", limit)
		}
		if in.seq.Done() {
			delete(open, chunk.ID)
			whole++
		}
	}
}

func (c *Client) incoming(open map[string]incoming, chunk *wire.KPUChunk, sink Sink) (incoming, error) {
	if in, ok := open[chunk.ID]; ok {
		return in, nil
	}
	if len(open) >= maxIncoming {
		return incoming{}, wire.Errorf(wire.Limit, "more than %d incomplete tensors", maxIncoming)
	}
	in := incoming{seq: wire.NewSequence(c.options.TensorLimit)}
	if text := chunk.Metadata["size_bytes"]; text != "" {
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil || size < 0 {
			return in, wire.Errorf(wire.Malformed, "size_bytes is %.40q", text)
		}
		if err := in.seq.Expect(size); err != nil {
			return in, err
		}
	}
	var err error
	if in.data, err = sink(Arrival{ID: chunk.ID, Metadata: chunk.Metadata}); err != nil {
		return in, local(err)
	}
	open[chunk.ID] = in
	return in, nil
}
