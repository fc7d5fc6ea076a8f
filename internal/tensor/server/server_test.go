package server

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
)

func TestTensorIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1000, 1 << 20, 1<<20 + 1, 3<<20 + 12345} {
		s, conn := start(t, Options{ChunkSize: 300_000})
		data := bytes.Repeat([]byte("0123456789abcdefg"), size/17+1)[:size]
		var chunks []*skytorch.TensorChunk
		for at := 0; at == 0 || at < size; at += 500_000 {
			chunks = append(chunks, &skytorch.TensorChunk{TensorId: 3, ChunkNumber: uint32(len(chunks)),
				Data: data[at:min(at+500_000, size)]})
		}
		chunks[0].Shape, chunks[0].Dtype = []int64{int64(size)}, "torch.uint8" // without optional fields
		if err := update(t, conn, chunks...); err != nil {
			t.Fatal(err)
		}
		got, first, err := read(t, conn, &skytorch.GetTensorRequest{TensorId: 3})
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d were returned, %v", size, len(got), err)
		}
		if first.TotalBytes != uint64(size) || first.Dtype != "torch.uint8" || first.Shape[0] != int64(size) ||
			first.Stride[0] != 1 ||
			first.TotalChunks != uint32(max((size+299_999)/300_000, 1)) {
			t.Errorf("%d bytes: first chunk has total %d of %d chunks, %s%v", size, first.TotalBytes, first.TotalChunks,
				first.Dtype, first.Shape)
		}
		if _, err := skytorch.NewServiceClient(conn).DeleteTensors(t.Context(),
			&skytorch.DeleteTensorsRequest{TensorIds: []uint64{3, 4}}); err != nil {
			t.Error(err)
		}
		if used := s.store.budget.used.Load(); used != 0 {
			t.Errorf("%d bytes are stored after the deletion of the tensor", used)
		}
	}
}

func TestTensorsOfAnyTypeAndShapeAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	_, conn := start(t, Options{})
	for id, l := range []layout.Layout{layout.Of(layout.Float32), layout.Of("torch.bool", 0, 3),
		layout.Of("torch.bfloat16", 7, 3), layout.Of("torch.float64", 300, 200)} {
		size, err := l.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		data := numbers(int(size) / 2)
		if err := update(t, conn, &skytorch.TensorChunk{TensorId: uint64(id), TotalChunks: 1, Shape: l.Shape,
			Dtype: string(l.DType), TotalBytes: uint64(size), Data: data}); err != nil {
			t.Fatal(err)
		}
		got, first, err := read(t, conn, &skytorch.GetTensorRequest{TensorId: uint64(id)})
		if err != nil || !layoutOf(first).Same(l) || !bytes.Equal(got, data) {
			t.Errorf("%s was returned as %s with %d bytes: %v", l, layoutOf(first), len(got), err)
		}
		_, _, err = read(t, conn, &skytorch.GetTensorRequest{TensorId: uint64(id), Dtype: "torch.int8", Shape: l.Shape})
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("request for another type than %s: %v", l, err)
		}
	}
}

