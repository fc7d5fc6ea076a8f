package wire

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

func unmarshal(m message, msg mem.BufferSlice) error {
	if err := (Codec{}).Unmarshal(msg, m); err != nil {
		return err
	}
	return m.fault()
}

// pieces splits a message into buffers of n bytes, like frames do.
func pieces(raw []byte, n int) mem.BufferSlice {
	var out mem.BufferSlice
	for len(raw) > n {
		out = append(out, mem.SliceBuffer(raw[:n]))
		raw = raw[n:]
	}
	return append(out, mem.SliceBuffer(raw))
}

func skyExample() *skytorch.TensorChunk {
	return &skytorch.TensorChunk{
		TensorId: 1 << 63, ChunkNumber: 3, Data: bytes.Repeat([]byte("data"), 100), TotalChunks: 9,
		Shape: []int64{2, 300, -1}, Stride: []int64{300, 1, 0}, StorageOffset: 5, Dtype: "torch.float32",
		TotalBytes: 2400,
		Metadata:   &skytorch.TensorMetadata{TensorId: 7, Dtype: "torch.int8", Nbytes: 1, TensorRef: proto.Uint64(0)},
	}
}

func asMessage(c *SkyChunk) *skytorch.TensorChunk {
	out := proto.CloneOf(c.Fields)
	out.Data = c.Data.Materialize()
	return out
}

func TestChunksAreDecodedLikeInProtobuf(t *testing.T) {
	t.Parallel()
	sky := skyExample()
	kpu := &kputorch.TensorChunk{
		TensorId: "é", ChunkNumber: 1, Data: []byte{0}, TotalChunks: 2, IsLast: true,
		Metadata: map[string]string{"shape": "[2, 3]", "": "empty"},
	}
	for _, n := range []int{1, 2, 3, 7, 1000} {
		raw, err := proto.Marshal(sky)
		if err != nil {
			t.Fatal(err)
		}
		var got SkyChunk
		if err := unmarshal(&got, pieces(raw, n)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sky, asMessage(&got), protocmp.Transform()); diff != "" {
			t.Errorf("SkyTorch, in buffers of %d (-protobuf +ours):\n%s", n, diff)
		}
		if raw, err = proto.Marshal(kpu); err != nil {
			t.Fatal(err)
		}
		var k KPUChunk
		if err := unmarshal(&k, pieces(raw, n)); err != nil {
			t.Fatal(err)
		}
		k.Fields.Data = k.Data.Materialize()
		if diff := cmp.Diff(kpu, k.Fields, protocmp.Transform()); diff != "" {
			t.Errorf("KPU, in buffers of %d (-protobuf +ours):\n%s", n, diff)
		}
		if got, want := k.Piece(), (Piece{Number: 1, Total: 2, Last: true, Bytes: 1}); got != want {
			t.Errorf("piece %+v, want %+v", got, want)
		}
	}
}

func TestEncodedChunksCanBeDecodedByProtobuf(t *testing.T) {
	t.Parallel()
	var chunk SkyChunk
	raw, err := proto.Marshal(skyExample())
	if err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(&chunk, pieces(raw, 50)); err != nil {
		t.Fatal(err)
	}
	written, err := Codec{}.Marshal(&chunk)
	if err != nil {
		t.Fatal(err)
	}
	var sky skytorch.TensorChunk
	if err := proto.Unmarshal(written.Materialize(), &sky); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(skyExample(), &sky, protocmp.Transform()); diff != "" {
		t.Errorf("SkyTorch (-want +got):\n%s", diff)
	}
	k := KPUChunk{Data: pieces([]byte("abcdef"), 4), Fields: &kputorch.TensorChunk{TensorId: "a", ChunkNumber: 4,
		TotalChunks: 5, IsLast: true, Metadata: map[string]string{"k": "v"}}}
	if written, err = (Codec{}).Marshal(&k); err != nil {
		t.Fatal(err)
	}
	var kpu kputorch.TensorChunk
	if err := proto.Unmarshal(written.Materialize(), &kpu); err != nil {
		t.Fatal(err)
	}
	want := &kputorch.TensorChunk{
		TensorId: "a", ChunkNumber: 4, TotalChunks: 5, IsLast: true, Data: []byte("abcdef"),
		Metadata: map[string]string{"k": "v"},
	}
	if diff := cmp.Diff(want, &kpu, protocmp.Transform()); diff != "" {
		t.Errorf("KPU (-want +got):\n%s", diff)
	}
}

