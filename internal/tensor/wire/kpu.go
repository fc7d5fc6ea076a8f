package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
)

// KPUChunk is kpu.torch.TensorChunk.
type KPUChunk struct {
	ID       string
	Number   uint32
	Total    uint32
	Last     bool
	Metadata map[string]string // on the first chunk: shape, dtype, device, size_bytes
	Data     mem.BufferSlice

	bad error
}

// Free frees the data, so that the chunk can be reused.
func (c *KPUChunk) Free() {
	c.Data.Free()
	*c = KPUChunk{}
}

// Piece returns the position of the chunk in its sequence.
func (c *KPUChunk) Piece() Piece {
	return Piece{Number: c.Number, Total: c.Total, Last: c.Last, Bytes: c.Data.Len()}
}

func (c *KPUChunk) refuse(err error) { *c = KPUChunk{bad: err} }

func (c *KPUChunk) fault() error { return c.bad }

func (c *KPUChunk) data() mem.BufferSlice { return c.Data }

func (c *KPUChunk) encode(b []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(b, &kputorch.TensorChunk{
		TensorId: c.ID, ChunkNumber: c.Number, TotalChunks: c.Total, IsLast: c.Last, Metadata: c.Metadata,
	})
}

func (c *KPUChunk) decode(fields []byte, data mem.BufferSlice) error {
	var m kputorch.TensorChunk
	if err := proto.Unmarshal(fields, &m); err != nil {
		return Errorf(Malformed, "%v", err)
	}
	*c = KPUChunk{
		ID: m.GetTensorId(), Number: m.GetChunkNumber(), Total: m.GetTotalChunks(), Last: m.GetIsLast(),
		Metadata: m.GetMetadata(), Data: data,
	}
	return nil
}