func TestInvalidUploadsGetAClearStatusAndLeaveNothing(t *testing.T) {
	t.Parallel()
	chunk := func(change func(c *skytorch.TensorChunk)) *skytorch.TensorChunk {
		c := whole(1, 2, 3)
		change(c)
		return c
	}
	part := func(number uint32, data []byte) *skytorch.TensorChunk {
		c := &skytorch.TensorChunk{TensorId: 1, ChunkNumber: number, TotalChunks: 2, Data: data}
		if number == 0 {
			c.Shape, c.Dtype, c.TotalBytes = []int64{2, 3}, "torch.int16", 12
		}
		return c
	}
	half := numbers(3)
	for name, c := range map[string]struct {
		chunks []*skytorch.TensorChunk
		code   codes.Code
		text   string
	}{
		"nothing":   {nil, codes.InvalidArgument, "before the first chunk"},
		"truncated": {[]*skytorch.TensorChunk{part(0, half)}, codes.InvalidArgument, "after chunk 1 of 2"},
		"truncated data": {[]*skytorch.TensorChunk{part(0, half), part(1, half[:4])}, codes.InvalidArgument,
			"10 bytes of 12"},
		"reordered": {[]*skytorch.TensorChunk{part(1, half), part(0, half)}, codes.InvalidArgument, ""},
		"duplicated": {[]*skytorch.TensorChunk{part(0, half), part(0, half)}, codes.InvalidArgument,
			"chunk 0 again"},
		"oversized": {[]*skytorch.TensorChunk{part(0, half), part(1, numbers(4))}, codes.InvalidArgument,
			"14 bytes"},
		"after the last": {[]*skytorch.TensorChunk{whole(1, 2, 3), part(1, half)}, codes.InvalidArgument,
			"after the last one"},
		"no dtype": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) { c.Dtype = "" })},
			codes.InvalidArgument, "no dtype"},
		"unknown dtype": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) { c.Dtype = "torch.float31" })},
			codes.InvalidArgument, "float31"},
		"other dtype": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) { c.Dtype = "torch.int32" })},
			codes.InvalidArgument, "requires 24"},
		"other shape": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) { c.Shape[0] = 3 })},
			codes.InvalidArgument, "requires 18"},
		"negative shape": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) { c.Shape[0] = -2 })},
			codes.InvalidArgument, "negative"},
		"endless shape": {[]*skytorch.TensorChunk{
			chunk(func(c *skytorch.TensorChunk) { c.Shape = []int64{1 << 40, 1 << 40} })}, codes.InvalidArgument,
			"too many elements"},
		"wild stride": {[]*skytorch.TensorChunk{
			chunk(func(c *skytorch.TensorChunk) { c.Stride = []int64{1 << 62, 1 << 62} })}, codes.InvalidArgument, ""},
		"many dimensions": {[]*skytorch.TensorChunk{
			chunk(func(c *skytorch.TensorChunk) { c.Shape = make([]int64, 65) })}, codes.ResourceExhausted,
			"more than 64"},
		"endless size": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) { c.TotalBytes = 1<<64 - 1 })},
			codes.ResourceExhausted, "at most"},
		"too large a tensor": {[]*skytorch.TensorChunk{{TensorId: 1, Dtype: "torch.int8", Shape: []int64{1 << 30},
			Data: half}}, codes.ResourceExhausted, "at most 4194304"},
		"too large a message": {[]*skytorch.TensorChunk{{TensorId: 1, Dtype: "torch.int8", Shape: []int64{2 << 20},
			Data: make([]byte, 2<<20)}}, codes.ResourceExhausted, "larger than max"},
		"another tensor": {[]*skytorch.TensorChunk{part(0, half), {TensorId: 2, ChunkNumber: 1, Data: half}},
			codes.InvalidArgument, "tensor 2"},
		"another shape later": {[]*skytorch.TensorChunk{part(0, half),
			{TensorId: 1, ChunkNumber: 1, Data: half, Shape: []int64{3, 2}}}, codes.InvalidArgument, "shape [3 2]"},
		"metadata of another": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) {
			c.Metadata = &skytorch.TensorMetadata{TensorId: 9, Dtype: "torch.int16", Shape: []int64{2, 3}}
		})}, codes.InvalidArgument, "tensor 9"},
		"metadata of another dtype": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) {
			c.Metadata = &skytorch.TensorMetadata{TensorId: 1, Dtype: "torch.int8", Shape: []int64{2, 3}}
		})}, codes.InvalidArgument, "instead of"},
		"a view of nothing": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) {
			c.Metadata = &skytorch.TensorMetadata{TensorId: 1, Dtype: "torch.int16", Shape: []int64{2, 3},
				TensorRef: proto.Uint64(5)}
		})}, codes.NotFound, "no tensor 5"},
		"a huge storage": {[]*skytorch.TensorChunk{chunk(func(c *skytorch.TensorChunk) {
			c.Metadata = &skytorch.TensorMetadata{TensorId: 1, Dtype: "torch.int16", Shape: []int64{2, 3},
				Nbytes: 1 << 62}
		})}, codes.ResourceExhausted, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, conn := start(t, Options{TensorLimit: 4 << 20, MessageLimit: 1 << 20})
			err := update(t, conn, c.chunks...)
			if status.Code(err) != c.code || !strings.Contains(status.Convert(err).Message(), c.text) {
				t.Errorf("%v, want %s with %q", err, c.code, c.text)
			}
			if used, held := s.store.budget.used.Load(), s.store.held(); used != 0 || held != 0 {
				t.Errorf("%d tensors of %d bytes are stored", held, used)
			}
		})
	}
}

func TestMemoryLimitAppliesToAllTensors(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{MemoryLimit: 100 << 10})
	for id := range uint64(200) {
		err := update(t, conn, whole(id, 10, 100))
		if err == nil {
			continue
		}
		if status.Code(err) != codes.ResourceExhausted {
			t.Error(err)
		}
		if used := s.store.budget.used.Load(); used > 100<<10 || used < 90<<10 {
			t.Errorf("rejected with %d bytes stored", used)
		}
		return
	}
	t.Error("200 tensors of 2 KB fit into 100 KiB")
}

