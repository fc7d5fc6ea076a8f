package wire

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec of all other messages
	"google.golang.org/grpc/mem"
)

// Codec is the default codec of gRPC, except for chunks, whose data is not copied
// when a message is sent or received.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

type message interface {
	marshal() ([]byte, mem.BufferSlice)
	unmarshal(mem.BufferSlice) error
	refuse(error)
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

// Name returns the content subtype, which is the one of the default codec.
func (Codec) Name() string { return proto.Name }

// Marshal encodes the small fields of a chunk before its data. Fields may have any
// order (https://protobuf.dev/programming-guides/encoding/#order).
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(message)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Marshal(v)
	}
	head, data := m.marshal()
	data.Ref() // gRPC frees its reference after sending; the sender frees its own
	return append(mem.BufferSlice{mem.SliceBuffer(head)}, data...), nil
}

// Unmarshal decodes a chunk. Receive returns errors of the decoding, because gRPC
// would convert an error to text.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(message)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(data, v)
	}
	if err := m.unmarshal(data); err != nil {
		m.refuse(err)
	}
	return nil
}
