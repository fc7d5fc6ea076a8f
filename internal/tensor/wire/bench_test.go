package wire

import (
	"testing"

	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// BenchmarkCodec encodes and decodes a chunk with this codec and with the default
// codec of gRPC, which copies the data. The received message is in frames of 16 KiB.
func BenchmarkCodec(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "1MiB": 1 << 20} {
		data := make([]byte, size)
		shape := []int64{int64(size)}
		meta := map[string]string{"dtype": "torch.uint8", "shape": "[1024]"}
		owned := mem.BufferSlice{mem.SliceBuffer(data)}
		ours, generated := encoding.CodecV2(Codec{}), encoding.GetCodecV2(protocodec.Name)
		for _, c := range []struct {
			name      string
			codec     encoding.CodecV2
			sent, got any
		}{
			{"sky/ours", ours, &SkyChunk{Fields: &skytorch.TensorChunk{TensorId: 1, TotalChunks: 1, Shape: shape,
				Dtype: "torch.uint8", TotalBytes: uint64(size)}, Data: owned}, &SkyChunk{}},
			{"sky/generated", generated, &skytorch.TensorChunk{TensorId: 1, TotalChunks: 1, Shape: shape,
				Dtype: "torch.uint8", TotalBytes: uint64(size), Data: data}, &skytorch.TensorChunk{}},
			{"kpu/ours", ours, &KPUChunk{Fields: &kputorch.TensorChunk{TensorId: "a", TotalChunks: 1, IsLast: true,
				Metadata: meta}, Data: owned}, &KPUChunk{}},
			{"kpu/generated", generated, &kputorch.TensorChunk{TensorId: "a", TotalChunks: 1, IsLast: true,
				Metadata: meta, Data: data}, &kputorch.TensorChunk{}},
		} {
			b.Run(name+"/"+c.name+"/send", func(b *testing.B) {
				for b.Loop() {
					out, err := c.codec.Marshal(c.sent)
					if err != nil {
						b.Fatal(err)
					}
					out.Free()
				}
			})
			out, err := c.codec.Marshal(c.sent)
			if err != nil {
				b.Fatal(err)
			}
			message := pieces(out.Materialize(), 16<<10)
			b.Run(name+"/"+c.name+"/receive", func(b *testing.B) {
				for b.Loop() {
					if m, ok := c.got.(proto.Message); ok {
						proto.Reset(m)
					}
					if err := c.codec.Unmarshal(message, c.got); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
