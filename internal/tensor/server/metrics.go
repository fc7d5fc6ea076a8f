package server

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
)

// Source is the name under which the server reports its own metrics.
const Source = "tensor-server"

// metrics collects the metrics of the server, and implements skytorch.metrics.v1.Metrics.
type metrics struct {
	skymetrics.UnimplementedMetricsServer
	store          *store
	started        time.Time
	received, sent atomic.Int64 // bytes of tensors
	mu             sync.Mutex
	calls          map[call]int64
}

type call struct {
	method string
	code   codes.Code
}

func (m *metrics) count(method string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[call{method, status.Code(err)}]++
}

func (m *metrics) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	resp, err := next(ctx, req)
	m.count(info.FullMethod, err)
	return resp, err
}

func (m *metrics) stream(srv any, st grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, st)
	m.count(info.FullMethod, err)
	return err
}

// GetMetrics returns the snapshot of the only source.
func (m *metrics) GetMetrics(
	_ context.Context, req *skymetrics.GetMetricsRequest,
) (*skymetrics.GetMetricsResponse, error) {
	out := &skymetrics.GetMetricsResponse{}
	if wanted(req.GetSources(), Source) {
		out.Snapshots = append(out.Snapshots, m.snapshot(req.GetMetricNames(), req.GetLabelFilters()))
	}
	return out, nil
}

// StreamMetrics sends the snapshot repeatedly.
func (m *metrics) StreamMetrics(
	req *skymetrics.StreamMetricsRequest, st grpc.ServerStreamingServer[skymetrics.MetricsSnapshot],
) error {
	interval := time.Second
	if s := req.GetIntervalSeconds(); s > 0 {
		// Limit the interval in both directions.
		interval = max(time.Duration(min(s, 3600)*float64(time.Second)), 10*time.Millisecond)
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if wanted(req.GetSources(), Source) {
			if err := st.Send(m.snapshot(req.GetMetricNames(), req.GetLabelFilters())); err != nil {
				return err
			}
		}
		select {
		case <-st.Context().Done():
			return status.FromContextError(st.Context().Err()).Err()
		case <-tick.C:
		}
	}
}

func (m *metrics) snapshot(names []string, labels map[string]string) *skymetrics.MetricsSnapshot {
	now := time.Now().Unix()
	all := slices.DeleteFunc(m.all(), func(v *skymetrics.Metric) bool {
		if !wanted(names, v.GetName()) {
			return true
		}
		for key, value := range labels {
			if v.GetLabels()[key] != value {
				return true
			}
		}
		v.Timestamp = now
		return false
	})
	return &skymetrics.MetricsSnapshot{Source: Source, Timestamp: now, Metrics: all}
}

// wanted reports whether a filter includes a name. An empty filter includes all names.
func wanted(filter []string, name string) bool {
	return len(filter) == 0 || slices.Contains(filter, name)
}

func (m *metrics) all() []*skymetrics.Metric {
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	const gauge, counter = skymetrics.MetricType_GAUGE, skymetrics.MetricType_COUNTER
	out := []*skymetrics.Metric{
		{Name: "process.uptime", Type: counter, Unit: "seconds", Value: time.Since(m.started).Seconds(),
			Help: "Time since the server started"},
		{Name: "process.memory", Type: gauge, Unit: "bytes", Value: float64(heap.Sys - heap.HeapReleased),
			Help: "Memory obtained from the system"},
		{Name: "process.goroutines", Type: gauge, Value: float64(runtime.NumGoroutine()), Help: "Number of goroutines"},
		{Name: "tensors.held", Type: gauge, Value: float64(m.store.held()), Help: "Number of tensors in memory"},
		{Name: "tensors.bytes", Type: gauge, Unit: "bytes", Value: float64(m.store.budget.used.Load()),
			Help: "Memory that the tensors use"},
		{Name: "tensors.limit", Type: gauge, Unit: "bytes", Value: float64(m.store.budget.limit),
			Help: "Memory limit of the tensors"},
		{Name: "tensors.received", Type: counter, Unit: "bytes", Value: float64(m.received.Load()),
			Help: "Data received since the start"},
		{Name: "tensors.sent", Type: counter, Unit: "bytes", Value: float64(m.sent.Load()),
			Help: "Data sent since the start"},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := len(out)
	for c, n := range m.calls {
		out = append(out, &skymetrics.Metric{
			Name: "requests", Type: counter, Value: float64(n), Help: "Number of completed calls",
			Labels: map[string]string{"method": strings.TrimPrefix(c.method, "/"), "code": c.code.String()},
		})
	}
	slices.SortFunc(out[calls:], func(a, b *skymetrics.Metric) int {
		return cmp.Or(cmp.Compare(a.Labels["method"], b.Labels["method"]),
			cmp.Compare(a.Labels["code"], b.Labels["code"]))
	})
	return out
}
