package server

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// replay is a stream of the given messages.
type replay struct {
	grpc.ServerStream
	messages [][]byte
	sent     int
}

func (r *replay) Context() context.Context    { return context.Background() }
func (r *replay) SetHeader(metadata.MD) error { return nil }
func (r *replay) SendMsg(any) error           { r.sent++; return nil }
func (r *replay) RecvMsg(m any) error {
	if len(r.messages) == 0 {
		return io.EOF
	}
	next := r.messages[0]
	r.messages = r.messages[1:]
	return wire.Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(next)}, m)
}

// messages splits bytes into messages: a length, followed by that number of bytes.
func messages(raw []byte) [][]byte {
	var out [][]byte
	for len(raw) > 0 {
		n := min(int(raw[0]), len(raw)-1)
		out = append(out, raw[1:1+n])
		raw = raw[1+n:]
	}
	return out
}

// seed adds the messages of chunks, and returns them.
func seed(f *testing.F, chunks ...any) []byte {
	f.Helper()
	var raw []byte
	for _, c := range chunks {
		out, err := wire.Codec{}.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		message := out.Materialize()
		raw = append(append(raw, byte(len(message))), message...)
	}
	f.Add(raw)
	return raw
}

// allowed reports whether the code of an error describes invalid input of a client.
func allowed(err error) bool {
	switch status.Code(err) {
	case codes.OK, codes.InvalidArgument, codes.ResourceExhausted, codes.NotFound, codes.Aborted:
		return true
	default:
		return false
	}
}

func FuzzUpdateTensor(f *testing.F) {
	shape, one := []int64{2, 3}, uint64(1)
	seed(f, &skytorch.TensorChunk{TensorId: 1, TotalChunks: 2, Shape: shape, Dtype: "torch.int8", Data: []byte("abc"),
		TotalBytes: 6},
		&skytorch.TensorChunk{TensorId: 1, ChunkNumber: 1, Data: []byte("def")})
	seed(f, &skytorch.TensorChunk{TensorId: 2, Shape: shape, Stride: []int64{1, 2}, StorageOffset: 1,
		Dtype: "torch.int8", Data: []byte("abcdefg"), TotalBytes: 7})
	view := seed(f, &skytorch.TensorChunk{TensorId: one, TotalChunks: 1, Shape: shape, Dtype: "torch.int8",
		Data: []byte("abcdef"), TotalBytes: 6},
		&skytorch.TensorChunk{TensorId: 3, Dtype: "torch.int8", Shape: []int64{1}, Data: []byte("a"),
			Metadata: &skytorch.TensorMetadata{
				TensorId: 3, Dtype: "torch.int8", Shape: []int64{1}, StorageOffset: 2, TensorRef: &one,
			}})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := New(Options{MemoryLimit: 1 << 20})
		sky := &skyService{server: s}
		// Send each message twice: alone, and in one stream, so that later messages refer to existing tensors.
		all := messages(raw)
		for _, m := range all {
			if err := sky.update(&replay{messages: [][]byte{m}}); !allowed(err) {
				t.Errorf("%v", err)
			}
		}
		if err := sky.update(&replay{messages: all}); !allowed(err) {
			t.Errorf("%v", err)
		}
		if bytes.Equal(raw, view) && len(s.store.views) != 2 {
			t.Errorf("%d tensors are stored instead of a tensor and its view", len(s.store.views))
		}
		var ids []uint64
		for id, v := range s.store.views {
			ids = append(ids, id)
			c := v.storage.content
			if span, err := v.layout.Span(); err != nil || span > c.size {
				t.Errorf("tensor %d is %+v in %d bytes: %v", id, v.layout, c.size, err)
			}
			if err := sky.sendTensor(&replay{}, id, v, c); err != nil {
				t.Errorf("tensor %d: %v", id, err)
			}
		}
		s.store.delete(ids)
		if used := s.store.budget.used.Load(); used != 0 {
			t.Errorf("%d bytes are stored at the end", used)
		}
	})
}

func FuzzReceiveTensors(f *testing.F) {
	seed(f, &kputorch.TensorChunk{TensorId: "a", TotalChunks: 2, Metadata: map[string]string{"size_bytes": "6"},
		Data: []byte("abc")},
		&kputorch.TensorChunk{TensorId: "a", ChunkNumber: 1, TotalChunks: 2, IsLast: true, Data: []byte("def")})
	file := saved(f, layout.Of(layout.Float32, 2, 3))
	pieces := slices.Collect(slices.Chunk(file, 100)) // messages have at most 255 bytes
	var chunks []any
	for i, piece := range pieces {
		chunks = append(chunks, &kputorch.TensorChunk{TensorId: "a", ChunkNumber: uint32(i), Data: piece,
			TotalChunks: uint32(len(pieces)), IsLast: i == len(pieces)-1})
	}
	complete := seed(f, chunks...)
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := New(Options{MemoryLimit: 1 << 20})
		kpu := &kpuService{server: s}
		stream := &replay{messages: messages(raw)}
		if err := kpu.receive(stream); !allowed(err) || bytes.Equal(raw, complete) && stream.sent == 0 {
			t.Errorf("%v", err)
		}
		if err := kpu.echo(&replay{messages: messages(raw)}); !allowed(err) {
			t.Errorf("echo: %v", err)
		}
		s.store.makeRoom(1 << 40)
		if used := s.store.budget.used.Load(); used != 0 {
			t.Errorf("%d bytes are stored at the end", used)
		}
	})
}
