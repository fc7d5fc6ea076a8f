package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/layout"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server/tensorfile"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

func TestTensorIsReturnedUnchanged(t *testing.T) {
	t.Parallel()
	target := serve(t, server.Options{MemoryLimit: 64 << 20})
	conn := plain(t, target)
	base := uint64(0)
	for name, o := range map[string]tensor.Options{
		"defaults":          {},
		"in small chunks":   {ChunkSize: 1000},
		"in large chunks":   {ChunkSize: 8 << 20},
		"numbered from 7":   {Numbering: wire.From7},
		"through a gateway": {ComputeID: "ml/trainer"},
	} {
		base += 1000
		first := base // each test case has separate IDs
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, target, o)
			for i, size := range []int64{0, 4, 42, 3<<20 + 17} {
				id, data := first+uint64(i), random(size)
				if err := c.Upload(t.Context(), id, size, bytes.NewReader(data)); err != nil {
					t.Fatal(err)
				}
				if err := upload(t.Context(), c, id+50, make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				if resp, err := skytorch.NewServiceClient(conn).CopyTensor(t.Context(), &skytorch.CopyTensorRequest{
					SrcTensorId: id, DstTensorId: id + 50, NumBytes: -1,
				}); err != nil || !resp.GetSuccess() {
					t.Fatal(resp, err)
				}
				for _, id := range []uint64{id, id + 50} {
					got, err := download(t.Context(), c, id, size)
					if err != nil || !bytes.Equal(got, data) {
						t.Errorf("%d bytes were returned as %d bytes: %v", size, len(got), err)
					}
				}
				if err := c.Delete(t.Context(), id, id+50); err != nil {
					t.Error(err)
				}
				if err := c.Download(t.Context(), id, size, io.Discard); tensor.ClassOf(err) != tensor.NotFound {
					t.Errorf("after its deletion: %v", err)
				}
			}
		})
	}
}

// plain returns a connection for generated code.
func plain(t *testing.T, target string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestKPUTensorsAreReturnedUnchanged(t *testing.T) {
	t.Parallel()
	target := serve(t, server.Options{MemoryLimit: 64 << 20})
	c, generated := dial(t, target, tensor.Options{ChunkSize: 100_000}), kputorch.NewServiceClient(plain(t, target))
	data := random(300 * 200 * 8)
	var echoed bytes.Buffer
	if err := c.Echo(t.Context(), "a", int64(len(data)), bytes.NewReader(data), &echoed); err != nil {
		t.Fatal(err)
	}
	up, err := generated.ReceiveTensors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const part = 100_000
	total := (echoed.Len() + part - 1) / part
	for n := range total {
		if err := up.Send(&kputorch.TensorChunk{TensorId: "b", ChunkNumber: uint32(n), TotalChunks: uint32(total),
			Data: echoed.Bytes()[n*part : min((n+1)*part, echoed.Len())]}); err != nil {
			t.Fatal(err)
		}
	}
	if resp, err := up.CloseAndRecv(); err != nil || !resp.GetSuccess() || len(resp.GetReceivedTensorIds()) != 1 {
		t.Fatal(resp, err)
	}
	sent, n := requested(t, generated,
		&kputorch.TensorRequest{Count: 1, Parameters: map[string]string{"tensor_id": "b"}})
	if n != 1 {
		t.Fatalf("%d tensors", n)
	}
	for i, file := range [][]byte{echoed.Bytes(), sent} {
		f, err := tensorfile.Read(bytes.NewReader(file), int64(len(file)))
		if l := layout.Of(layout.UInt8, int64(len(data))); err != nil || !f.Layout.Same(l) ||
			!bytes.Equal(file[f.Offset:f.Offset+f.Bytes], data) {
			t.Errorf("file %d of %d bytes: %s, %v", i, len(file), f.Layout, err)
		}
	}
	if _, n := requested(t, generated,
		&kputorch.TensorRequest{Count: 3, Parameters: map[string]string{"shape": "20,20"}}); n != 3 {
		t.Errorf("%d generated tensors", n)
	}
}

// requested returns the bytes of the requested tensors, and their number.
func requested(t *testing.T, c kputorch.ServiceClient, req *kputorch.TensorRequest) (data []byte, tensors int) {
	t.Helper()
	down, err := c.SendTensors(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for {
		chunk, err := down.Recv()
		if errors.Is(err, io.EOF) {
			return data, tensors
		}
		if err != nil {
			t.Fatal(err)
		}
		if chunk.GetChunkNumber()+1 == chunk.GetTotalChunks() {
			tensors++
		}
		data = append(data, chunk.GetData()...)
	}
}

type failing struct{ n int }

var errFailing = errors.New("the disk is on fire")

func (f *failing) Read(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFailing
	}
	return len(p), nil
}

func (f *failing) Write(p []byte) (int, error) { return f.Read(p) }

func TestErrorsOfTheCallersReaderAndWriterAreReturned(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, server.Options{}), tensor.Options{})
	const size = 3 << 20
	if err := upload(t.Context(), c, 1, random(size)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"reader":       {c.Upload(t.Context(), 1, size, &failing{n: 1 << 20}), errFailing},
		"short reader": {c.Upload(t.Context(), 1, size, bytes.NewReader(make([]byte, 100))), io.ErrUnexpectedEOF},
		"writer":       {c.Download(t.Context(), 1, size, &failing{n: 1 << 20}), errFailing},
		"echo reader":  {c.Echo(t.Context(), "a", size, &failing{n: 10}, io.Discard), errFailing},
		"echo writer": {c.Echo(t.Context(), "a", size, bytes.NewReader(make([]byte, 3<<20)), &failing{n: 1 << 20}),
			errFailing},
		"negative size":      {c.Upload(t.Context(), 1, -1, bytes.NewReader(nil)), nil},
		"negative echo size": {c.Echo(t.Context(), "a", -1, bytes.NewReader(nil), io.Discard), nil},
	} {
		if tensor.ClassOf(c.err) != tensor.Local || c.want != nil && !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
	if got, err := download(t.Context(), c, 1, size); err != nil || len(got) != size {
		t.Errorf("the tensor afterwards: %d bytes, %v", len(got), err)
	}
}

