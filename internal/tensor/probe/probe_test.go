package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func serve(t testing.TB) string {
	t.Helper()
	l := listen(t)
	done := make(chan error, 1)
	go func() { done <- server.New(server.Options{}).Serve(t.Context(), l, time.Second) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// register starts a gRPC server with the registered services.
func register(t testing.TB, register func(*grpc.Server)) string {
	t.Helper()
	l := listen(t)
	s := grpc.NewServer()
	register(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

// nobody returns an address at which nothing listens.
func nobody(t testing.TB) string {
	t.Helper()
	l := listen(t)
	defer l.Close()
	return l.Addr().String()
}

// silent accepts connections, but never responds.
func silent(t testing.TB) string {
	t.Helper()
	l := listen(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return l.Addr().String()
}

func TestRoundTripsOfBothProtocols(t *testing.T) {
	t.Parallel()
	target := serve(t)
	for runtime, service := range map[string]string{
		"": "skytorch.torch.Service", kind.RuntimeKubetorch: "skytorch.torch.Service",
		kind.RuntimeSkyTorch: "skytorch.torch.Service", kind.RuntimeKPU: "kpu.torch.Service",
	} {
		for _, size := range []int64{0, 1, 5<<20 + 3} {
			got := GRPC(t.Context(), Endpoint{Target: target, Runtime: runtime, RoundTrip: size, Seed: 42})
			if got.Status != Serving || got.Service != service || got.Bytes != size || got.Latency <= 0 ||
				(got.Throughput > 0) != (size > 0) {
				t.Errorf("%q, %d bytes: %+v", runtime, size, got)
			}
		}
	}
	c, err := tensor.New(target, tensor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	snapshots, err := c.Metrics(t.Context(), &skymetrics.GetMetricsRequest{MetricNames: []string{"tensors.held"}})
	if err != nil || snapshots[0].Metrics[0].Value != 0 {
		t.Errorf("the probe left tensors: %v, %v", snapshots, err)
	}
}

// liar stores a tensor, and changes one of its bytes.
type liar struct {
	skytorch.UnimplementedServiceServer
	chunks []*skytorch.TensorChunk
}

func (l *liar) UpdateTensor(st grpc.ClientStreamingServer[skytorch.TensorChunk, skytorch.TensorResponse]) error {
	for {
		chunk, err := st.Recv()
		if errors.Is(err, io.EOF) {
			return st.SendAndClose(&skytorch.TensorResponse{Success: true})
		}
		if err != nil {
			return err
		}
		l.chunks = append(l.chunks, chunk)
	}
}

func (l *liar) GetTensor(_ *skytorch.GetTensorRequest, st grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
	for _, chunk := range l.chunks {
		if n := len(chunk.Data); n > 100 {
			chunk.Data[100] ^= 1
		}
		if err := st.Send(chunk); err != nil {
			return err
		}
	}
	return nil
}

func (l *liar) DeleteTensors(context.Context, *skytorch.DeleteTensorsRequest) (*skytorch.TensorResponse, error) {
	return &skytorch.TensorResponse{Success: true}, nil
}

// laggard answers correctly, but late.
type laggard struct {
	liar
	get, remove time.Duration
	removed     chan struct{} // receives at each deletion
}

func (l *laggard) GetTensor(
	request *skytorch.GetTensorRequest, st grpc.ServerStreamingServer[skytorch.TensorChunk],
) error {
	select {
	case <-st.Context().Done():
		return st.Context().Err()
	case <-time.After(l.get):
		return l.liar.GetTensor(request, st)
	}
}

func (l *laggard) DeleteTensors(
	ctx context.Context, _ *skytorch.DeleteTensorsRequest,
) (*skytorch.TensorResponse, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(l.remove):
	}
	l.removed <- struct{}{}
	return &skytorch.TensorResponse{Success: true}, nil
}

// The time limit of a probe is also that of the deletion. After it, the deletion has a short time of its own.
func TestTensorOfAProbeIsDeletedWithinAndAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		get, remove, limit time.Duration
		want               Status
	}{
		"a deletion longer than the one after the time limit": {0, cleanupTime + 500*time.Millisecond, time.Minute,
			Serving},
		"a download longer than the time limit": {time.Hour, 0, 500 * time.Millisecond, Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := &laggard{get: c.get, remove: c.remove, removed: make(chan struct{}, 2)}
			got := GRPC(t.Context(), Endpoint{Target: healthy(t, late), Timeout: c.limit, RoundTrip: 50})
			if got.Status != c.want || len(late.removed) != 1 {
				t.Errorf("%+v, deleted %d times; want %v, once", got, len(late.removed), c.want)
			}
		})
	}
}

// healthy serves SkyTorch's protocol with this implementation, which reports that it is serving.
func healthy(t *testing.T, implementation skytorch.ServiceServer) string {
	t.Helper()
	return register(t, func(s *grpc.Server) {
		h := health.NewServer()
		h.SetServingStatus("skytorch.torch.Service", healthpb.HealthCheckResponse_SERVING)
		healthpb.RegisterHealthServer(s, h)
		skytorch.RegisterServiceServer(s, implementation)
	})
}

// hasty ends calls at their deadline before the client does, as a server does whose timer fires first.
type hasty struct {
	liar
	deletions atomic.Int32
}

func (*hasty) GetTensor(*skytorch.GetTensorRequest, grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
	return status.Error(codes.DeadlineExceeded, "deadline exceeded")
}

func (h *hasty) DeleteTensors(context.Context, *skytorch.DeleteTensorsRequest) (*skytorch.TensorResponse, error) {
	if h.deletions.Add(1) == 1 {
		return nil, status.Error(codes.DeadlineExceeded, "deadline exceeded")
	}
	return &skytorch.TensorResponse{Success: true}, nil
}

func TestTensorOfAProbeIsDeletedWhenTheServerEndsTheDeletionAtTheDeadline(t *testing.T) {
	t.Parallel()
	early := &hasty{}
	got := GRPC(t.Context(), Endpoint{Target: healthy(t, early), Timeout: time.Minute, RoundTrip: 50})
	if got.Status != Timeout || early.deletions.Load() != 2 {
		t.Errorf("%+v, %d requests to delete; want %v, 2", got, early.deletions.Load(), Timeout)
	}
}

// flood returns more than it received.
type flood struct {
	liar
	kputorch.UnsafeServiceServer
	sent atomic.Int64 // bytes
}

// GetTensor announces a tensor of 1 GiB, in which the elements are far apart.
func (f *flood) GetTensor(_ *skytorch.GetTensorRequest, st grpc.ServerStreamingServer[skytorch.TensorChunk]) error {
	const total = 1 << 30
	for n := range uint32(1024) {
		chunk := &skytorch.TensorChunk{TensorId: f.chunks[0].TensorId, ChunkNumber: n, TotalChunks: 1024,
			Data: make([]byte, 1<<20)}
		if n == 0 {
			chunk.Shape, chunk.Dtype, chunk.Stride, chunk.TotalBytes = []int64{10}, "torch.uint8", []int64{2}, total
		}
		if err := st.Send(chunk); err != nil {
			return err
		}
		f.sent.Add(1 << 20)
	}
	return nil
}

// StreamTensors returns tensors without end.
func (f *flood) StreamTensors(st grpc.BidiStreamingServer[kputorch.TensorChunk, kputorch.TensorChunk]) error {
	for n := range 1024 {
		if err := st.Send(&kputorch.TensorChunk{TensorId: strconv.Itoa(n), TotalChunks: 1, IsLast: true,
			Data: make([]byte, 1<<20)}); err != nil {
			return err
		}
		f.sent.Add(1 << 20)
	}
	return nil
}

func (*flood) ReceiveTensors(grpc.ClientStreamingServer[kputorch.TensorChunk, kputorch.TensorResponse]) error {
	return status.Error(codes.Unimplemented, "")
}

func (*flood) SendTensors(*kputorch.TensorRequest, grpc.ServerStreamingServer[kputorch.TensorChunk]) error {
	return status.Error(codes.Unimplemented, "")
}

func TestProbeReceivesNoMoreThanItSent(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{kind.RuntimeSkyTorch, kind.RuntimeKPU} {
		server := &flood{}
		target := register(t, func(s *grpc.Server) {
			h := health.NewServer()
			h.SetServingStatus("skytorch.torch.Service", healthpb.HealthCheckResponse_SERVING)
			h.SetServingStatus("kpu.torch.Service", healthpb.HealthCheckResponse_SERVING)
			healthpb.RegisterHealthServer(s, h)
			skytorch.RegisterServiceServer(s, server)
			kputorch.RegisterServiceServer(s, server)
		})
		got := GRPC(t.Context(), Endpoint{Target: target, Runtime: runtime, Timeout: time.Minute, RoundTrip: 10})
		if got.Status != Failed || !strings.Contains(got.Detail, "at most") {
			t.Errorf("%s: %+v", runtime, got)
		}
		if sent := server.sent.Load(); sent > 100<<20 {
			t.Errorf("%s: received %d bytes", runtime, sent)
		}
	}
}

type oddHealth struct {
	healthpb.UnimplementedHealthServer
	status healthpb.HealthCheckResponse_ServingStatus
	err    error
}

func (o oddHealth) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: o.status}, o.err
}

