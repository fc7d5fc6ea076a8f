// Package probe finds out whether an endpoint serves, and whether a tensor
// comes back from it bit for bit. An endpoint that cannot be reached is a
// result, not an error.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// Status is how an endpoint is.
type Status string

const (
	// Serving: it says so, and a round trip, where one was asked for, came back whole.
	Serving Status = "SERVING"
	// NotServing: it answers, and says that it does not serve.
	NotServing Status = "NOT_SERVING"
	// Unknown: it answers, but knows nothing of the service.
	Unknown Status = "UNKNOWN"
	// Unimplemented: it answers, but has no health check, or not the protocol of the round trip.
	Unimplemented Status = "UNIMPLEMENTED"
	// Unreachable: no connection, or one that broke.
	Unreachable Status = "UNREACHABLE"
	// Timeout: connected, and then no answer in time.
	Timeout Status = "TIMEOUT"
	// Corrupt: the tensor that came back is not the one that was sent.
	Corrupt Status = "CORRUPT"
	// Failed: it answers, but not as it should; Detail says how.
	Failed Status = "FAILED"
)

// Result is what a probe found.
type Result struct {
	Status Status
	// Detail says why the status is not SERVING, for people.
	Detail string
	// Latency is that of the health check alone, on a connection that is there. 0 where none was answered.
	Latency time.Duration
	// Service is the one whose health it is, "" for that of the server as a whole or of an HTTP endpoint.
	Service string
	// Bytes is how much went each way in the round trip, 0 without one.
	Bytes int64
	// Throughput counts both ways, in MiB/s. 0 without a round trip.
	Throughput float64
}

// LatencyMS is the latency in milliseconds.
func (r Result) LatencyMS() float64 { return float64(r.Latency) / float64(time.Millisecond) }

// Protocol is which tensor protocol an endpoint speaks.
type Protocol string

const (
	// Auto is the one whose health the endpoint knows, SkyTorch first.
	Auto Protocol = ""
	// SkyTorch is skytorch.torch.Service.
	SkyTorch Protocol = "skytorch"
	// KPU is kpu.torch.Service.
	KPU Protocol = "kpu"
)

func (p Protocol) services() []string {
	sky, kpu := skytorch.Service_ServiceDesc.ServiceName, kputorch.Service_ServiceDesc.ServiceName
	switch p {
	case SkyTorch:
		return []string{sky}
	case KPU:
		return []string{kpu}
	default:
		return []string{sky, kpu, ""}
	}
}

// Endpoint is what is probed over gRPC.
type Endpoint struct {
	Target   string // host:port
	Protocol Protocol
	// Options say how it is reached; see tensor.Options for Dialer and ComputeID.
	Options tensor.Options
	// RoundTrip is how many bytes are sent and received; 0 for the health check alone.
	RoundTrip int64
	// Timeout is for all of it. Default 10 s.
	Timeout time.Duration
	// Seed makes the bytes of the round trip.
	Seed uint64
}

const defaultTimeout = 10 * time.Second

// GRPC checks an endpoint's health, and with it the round trip. It returns
// after the timeout at the latest, and leaves nothing behind.
func GRPC(ctx context.Context, e Endpoint) Result {
	if e.Timeout <= 0 {
		e.Timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	if e.RoundTrip == 0 && e.Options.Buffer == 0 {
		e.Options.Buffer = 4 << 10 // a health check needs no more, and there may be hundreds
	}
	var connected atomic.Bool
	e.Options.Dialer = watched(e.Options.Dialer, &connected)
	c, err := tensor.New(e.Target, e.Options)
	if err != nil {
		return Result{Status: Failed, Detail: err.Error()}
	}
	defer c.Close()
	if err := c.Connect(ctx); err != nil {
		r := failure(err)
		if r.Status == Timeout && !connected.Load() {
			r.Status = Unreachable
		}
		return r
	}
	r := check(ctx, c, e.Protocol)
	if e.RoundTrip <= 0 || r.Status != Serving {
		return r
	}
	return roundTrip(ctx, c, e, r)
}

// watched notes that a connection was made, which tells a server that nobody
// reached from one that took the connection and then said nothing.
func watched(
	dial func(context.Context, string) (net.Conn, error), connected *atomic.Bool,
) func(context.Context, string) (net.Conn, error) {
	if dial == nil {
		dial = func(ctx context.Context, target string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", target)
		}
	}
	return func(ctx context.Context, target string) (net.Conn, error) {
		conn, err := dial(ctx, target)
		if err == nil {
			connected.Store(true)
		}
		return conn, err
	}
}

// check asks for the health of each service in turn until one is known.
func check(ctx context.Context, c *tensor.Client, p Protocol) Result {
	var r Result
	for _, service := range p.services() {
		start := time.Now()
		status, err := c.Health(ctx, service)
		r = Result{Latency: time.Since(start), Service: service}
		switch {
		case tensor.ClassOf(err) == tensor.NotFound && err != nil, status == healthpb.HealthCheckResponse_SERVICE_UNKNOWN:
			r.Status, r.Detail = Unknown, fmt.Sprintf("the server has no service %q", service)
			continue
		case err != nil:
			r = failure(err)
			r.Service = service
			return r
		case status == healthpb.HealthCheckResponse_SERVING:
			r.Status = Serving
		case status == healthpb.HealthCheckResponse_NOT_SERVING:
			r.Status, r.Detail = NotServing, fmt.Sprintf("service %q says that it does not serve", service)
		default:
			r.Status, r.Detail = Unknown, fmt.Sprintf("service %q does not know how it is", service)
		}
		return r
	}
	return r
}

func failure(err error) Result {
	r := Result{Status: Failed, Detail: err.Error()}
	switch tensor.ClassOf(err) {
	case tensor.Unreachable:
		r.Status = Unreachable
	case tensor.TimedOut, tensor.Stalled, tensor.Canceled:
		r.Status = Timeout
	case tensor.Unsupported:
		r.Status = Unimplemented
	default:
		if errors.Is(err, errDiffers) {
			r.Status = Corrupt
		}
	}
	return r
}

// All probes at most parallel endpoints at a time, and returns their results
// in the same order.
func All[E any](ctx context.Context, endpoints []E, parallel int, probe func(context.Context, E) Result) []Result {
	results := make([]Result, len(endpoints))
	free := make(chan struct{}, max(parallel, 1))
	var all sync.WaitGroup
	for i, e := range endpoints {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			results[i] = probe(ctx, e)
		})
	}
	all.Wait()
	return results
}