func TestExceededLimitsAreReported(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, server.Options{MemoryLimit: 1 << 20}), tensor.Options{TensorLimit: 1000})
	if err := upload(t.Context(), c, 1, random(2<<20)); tensor.ClassOf(err) != tensor.TooLarge {
		t.Errorf("above the limit of the server: %v", err)
	}
	if err := upload(t.Context(), c, 1, random(2000)); err != nil {
		t.Fatal(err)
	}
	if err := c.Download(t.Context(), 1, 2000, io.Discard); tensor.ClassOf(err) != tensor.TooLarge {
		t.Errorf("above the limit of the client: %v", err)
	}
	if err := c.Download(t.Context(), 1, 1000, io.Discard); tensor.ClassOf(err) != tensor.Refused || err == nil {
		t.Errorf("another size: %v", err)
	}
}

func TestCancelledContextEndsTheCall(t *testing.T) {
	t.Parallel()
	c := dial(t, serve(t, server.Options{}), tensor.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := upload(ctx, c, 1, random(10)); tensor.ClassOf(err) != tensor.Canceled {
		t.Errorf("upload: %v", err)
	}
}

// kpuMetrics is the metrics service under KPU's name.
func kpuMetrics() *grpc.ServiceDesc {
	desc := skymetrics.Metrics_ServiceDesc
	desc.ServiceName = "kpu.metrics.v1.Metrics"
	return &desc
}

type oneSource struct {
	skymetrics.UnimplementedMetricsServer
}

func (oneSource) GetMetrics(
	_ context.Context, req *skymetrics.GetMetricsRequest,
) (*skymetrics.GetMetricsResponse, error) {
	return &skymetrics.GetMetricsResponse{Snapshots: []*skymetrics.MetricsSnapshot{{Source: req.GetSources()[0]}}}, nil
}

func TestMetricsOfKPUAreReadFromItsOwnService(t *testing.T) {
	t.Parallel()
	g := grpc.NewServer()
	g.RegisterService(kpuMetrics(), oneSource{})
	snapshots, err := dial(t, listen(t, g), tensor.Options{}).Metrics(t.Context(),
		&skymetrics.GetMetricsRequest{Sources: []string{"cpu"}})
	if err != nil || len(snapshots) != 1 || snapshots[0].GetSource() != "cpu" {
		t.Errorf("%v, %v", snapshots, err)
	}
}

func TestMetricsAreUnsupportedWithoutAMetricsService(t *testing.T) {
	t.Parallel()
	_, err := dial(t, listen(t, grpc.NewServer()), tensor.Options{}).Metrics(t.Context(),
		&skymetrics.GetMetricsRequest{})
	if tensor.ClassOf(err) != tensor.Unsupported {
		t.Errorf("class %d: %v", tensor.ClassOf(err), err)
	}
}