func TestStatusShowsTheProblem(t *testing.T) {
	t.Parallel()
	with := func(h healthpb.HealthServer) string {
		return register(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, h) })
	}
	down := health.NewServer()
	down.SetServingStatus("kpu.torch.Service", healthpb.HealthCheckResponse_NOT_SERVING)
	stranger := health.NewServer()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	lying := healthy(t, &liar{})
	for name, c := range map[string]struct {
		endpoint Endpoint
		want     Status
		detail   string
	}{
		"not listening":       {Endpoint{Target: nobody(t)}, Unreachable, "refused"},
		"unknown host":        {Endpoint{Target: "nowhere.invalid:1"}, Unreachable, "nowhere.invalid"},
		"a dialer that hangs": {Endpoint{Target: "x:1", Options: tensor.Options{Dialer: hang}}, Unreachable, ""},
		"silence":             {Endpoint{Target: silent(t)}, Timeout, ""},
		"a web server":        {Endpoint{Target: strings.TrimPrefix(web.URL, "http://")}, Unreachable, ""},
		"no health check":     {Endpoint{Target: register(t, func(*grpc.Server) {})}, Unimplemented, ""},
		"not serving":         {Endpoint{Target: with(down)}, NotServing, "kpu.torch.Service"},
		"not the protocol": {Endpoint{Target: with(stranger), Runtime: kind.RuntimeKPU}, Unknown,
			"kpu.torch.Service"},
		"some gRPC server":  {Endpoint{Target: with(stranger)}, Serving, ""},
		"no tensor service": {Endpoint{Target: with(stranger), RoundTrip: 10}, Unimplemented, ""},
		"unknown as a status": {Endpoint{Target: with(oddHealth{status: healthpb.HealthCheckResponse_SERVICE_UNKNOWN})},
			Unknown, ""},
		"an internal error": {Endpoint{Target: with(oddHealth{err: status.Error(codes.Internal, "oh")})}, Failed,
			"oh"},
		"a changed byte": {Endpoint{Target: lying, RoundTrip: 1000}, Corrupt, "byte 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.endpoint.Timeout = 5 * time.Second
			if c.want == Timeout || name == "a dialer that hangs" {
				c.endpoint.Timeout = 100 * time.Millisecond
			}
			got := GRPC(t.Context(), c.endpoint)
			if got.Status != c.want || !strings.Contains(got.Detail, c.detail) ||
				(got.Detail == "") != (got.Status == Serving) {
				t.Errorf("%+v, want %s with %q", got, c.want, c.detail)
			}
		})
	}
}