func TestViewsShareTheirStorage(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{})
	client := skytorch.NewServiceClient(conn)
	if err := update(t, conn, whole(1, 3, 4)); err != nil {
		t.Fatal(err)
	}
	// The second column of tensor 1.
	view := &skytorch.TensorMetadata{
		TensorId: 2, Dtype: "torch.int16", Shape: []int64{3}, Stride: []int64{4}, StorageOffset: 1,
		TensorRef: proto.Uint64(1),
	}
	got, _, err := read(t, conn, &skytorch.GetTensorRequest{TensorId: 2, Metadata: view})
	if want := []byte{1, 0, 5, 0, 9, 0}; err != nil || !bytes.Equal(got, want) {
		t.Fatalf("the view contains %v: %v", got, err)
	}
	if err := update(t, conn, &skytorch.TensorChunk{TensorId: 2, Dtype: "torch.int16", Shape: []int64{3},
		Data: []byte{101, 0, 105, 0, 109, 0}}); err != nil {
		t.Fatal(err)
	}
	if got, _, err = read(t, conn, &skytorch.GetTensorRequest{TensorId: 1}); err != nil || got[2] != 101 ||
		got[10] != 105 || got[4] != 2 {
		t.Errorf("after a write to the view, the tensor contains %v: %v", got, err)
	}
	// Tensors can be copied only to the same type and shape, but bytes of a storage can be copied to any storage.
	if err := update(t, conn, whole(3, 3)); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CopyTensor(t.Context(), &skytorch.CopyTensorRequest{SrcTensorId: 3, DstTensorId: 2,
		NumBytes: -1}); err != nil {
		t.Fatal(err)
	}
	if got, _, _ = read(t, conn, &skytorch.GetTensorRequest{TensorId: 1}); got[2] != 0 || got[10] != 1 || got[18] != 2 {
		t.Errorf("after the copy, the tensor contains %v", got)
	}
	if _, err := client.CopyTensor(t.Context(), &skytorch.CopyTensorRequest{SrcTensorId: 3, DstTensorId: 1,
		SrcOffset: 2, DstOffset: 20, NumBytes: 4}); err != nil {
		t.Fatal(err)
	}
	if got, _, _ = read(t, conn, &skytorch.GetTensorRequest{TensorId: 1}); got[20] != 1 || got[22] != 2 {
		t.Errorf("after the copy of bytes, the tensor contains %v", got)
	}
	for want, req := range map[codes.Code]*skytorch.CopyTensorRequest{
		codes.OutOfRange:      {SrcTensorId: 3, DstTensorId: 1, DstOffset: 23, NumBytes: 4},
		codes.InvalidArgument: {SrcTensorId: 1, DstTensorId: 3},
		codes.NotFound:        {SrcTensorId: 1, DstTensorId: 99},
	} {
		if _, err := client.CopyTensor(t.Context(), req); status.Code(err) != want {
			t.Errorf("copy %v: %v, want %s", req, err, want)
		}
	}
	if _, err := client.DeleteTensors(t.Context(), &skytorch.DeleteTensorsRequest{TensorIds: []uint64{1, 2,
		3}}); err != nil {
		t.Fatal(err)
	}
	if used := s.store.budget.used.Load(); used != 0 {
		t.Errorf("%d bytes are stored at the end", used)
	}
}

// SkyTorch uploads bfloat16 slices as their complete storage, and others with their original offset.
func TestSlicesOfSkyTorchAreAccepted(t *testing.T) {
	t.Parallel()
	_, conn := start(t, Options{})
	slice := whole(1, 3)
	slice.Stride, slice.StorageOffset = []int64{1}, 5
	if err := update(t, conn, slice); err != nil {
		t.Error(err)
	}
	storage := &skytorch.TensorChunk{
		TensorId: 2, Dtype: "torch.bfloat16", Shape: []int64{2}, Stride: []int64{1}, StorageOffset: 3, TotalBytes: 20,
		Data: numbers(10),
	}
	if err := update(t, conn, storage); err != nil {
		t.Error(err)
	}
	for id, want := range map[uint64][]byte{1: {0, 0, 1, 0, 2, 0}, 2: {3, 0, 4, 0}} {
		if got, _, err := read(t, conn, &skytorch.GetTensorRequest{TensorId: id}); err != nil ||
			!bytes.Equal(got, want) {
			t.Errorf("tensor %d contains %v: %v", id, got, err)
		}
	}
	_, _, err := read(t, conn, &skytorch.GetTensorRequest{TensorId: 1, Dtype: "torch.int16", Shape: []int64{4}})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("request for another shape: %v", err)
	}
}

