package wire

import (
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto" // registers the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// MaxDims is the maximum number of dimensions of a tensor, which is that of PyTorch operations.
const MaxDims = 64

// Chunk is a message of a stream of tensors, whose data is separate from its other fields.
type Chunk[M Fields] struct {
	Fields M // without the data
	Data   mem.BufferSlice
	// Numbering is that of a SkyChunk, which is received in either numbering, and sent in this one.
	Numbering Numbering

	bad error
}

type (
	// SkyChunk is skytorch.torch.TensorChunk of proto/skytorch/torch/service.proto.
	SkyChunk = Chunk[*skytorch.TensorChunk]
	// KPUChunk is kpu.torch.TensorChunk of proto/kpu/torch/service.proto.
	KPUChunk = Chunk[*kputorch.TensorChunk]
)

// Fields is what the generated messages of both protocols have in common.
type Fields interface {
	proto.Message
	GetChunkNumber() uint32
	GetTotalChunks() uint32
}

// Free frees the data, so that the chunk can be reused.
func (c *Chunk[M]) Free() {
	c.Data.Free()
	*c = Chunk[M]{}
}

// Piece returns the position of the chunk in its sequence.
func (c *Chunk[M]) Piece() Piece {
	last, _ := any(c.Fields).(interface{ GetIsLast() bool })
	return Piece{Number: c.Fields.GetChunkNumber(), Total: c.Fields.GetTotalChunks(), Bytes: c.Data.Len(),
		Last: last != nil && last.GetIsLast()}
}

// Codec is the default codec of gRPC, except for chunks, whose data is not copied
// when a message is sent or received.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// message is a chunk of either protocol.
type message interface {
	marshal() (mem.BufferSlice, error)
	unmarshal(msg mem.BufferSlice)
	fault() error
}

// stream is either end of a gRPC stream.
type stream interface{ RecvMsg(m any) error }

// Receive receives a chunk, whose data the caller must free. It returns an *Error
// for a message that is not a chunk, and io.EOF at the end of the stream. All other
// errors are errors of gRPC.
func Receive(s stream, chunk message) error {
	if err := s.RecvMsg(chunk); err != nil {
		return err
	}
	return chunk.fault()
}

// Chunks receives the chunks of a stream until its end, or until the first error. The data of each chunk is freed
// before the next one is received.
func Chunks[M Fields](s stream) iter.Seq2[*Chunk[M], error] {
	return func(yield func(*Chunk[M], error) bool) {
		var chunk Chunk[M]
		defer func() { chunk.Free() }()
		for {
			chunk.Free()
			if err := Receive(s, &chunk); errors.Is(err, io.EOF) || !yield(&chunk, err) || err != nil {
				return
			}
		}
	}
}

// Name returns the content subtype, which is the one of the default codec.
func (Codec) Name() string { return protocodec.Name }

// Marshal encodes a message.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(message); ok {
		return m.marshal()
	}
	return encoding.GetCodecV2(protocodec.Name).Marshal(v)
}

// Unmarshal decodes a message. Receive returns the errors of chunks, because gRPC
// would convert an error to text.
func (Codec) Unmarshal(msg mem.BufferSlice, v any) error {
	if m, ok := v.(message); ok {
		m.unmarshal(msg)
		return nil
	}
	return encoding.GetCodecV2(protocodec.Name).Unmarshal(msg, v)
}

// marshal encodes a chunk, with its data at the end. Fields may have any order
// (https://protobuf.dev/programming-guides/encoding/#order).
func (c *Chunk[M]) marshal() (mem.BufferSlice, error) {
	head, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 0, 256), c.Fields)
	if err != nil {
		return nil, Errorf(Malformed, "%v", err)
	}
	if c.Numbering == From7 {
		head = renumber(head, from7Shift)
	}
	if n := c.Data.Len(); n > 0 {
		head = protowire.AppendTag(head, dataNumber, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(n))
	}
	c.Data.Ref() // gRPC frees its reference after sending; the sender frees its own
	return append(append(make(mem.BufferSlice, 0, 1+len(c.Data)), mem.SliceBuffer(head)), c.Data...), nil
}

func (c *Chunk[M]) unmarshal(msg mem.BufferSlice) {
	encoded, data, err := split(msg)
	decoded := Chunk[M]{Data: data}
	decoded.Fields, _ = c.Fields.ProtoReflect().New().Interface().(M)
	sky, isSky := any(decoded.Fields).(*skytorch.TensorChunk)
	if isSky && numberingOf(encoded) == From7 {
		decoded.Numbering, encoded = From7, renumber(encoded, -from7Shift)
	}
	if err == nil {
		if err = (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(encoded, decoded.Fields); err != nil {
			err = Errorf(Malformed, "%v", err)
		}
	}
	if err == nil && max(len(sky.GetShape()), len(sky.GetStride())) > MaxDims {
		err = Errorf(Limit, "more than %d dimensions", MaxDims)
	}
	if *c = decoded; err != nil {
		c.Free()
		c.bad = err
	}
}

func (c *Chunk[M]) fault() error { return c.bad }