func hang(ctx context.Context, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health":
			fmt.Fprint(w, "ok")
		case "/moved":
			http.Redirect(w, r, "/health", http.StatusFound)
		default:
			http.Error(w, "loading the model", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(web.Close)
	for name, c := range map[string]struct {
		web    Web
		want   Status
		detail string
	}{
		"healthy":       {Web{URL: web.URL}, Serving, ""},
		"another path":  {Web{URL: web.URL + "/ready"}, NotServing, "loading the model"},
		"a redirection": {Web{URL: web.URL + "/moved"}, NotServing, "302"},
		"not listening": {Web{URL: "http://" + nobody(t)}, Unreachable, "refused"},
		"silence":       {Web{URL: "http://" + silent(t), Timeout: 100 * time.Millisecond}, Timeout, ""},
		"gRPC":          {Web{URL: "http://" + serve(t), Timeout: 5 * time.Second}, Failed, ""},
		"no URL":        {Web{URL: "::"}, Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := HTTP(t.Context(), c.web)
			if got.Status != c.want || !strings.Contains(got.Detail, c.detail) ||
				(got.Latency > 0) != (got.Status == Serving || got.Status == NotServing) {
				t.Errorf("%+v, want %s with %q", got, c.want, c.detail)
			}
		})
	}
}

// Sequential probes of the unreachable endpoints alone would take minutes.
func TestTwoHundredEndpointsAreProbedInParallel(t *testing.T) {
	t.Parallel()
	target := serve(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second) // 2 s in parallel, 200 s sequentially
	defer cancel()
	var probes sync.WaitGroup
	for i := range 200 {
		e, want := Endpoint{Target: target, Timeout: 30 * time.Second, RoundTrip: 1000}, Serving
		if i%2 == 0 {
			e, want = Endpoint{Target: "x:1", Timeout: 2 * time.Second, Options: tensor.Options{Dialer: hang}},
				Unreachable
		}
		probes.Go(func() {
			if r := GRPC(ctx, e); r.Status != want {
				t.Errorf("endpoint %d: %+v", i, r)
			}
		})
	}
	probes.Wait()
	if ctx.Err() != nil {
		t.Error("the probes were sequential")
	}
}