func TestBothNumberingsAreDetected(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*skytorch.TensorChunk{
		"matrix": {Dtype: "torch.float32", Shape: []int64{2, 3}, Stride: []int64{3, 1}, StorageOffset: 4},
		"scalar": {Dtype: "torch.int64"},
		// As text, this is "torch.", which is the start of a dtype name.
		"strides": {Dtype: "torch.int8", Shape: []int64{1, 1, 1, 1, 1, 1},
			Stride: []int64{'t', 'o', 'r', 'c', 'h', '.'}},
		"empty": {Dtype: "torch.bool", Shape: []int64{0}, Stride: []int64{1}},
	} {
		for _, n := range []Numbering{From5, From7} {
			sent := SkyChunk{Numbering: n, Fields: &skytorch.TensorChunk{TensorId: 9, TotalChunks: 1,
				Shape: l.Shape, Stride: l.Stride, StorageOffset: l.StorageOffset, Dtype: l.Dtype, TotalBytes: 24,
				Metadata: &skytorch.TensorMetadata{Nbytes: 24}}}
			written, err := sent.marshal()
			if err != nil {
				t.Fatal(err)
			}
			var got SkyChunk
			if err := unmarshal(&got, pieces(written.Materialize(), 5)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(sent, got, protocmp.Transform(), cmp.AllowUnexported(SkyChunk{}),
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s, numbered from %d (-sent +got):\n%s", name, 5+2*n, diff)
			}
		}
	}
}

func TestMalformedMessagesAreRejected(t *testing.T) {
	t.Parallel()
	tag := func(n protowire.Number, typ protowire.Type) []byte { return protowire.AppendTag(nil, n, typ) }
	for name, c := range map[string]struct {
		raw  []byte
		want Fault
	}{
		"truncated tag":      {[]byte{0x80}, Malformed},
		"truncated data":     {append(tag(3, protowire.BytesType), 5, 1), Malformed},
		"an endless number":  {append(tag(1, protowire.VarintType), bytes.Repeat([]byte{0xff}, 20)...), Malformed},
		"field 0":            {[]byte{0}, Malformed},
		"a group":            {tag(99, protowire.StartGroupType), Malformed},
		"a truncated field":  {append(tag(99, protowire.Fixed64Type), 1), Malformed},
		"a name without end": {protowire.AppendBytes(tag(6, protowire.BytesType), make([]byte, maxFields+1)), Limit},
		"a huge length":      {protowire.AppendVarint(tag(3, protowire.BytesType), 1<<63), Malformed},
	} {
		for kind, chunk := range map[string]message{"SkyTorch": &SkyChunk{}, "KPU": &KPUChunk{}} {
			err := unmarshal(chunk, pieces(c.raw, 1))
			if fault, ok := errors.AsType[*Error](err); !ok || fault.Fault != c.want {
				t.Errorf("%s, %s: %v, want %s", name, kind, err, c.want)
			}
		}
	}
	many := protowire.AppendBytes(tag(5, protowire.BytesType), make([]byte, MaxDims+1))
	if err := unmarshal(&SkyChunk{}, pieces(many, 9)); err == nil {
		t.Error("a shape of 65 dimensions is accepted")
	}
}

// counted is a buffer pool that counts the buffers in use.
type counted struct{ out int }

func (c *counted) Get(n int) *[]byte { c.out++; b := make([]byte, n); return &b }
func (c *counted) Put(*[]byte)       { c.out-- }

func TestDataIsNeitherCopiedNorLeaked(t *testing.T) {
	t.Parallel()
	pool := &counted{}
	buf := pool.Get(1 << 16)
	sent := SkyChunk{Fields: &skytorch.TensorChunk{TensorId: 1}, Data: mem.BufferSlice{mem.NewBuffer(buf, pool)}}
	out, err := Codec{}.Marshal(&sent)
	if err != nil {
		t.Fatal(err)
	}
	sent.Free()
	if &out[1].ReadOnlyData()[0] != &(*buf)[0] {
		t.Error("sending copied the data")
	}
	var got SkyChunk
	if err := (Codec{}).Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	out.Free() // as gRPC does
	if &got.Data[0].ReadOnlyData()[0] != &(*buf)[0] {
		t.Error("receiving copied the data")
	}
	if pool.out != 1 {
		t.Errorf("%d buffers are in use before the chunk is freed", pool.out)
	}
	got.Free()
	if pool.out != 0 {
		t.Errorf("%d buffers are in use at the end", pool.out)
	}
}

func TestOtherMessagesUseTheDefaultCodec(t *testing.T) {
	t.Parallel()
	out, err := Codec{}.Marshal(&skytorch.TensorResponse{Success: true, Message: "m"})
	if err != nil {
		t.Fatal(err)
	}
	var got skytorch.TensorResponse
	if err := encoding.GetCodecV2(protocodec.Name).Unmarshal(out, &got); err != nil || got.Message != "m" {
		t.Errorf("%v, %v", &got, err)
	}
}

func FuzzSkyChunk(f *testing.F) {
	raw, err := proto.Marshal(skyExample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, 3)
	for _, n := range []Numbering{From5, From7} {
		written, _ := (&SkyChunk{Numbering: n, Fields: &skytorch.TensorChunk{Shape: []int64{3}, Dtype: "torch.int8",
			TotalBytes: 3}}).marshal()
		f.Add(written.Materialize(), 100)
	}
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		var got SkyChunk
		if err := unmarshal(&got, pieces(raw, max(n, 1))); err != nil {
			return
		}
		var want skytorch.TensorChunk
		if err := proto.Unmarshal(raw, &want); err != nil || got.Numbering != From5 {
			return // protobuf is stricter with text, and supports only one numbering
		}
		want.ProtoReflect().SetUnknown(nil)
		if diff := cmp.Diff(&want, asMessage(&got), protocmp.Transform(),
			protocmp.IgnoreMessages(&skytorch.TensorMetadata{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-protobuf +ours):\n%s", diff)
		}
	})
}

func FuzzKPUChunk(f *testing.F) {
	written, _ := (&KPUChunk{Fields: &kputorch.TensorChunk{TensorId: "a", Metadata: map[string]string{"k": "v"},
		IsLast: true}}).marshal()
	f.Add(written.Materialize(), 2)
	f.Fuzz(func(t *testing.T, raw []byte, n int) {
		var got KPUChunk
		if err := unmarshal(&got, pieces(raw, max(n, 1))); err != nil {
			return
		}
		var want kputorch.TensorChunk
		if err := proto.Unmarshal(raw, &want); err != nil {
			return
		}
		want.ProtoReflect().SetUnknown(nil)
		got.Fields.Data = got.Data.Materialize()
		if diff := cmp.Diff(&want, got.Fields, protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-protobuf +ours):\n%s", diff)
		}
	})
}
