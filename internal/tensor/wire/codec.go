package wire

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto" // registers the codec of all other messages
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// Codec is the default codec of gRPC, except for chunks, whose data is not copied
// when a message is sent or received.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// message is a chunk of either protocol. The fields that it encodes and decodes are all except the data.
type message interface {
	data() mem.BufferSlice
	encode(b []byte) ([]byte, error)
	decode(fields []byte, data mem.BufferSlice) error
	refuse(err error)
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

// Marshal encodes a chunk, with its data at the end. Fields may have any order
// (https://protobuf.dev/programming-guides/encoding/#order).
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(message)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Marshal(v)
	}
	head, err := m.encode(make([]byte, 0, 256))
	if err != nil {
		return nil, err
	}
	data := m.data()
	if n := data.Len(); n > 0 {
		head = protowire.AppendTag(head, dataNumber, protowire.BytesType)
		head = protowire.AppendVarint(head, uint64(n))
	}
	data.Ref() // gRPC frees its reference after sending; the sender frees its own
	return append(append(make(mem.BufferSlice, 0, 1+len(data)), mem.SliceBuffer(head)), data...), nil
}

// Unmarshal decodes a chunk. Receive returns errors of the decoding, because gRPC
// would convert an error to text.
func (Codec) Unmarshal(msg mem.BufferSlice, v any) error {
	m, ok := v.(message)
	if !ok {
		return encoding.GetCodecV2(proto.Name).Unmarshal(msg, v)
	}
	fields, data, err := split(msg)
	if err == nil {
		err = m.decode(fields, data)
	}
	if err != nil {
		data.Free()
		m.refuse(err)
	}
	return nil
}
