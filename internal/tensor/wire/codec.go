package wire

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec of all other messages
	"google.golang.org/grpc/mem"
)

// Codec is gRPC's own codec, but for chunks: their data is neither copied
// into a message when it is sent, nor out of one when it is received.
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

// Receive receives a chunk, whose data the receiver has to free. A message
// that is no chunk is an *Error, and the end of the stream io.EOF; all other
// errors are gRPC's.
func Receive(s stream, chunk message) error {
	if err := s.RecvMsg(chunk); err != nil {
		return err
	}
	return chunk.fault()
}

// Name is the content subtype, the same as that of the codec it stands for.
func (Codec) Name() string { return proto.Name }

// Marshal puts the small fields of a chunk before its data. The order of
// fields is free (https://protobuf.dev/programming-guides/encoding/#order).
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(message)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Marshal(v)
	}
	head, data := m.marshal()
	data.Ref() // gRPC frees what it sent; the sender still frees its own
	return append(mem.BufferSlice{mem.SliceBuffer(head)}, data...), nil
}

// Unmarshal fills a chunk. What is wrong with it, Receive says: gRPC would
// make a text of an error.
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
