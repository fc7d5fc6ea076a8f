package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/torchfile"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Echo sends a tensor of bytes to a KPU server, which returns it. It reads exactly size bytes from data, and writes the
// returned torch.save file to returned. The server may return it with another ID.
func (c *Client) Echo(ctx context.Context, id string, size int64, data io.Reader, returned io.Writer) error {
	t := c.transfer(ctx)
	defer t.end()
	return c.failed(t.ctx, "echo", id, c.echo(t, id, size, data, returned))
}

func (c *Client) echo(t *transfer, id string, size int64, data io.Reader, returned io.Writer) error {
	e, err := torchfile.NewEncoder(torchfile.PickleOfBytes(size), size)
	if err != nil {
		return local(err)
	}
	file := source{data: e.File(data), size: e.Size(), chunk: int64(c.options.ChunkSize)}
	// A single chunk is sent with the end of the stream in one frame, like a unary call.
	desc := &grpc.StreamDesc{ClientStreams: file.chunks() > 1, ServerStreams: true}
	st, err := c.conn.NewStream(t.ctx, desc, kputorch.Service_StreamTensors_FullMethodName)
	if err != nil {
		return err
	}
	push := func() error {
		return t.send(st, file, func(number, total uint32, data mem.BufferSlice) any {
			fields := &kputorch.TensorChunk{TensorId: id, ChunkNumber: number, TotalChunks: total,
				IsLast: number+1 == total}
			if number == 0 {
				fields.Metadata = map[string]string{"shape": fmt.Sprintf("[%d]", size), "dtype": dtype,
					"device": "cpu", "size_bytes": strconv.FormatInt(file.size, 10)}
			}
			return &wire.KPUChunk{Fields: fields, Data: data}
		})
	}
	if desc.ClientStreams {
		return c.exchange(t, st, push, returned)
	}
	// gRPC never waits with the first chunk, whatever its size, for the server to read it.
	if err = push(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return c.pull(t, st, returned)
}

// exchange sends a file and receives it at the same time, because the server returns the first chunks before it has
// received the last ones.
func (c *Client) exchange(t *transfer, st grpc.ClientStream, push func() error, returned io.Writer) error {
	pushed := make(chan error, 1)
	go func() {
		err := push()
		if err == nil {
			err = st.CloseSend()
		} else if !errors.Is(err, io.EOF) {
			t.cancel(err) // the server will not return anything more
		}
		pushed <- err
	}()
	err := c.pull(t, st, returned)
	if err != nil {
		t.cancel(err)
	}
	if sent := <-pushed; sent != nil && !errors.Is(sent, io.EOF) {
		if ClassOf(sent) == Local || err == nil {
			return sent
		}
	}
	return err
}

// pull receives one file.
func (c *Client) pull(t *transfer, st grpc.ClientStream, returned io.Writer) error {
	seq := wire.NewSequence(c.options.TensorLimit)
	var first *kputorch.TensorChunk
	return receive(t, st, seq, returned, func(chunk *kputorch.TensorChunk) error {
		if first == nil {
			first = chunk
			_, err := seq.ExpectFile(chunk)
			return err
		}
		if chunk.GetTensorId() != first.GetTensorId() || seq.Done() {
			return wire.Errorf(wire.Limit, "more tensors than requested; at most 1 are accepted")
		}
		return nil
	})
}
