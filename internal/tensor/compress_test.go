package tensor_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// compressions returns the compressions of SkyTorch 0.1.0, which compresses all messages.
func compressions() []string { return []string{"gzip", wire.Deflate} }

// headers records the compression of received messages.
type headers struct {
	mu   sync.Mutex
	came []string
}

func (h *headers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (h *headers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (h *headers) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *headers) HandleRPC(_ context.Context, s stats.RPCStats) {
	in, ok := s.(*stats.InHeader)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.came = append(h.came, in.Compression)
}

func TestServerSupportsCompressingClients(t *testing.T) {
	t.Parallel()
	target := serve(t, server.Options{})
	for _, compression := range compressions() {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			var answers headers
			conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithStatsHandler(&answers),
				grpc.WithDefaultCallOptions(grpc.UseCompressor(compression), grpc.MaxCallRecvMsgSize(8<<20)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			id, data := uint64(len(compression)), bytes.Repeat([]byte("compressible "), 100_000)
			client := skytorch.NewServiceClient(conn)
			up, err := client.UpdateTensor(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			size := len(data)
			if err := up.Send(&skytorch.TensorChunk{
				TensorId: id, TotalChunks: 1, Data: data, Shape: []int64{int64(size)}, Dtype: "torch.uint8",
				TotalBytes: uint64(size),
			}); err != nil {
				t.Fatal(err)
			}
			if resp, err := up.CloseAndRecv(); err != nil || !resp.Success {
				t.Fatalf("upload: %v, %v", resp, err)
			}
			down, err := client.GetTensor(t.Context(), &skytorch.GetTensorRequest{TensorId: id})
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for {
				chunk, err := down.Recv()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, chunk.Data...)
			}
			if !bytes.Equal(got, data) {
				t.Errorf("%d returned bytes differ", len(got))
			}
			metrics, err := skymetrics.NewMetricsClient(conn).GetMetrics(t.Context(), &skymetrics.GetMetricsRequest{})
			if err != nil || len(metrics.GetSnapshots()) != 1 {
				t.Errorf("metrics: %v, %v", metrics, err)
			}
			if len(answers.came) == 0 {
				t.Error("no response was seen")
			}
			for _, came := range answers.came {
				if came != compression {
					t.Errorf("the server responds with the compression %q", came)
				}
			}
		})
	}
}

// compressing compresses all responses, regardless of the request.
type compressing struct {
	skytorch.UnimplementedServiceServer
	skymetrics.UnimplementedMetricsServer

	compression string
	data        []byte
}

func (c *compressing) GetTensor(
	_ *skytorch.GetTensorRequest, st grpc.ServerStreamingServer[skytorch.TensorChunk],
) error {
	if err := grpc.SetSendCompressor(st.Context(), c.compression); err != nil {
		return err
	}
	size := len(c.data)
	return st.Send(&skytorch.TensorChunk{
		TensorId: 1, TotalChunks: 1, Data: c.data, Shape: []int64{int64(size)}, Dtype: "torch.uint8",
		TotalBytes: uint64(size),
	})
}

func (c *compressing) GetMetrics(
	ctx context.Context, _ *skymetrics.GetMetricsRequest,
) (*skymetrics.GetMetricsResponse, error) {
	if err := grpc.SetSendCompressor(ctx, c.compression); err != nil {
		return nil, err
	}
	return &skymetrics.GetMetricsResponse{Snapshots: []*skymetrics.MetricsSnapshot{{Source: "nvidia-gpu"}}}, nil
}

func TestClientSupportsCompressingServers(t *testing.T) {
	t.Parallel()
	for _, compression := range compressions() {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			s := &compressing{compression: compression, data: bytes.Repeat([]byte{7}, 1<<20)}
			g := grpc.NewServer()
			skytorch.RegisterServiceServer(g, s)
			skymetrics.RegisterMetricsServer(g, s)
			c := dial(t, listen(t, g), tensor.Options{})
			got, err := download(t.Context(), c, 1, 1<<20)
			if err != nil || !bytes.Equal(got, s.data) {
				t.Errorf("download: %d bytes, %v", len(got), err)
			}
			snapshots, err := c.Metrics(t.Context(), &skymetrics.GetMetricsRequest{})
			if err != nil || len(snapshots) != 1 {
				t.Errorf("metrics: %v, %v", snapshots, err)
			}
		})
	}
}

// The message limit applies to the decompressed size.
func TestMessagesThatAreTooLargeAfterDecompressionAreRejected(t *testing.T) {
	t.Parallel()
	for _, compression := range compressions() {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			s := &compressing{compression: compression, data: make([]byte, 4<<20)}
			g := grpc.NewServer()
			skytorch.RegisterServiceServer(g, s)
			c := dial(t, listen(t, g), tensor.Options{MessageLimit: 1 << 20})
			if _, err := download(t.Context(), c, 1, 4<<20); tensor.ClassOf(err) != tensor.TooLarge || err == nil {
				t.Errorf("client: %v", err)
			}
			conn, err := grpc.NewClient(serve(t, server.Options{MessageLimit: 1 << 20}),
				grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithDefaultCallOptions(grpc.UseCompressor(compression)))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			big := &skytorch.DeleteTensorsRequest{TensorIds: make([]uint64, 2<<20)}
			if proto.Size(big) < 1<<20 {
				t.Fatal("the message is not too large")
			}
			if _, err := skytorch.NewServiceClient(conn).DeleteTensors(t.Context(),
				big); status.Code(err) != codes.ResourceExhausted {
				t.Errorf("server: %v", err)
			}
		})
	}
}

// listen serves on a free port until the test ends.
func listen(t *testing.T, g *grpc.Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	return l.Addr().String()
}
