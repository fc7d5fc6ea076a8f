package server

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/tensorfile"
)

func saved(t testing.TB, l layout.Layout) []byte {
	t.Helper()
	e, err := tensorfile.NewEncoder(l)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := io.Copy(&file, e.File(bytes.NewReader(make([]byte, e.Size())))); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func give(t *testing.T, conn *grpc.ClientConn, chunks ...*kputorch.TensorChunk) (*kputorch.TensorResponse, error) {
	t.Helper()
	st, err := kputorch.NewServiceClient(conn).ReceiveTensors(t.Context())
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		if err := st.Send(c); err != nil {
			break
		}
	}
	return st.CloseAndRecv()
}

func TestKPUTensorsAreReceivedAndSent(t *testing.T) {
	t.Parallel()
	_, conn := start(t, Options{})
	file := saved(t, layout.Of(layout.Float32, 20, 20))
	first := func(id string, last bool) *kputorch.TensorChunk {
		return &kputorch.TensorChunk{TensorId: id, TotalChunks: 2, IsLast: last, Data: file[:500],
			Metadata: map[string]string{
				"shape": "[20, 20]", "dtype": "torch.float32", "device": "cpu",
			}}
	}
	second := func(id string) *kputorch.TensorChunk {
		return &kputorch.TensorChunk{TensorId: id, ChunkNumber: 1, TotalChunks: 2, IsLast: true, Data: file[500:]}
	}
	// Their chunks may be interleaved.
	resp, err := give(t, conn, first("a", false), first("b", false), second("b"), second("a"))
	if err != nil || strings.Join(resp.ReceivedTensorIds, ",") != "b,a" {
		t.Fatalf("%v, %v", resp, err)
	}
	for name, c := range map[string]struct {
		req  *kputorch.TensorRequest
		want int
	}{
		"made up": {&kputorch.TensorRequest{Count: 3, Parameters: map[string]string{"shape": "20,20"}},
			3 * len(file)},
		"one by default":    {&kputorch.TensorRequest{Parameters: map[string]string{"shape": "(20, 20)"}}, len(file)},
		"one that was sent": {&kputorch.TensorRequest{Parameters: map[string]string{"tensor_id": "a"}}, len(file)},
	} {
		st, err := kputorch.NewServiceClient(conn).SendTensors(t.Context(), c.req)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for {
			chunk, err := st.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got += len(chunk.Data)
		}
		if got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

func TestInvalidKPUTensorsGetAClearStatusAndLeaveNothing(t *testing.T) {
	t.Parallel()
	file := saved(t, layout.Of(layout.Float32, 2, 3))
	one := func(data []byte, metadata ...string) *kputorch.TensorChunk {
		c := &kputorch.TensorChunk{TensorId: "a", TotalChunks: 1, IsLast: true, Data: data,
			Metadata: map[string]string{}}
		for i := 0; i < len(metadata); i += 2 {
			c.Metadata[metadata[i]] = metadata[i+1]
		}
		return c
	}
	for name, c := range map[string]struct {
		chunks []*kputorch.TensorChunk
		code   codes.Code
		text   string
	}{
		"no file": {[]*kputorch.TensorChunk{one([]byte("hello, this is no archive"))}, codes.InvalidArgument,
			"no zip directory"},
		"truncated file": {[]*kputorch.TensorChunk{one(file[:len(file)-1])}, codes.InvalidArgument,
			"no zip directory"},
		"another dtype": {[]*kputorch.TensorChunk{one(file, "dtype", "torch.int8")}, codes.InvalidArgument,
			"torch.int8"},
		"another shape": {[]*kputorch.TensorChunk{one(file, "shape", "[3, 2]")}, codes.InvalidArgument, "[3 2]"},
		"no shape":      {[]*kputorch.TensorChunk{one(file, "shape", "[x]")}, codes.InvalidArgument, "[x]"},
		"another size": {[]*kputorch.TensorChunk{one(file, "size_bytes", "7")}, codes.InvalidArgument,
			"7 were announced"},
		"no size": {[]*kputorch.TensorChunk{one(file, "size_bytes", "-7")}, codes.InvalidArgument,
			"size_bytes"},
		"too large": {[]*kputorch.TensorChunk{one(file, "size_bytes", "99999999999999")}, codes.ResourceExhausted,
			"at most"},
		"never ended": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 2, Data: file}}, codes.InvalidArgument,
			"after chunk 1 of 2"},
		"ended twice": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 2, IsLast: true, Data: file}},
			codes.InvalidArgument, "the last"},
		"a missing chunk": {[]*kputorch.TensorChunk{{TensorId: "a", TotalChunks: 2, Data: file},
			{TensorId: "a", ChunkNumber: 3, Data: file}}, codes.InvalidArgument, "instead of chunk 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, conn := start(t, Options{TensorLimit: 1 << 20})
			_, err := give(t, conn, c.chunks...)
			if status.Code(err) != c.code || !strings.Contains(status.Convert(err).Message(), c.text) {
				t.Errorf("%v, want %s with %q", err, c.code, c.text)
			}
			if used := s.store.budget.used.Load(); used != 0 {
				t.Errorf("%d bytes are stored", used)
			}
		})
	}
}

func TestRequestsForInvalidTensorsAreRejected(t *testing.T) {
	t.Parallel()
	_, conn := start(t, Options{TensorLimit: 1 << 20})
	for shape, want := range map[string]codes.Code{
		"x": codes.InvalidArgument, "4611686018427387904": codes.InvalidArgument, "-1": codes.InvalidArgument,
		"1000000000,1000": codes.ResourceExhausted, "262144": codes.ResourceExhausted, // 1 MiB, and the file
	} {
		st, err := kputorch.NewServiceClient(conn).SendTensors(t.Context(),
			&kputorch.TensorRequest{Parameters: map[string]string{"shape": shape}})
		if err == nil {
			_, err = st.Recv()
		}
		if status.Code(err) != want {
			t.Errorf("%s: %v, want %s", shape, err, want)
		}
	}
}

func TestNewKPUTensorsEvictOldOnes(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{MemoryLimit: 5 << 20})
	file := saved(t, layout.Of(layout.UInt8, 1<<20))
	for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
		if _, err := give(t, conn, &kputorch.TensorChunk{TensorId: id, TotalChunks: 1, Data: file}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.store.file("a"); status.Code(err) != codes.NotFound {
		t.Errorf("the oldest still exists: %v", err)
	}
	if c, err := s.store.file("f"); err != nil {
		t.Error(err)
	} else {
		c.release()
	}
}
