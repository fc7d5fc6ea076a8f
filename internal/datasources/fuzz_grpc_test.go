package datasources

import (
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

// rawCodec is a codec whose messages are sent as raw bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	//nolint:forcetypeassert // the server below sends nothing else
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize() //nolint:forcetypeassert // see Marshal
	return nil
}

// arbitraryServer starts a server that reports itself healthy and responds to every other call with the stored bytes,
// twice if the method streams. It returns the address of the server.
func arbitraryServer(tb testing.TB, body *atomic.Pointer[[]byte]) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	healthy, err := proto.Marshal(&healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING})
	if err != nil {
		tb.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}),
		grpc.UnknownServiceHandler(func(_ any, st grpc.ServerStream) error {
			method, _ := grpc.MethodFromServerStream(st)
			if strings.HasPrefix(method, "/grpc.health.") {
				return st.SendMsg(&healthy)
			}
			if err := st.SendMsg(body.Load()); err != nil || strings.HasSuffix(method, "GetMetrics") {
				return err
			}
			return st.SendMsg(body.Load())
		}))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	tb.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

func metricsSeeds(tb testing.TB) [][]byte {
	tb.Helper()
	var seeds [][]byte
	for _, value := range []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64,
		math.SmallestNonzeroFloat64} {
		seed, err := proto.Marshal(&skymetrics.GetMetricsResponse{Snapshots: []*skymetrics.MetricsSnapshot{
			{Source: "gpu", Metrics: []*skymetrics.Metric{
				{Name: "a", Value: value, Type: 77, Labels: map[string]string{"": "\x00"}, Timestamp: math.MinInt64},
				{},
			}}}})
		if err != nil {
			tb.Fatal(err)
		}
		seeds = append(seeds, seed)
	}
	return append(seeds, nil, []byte{0xff}, []byte("\x0a\x02\x0a\x00"))
}

// FuzzMetrics reads kt_metrics from a server that responds with arbitrary bytes. No response may cause a panic, and
// Terraform must be able to store the result.
func FuzzMetrics(f *testing.F) {
	for _, seed := range metricsSeeds(f) {
		f.Add(seed)
	}
	var body atomic.Pointer[[]byte]
	target := arbitraryServer(f, &body)
	f.Fuzz(func(t *testing.T, response []byte) {
		body.Store(&response)
		snapshots, err := snapshotsOf(t.Context(), endpoint.Route{Target: target}, endpoint.Security{},
			&skymetrics.GetMetricsRequest{}, defaultTimeout)
		if err != nil {
			return
		}
		m := metricsModel{Metrics: metricsOf(snapshots)}
		resp := &datasource.ReadResponse{State: tfsdk.State{Schema: schema.Schema{Attributes: metricsAttributes()}}}
		if diags := resp.State.Set(t.Context(), &m); diags.HasError() {
			t.Fatal(diags)
		}
		checkState(t, resp)
	})
}

// FuzzProbe runs the round trip of kt_endpoint against a server that responds with arbitrary bytes.
func FuzzProbe(f *testing.F) {
	for _, seed := range append(metricsSeeds(f), []byte("\x08\x01\x10\x01\x18\x01\x22\x04abcd"),
		[]byte("\x0a\x01a\x10\x00\x18\x01\x22\x02PK")) {
		f.Add(seed)
	}
	var body atomic.Pointer[[]byte]
	target := arbitraryServer(f, &body)
	f.Fuzz(func(t *testing.T, response []byte) {
		body.Store(&response)
		for _, runtime := range []string{kind.RuntimeSkyTorch, kind.RuntimeKPU} {
			q := endpoint.ProbeRequest{
				Endpoint: &endpoint.Endpoint{Namespace: "ml", Name: "a", Runtime: runtime, GRPC: true},
				Method:   endpoint.MethodTensor, Route: endpoint.Route{Target: target}, Timeout: 5 * time.Second,
				Bytes: 16,
			}
			result, err := q.Send(t.Context(), q.Route.Dialer())
			if err != nil || result.Status == probe.Serving || result.Status == probe.Unreachable {
				t.Errorf("%s: %+v, %v", runtime, result, err)
			}
		}
	})
}

func TestMetricsThatAreNotFiniteAreNull(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value float64
		want  types.Float64
	}{
		"finite": {1.5, types.Float64Value(1.5)}, "zero": {0, types.Float64Value(0)},
		"NaN": {math.NaN(), types.Float64Null()}, "infinite": {math.Inf(1), types.Float64Null()},
		"negative infinite": {math.Inf(-1), types.Float64Null()},
	} {
		got := metricsOf([]*skymetrics.MetricsSnapshot{{
			Metrics: []*skymetrics.Metric{{Name: "gpu.temperature", Value: c.value}},
		}})
		if len(got) != 1 || !got[0].Value.Equal(c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