func TestStalledClientsAreDisconnected(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{StallTimeout: 50 * time.Millisecond})
	st, err := skytorch.NewServiceClient(conn).UpdateTensor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	chunk := whole(1, 2, 3)
	chunk.TotalChunks, chunk.Data = 2, chunk.Data[:6]
	if err := st.Send(chunk); err != nil {
		t.Fatal(err)
	}
	err = st.RecvMsg(&skytorch.TensorResponse{})
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "no chunk") {
		t.Errorf("a client that sends nothing: %v", err)
	}
	// A client that does not read the response.
	c, err := zeros(s.store.budget, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	s.store.add(2, view{layout: layout.Of("torch.int8", 64<<20)}, c)
	get, err := skytorch.NewServiceClient(conn).GetTensor(t.Context(), &skytorch.GetTensorRequest{TensorId: 2})
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		metrics, err := skymetrics.NewMetricsClient(conn).GetMetrics(t.Context(), &skymetrics.GetMetricsRequest{
			MetricNames: []string{"requests"},
			LabelFilters: map[string]string{"method": "skytorch.torch.Service/GetTensor",
				"code": "DeadlineExceeded"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(metrics.Snapshots[0].Metrics) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a client that reads nothing is not disconnected")
		}
	}
	for err == nil {
		_, err = get.Recv()
	}
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a client that reads nothing: %v", err)
	}
	if _, err := skytorch.NewServiceClient(conn).DeleteTensors(t.Context(),
		&skytorch.DeleteTensorsRequest{TensorIds: []uint64{2}}); err != nil {
		t.Fatal(err)
	}
	waitEmpty(t, s)
}

// waitEmpty waits for handlers that have not noticed the end of their call yet.
func waitEmpty(t *testing.T, s *Server) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); s.store.budget.used.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are held", s.store.budget.used.Load())
		}
	}
}

func TestDisconnectedClientsLeaveNothing(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{})
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		st, err := skytorch.NewServiceClient(conn).UpdateTensor(ctx)
		if err != nil {
			t.Fatal(err)
		}
		chunk := whole(1, 300, 300)
		chunk.TotalChunks, chunk.Data = 2, chunk.Data[:100_000]
		if err := st.Send(chunk); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	waitEmpty(t, s)
}

func TestHealthMetricsAndReflection(t *testing.T) {
	t.Parallel()
	s, conn := start(t, Options{})
	for _, service := range []string{"", "kpu.torch.Service", "skytorch.torch.Service", "skytorch.metrics.v1.Metrics"} {
		resp, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || resp.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, resp, err)
		}
	}
	if err := update(t, conn, whole(1, 2, 3)); err != nil {
		t.Fatal(err)
	}
	client := skymetrics.NewMetricsClient(conn)
	resp, err := client.GetMetrics(t.Context(), &skymetrics.GetMetricsRequest{MetricNames: []string{"tensors.received",
		"tensors.held"}})
	if err != nil || len(resp.Snapshots) != 1 || len(resp.Snapshots[0].Metrics) != 2 ||
		resp.Snapshots[0].Source != Source {
		t.Fatalf("%v, %v", resp, err)
	}
	if m := resp.Snapshots[0].Metrics; m[0].Value != 1 || m[1].Value != 12 || m[1].Unit != "bytes" {
		t.Errorf("metrics: %v", m)
	}
	if resp,
		err = client.GetMetrics(t.Context(),
		&skymetrics.GetMetricsRequest{Sources: []string{"nvidia-gpu"}}); err != nil || len(resp.Snapshots) != 0 {
		t.Errorf("another source: %v, %v", resp, err)
	}
	watch, err := client.StreamMetrics(t.Context(), &skymetrics.StreamMetricsRequest{IntervalSeconds: 0.01})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if snapshot, err := watch.Recv(); err != nil || len(snapshot.Metrics) < 8 {
			t.Fatalf("%v, %v", snapshot, err)
		}
	}
	list, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := list.Send(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "skytorch.torch.Service",
		}}); err != nil {
		t.Fatal(err)
	}
	if answer, err := list.Recv(); err != nil || answer.GetFileDescriptorResponse() == nil {
		t.Errorf("reflection: %v, %v", answer, err)
	}
	s.health.Shutdown()
	health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("health while stopping: %v, %v", health, err)
	}
}
