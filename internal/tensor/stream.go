package tensor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

var errStalled = errors.New("no progress")

// transfer is a stream that is cancelled when it makes no progress.
type transfer struct {
	ctx    context.Context //nolint:containedctx // context of the stream, for classify
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func (c *Client) transfer(ctx context.Context) *transfer {
	ctx, cancel := context.WithCancelCause(c.outgoing(ctx))
	t := &transfer{ctx: ctx, cancel: cancel, limit: c.options.StallTimeout}
	t.timer = time.AfterFunc(t.limit, func() {
		cancel(fmt.Errorf("%w for %s", errStalled, t.limit))
	})
	return t
}

func (t *transfer) progress() { t.timer.Reset(t.limit) }

func (t *transfer) end() {
	t.timer.Stop()
	t.cancel(nil)
}

// source is data that is sent in chunks.
type source struct {
	data  io.Reader
	size  int64 // bytes
	chunk int64 // bytes of each chunk except the last one
}

// chunks returns the number of chunks, which is 1 without data.
func (s source) chunks() int64 { return max((s.size+s.chunk-1)/s.chunk, 1) }

// send sends the chunks of a source. newChunk returns a chunk with this data, which is freed when it was sent. send
// returns io.EOF if the server ended the call in the meantime.
func (t *transfer) send(
	st grpc.ClientStream, s source, newChunk func(number, total uint32, data mem.BufferSlice) any,
) error {
	total := s.chunks()
	pool := mem.DefaultBufferPool()
	for n := range total {
		buf := pool.Get(int(min(s.chunk, s.size-n*s.chunk)))
		if _, err := io.ReadFull(s.data, *buf); err != nil {
			pool.Put(buf)
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return local(fmt.Errorf("the tensor's data: %w", err))
		}
		data := mem.BufferSlice{mem.NewBuffer(buf, pool)}
		err := st.SendMsg(newChunk(uint32(n), uint32(total), data)) //nolint:gosec // 2^32 chunks of 1 MiB
		data.Free()
		if err != nil {
			return err
		}
		t.progress()
	}
	return nil
}

// receive receives the chunks of one tensor, after which the stream must end, and writes their data to data. check
// checks the other fields of each chunk.
func receive[M wire.Fields](
	t *transfer, st grpc.ClientStream, seq *wire.Sequence, data io.Writer, check func(fields M) error,
) error {
	for chunk, err := range wire.Chunks[M](st) {
		if err != nil {
			return err
		}
		t.progress()
		if err := check(chunk.Fields); err != nil {
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
	}
	return seq.End()
}
