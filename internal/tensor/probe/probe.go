// Package probe checks whether an endpoint is serving, and whether it returns a
// tensor bit for bit. An unreachable endpoint is a result, not an error.
package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
)

// Status is the status of an endpoint.
type Status string

const (
	// Serving: the endpoint reports it, and a requested round trip succeeded.
	Serving Status = "SERVING"
	// NotServing: the endpoint reports that it is not serving.
	NotServing Status = "NOT_SERVING"
	// Unknown: the endpoint responds, but does not know the service.
	Unknown Status = "UNKNOWN"
	// Unimplemented: the endpoint responds, but implements no health check, or not the protocol of the round trip.
	Unimplemented Status = "UNIMPLEMENTED"
	// Unreachable: the connection could not be opened, or was lost.
	Unreachable Status = "UNREACHABLE"
	// Timeout: connected, but no response in time.
	Timeout Status = "TIMEOUT"
	// Corrupt: the returned tensor differs from the sent one.
	Corrupt Status = "CORRUPT"
	// Failed: any other response, which Detail describes.
	Failed Status = "FAILED"
)

// Result is the result of a probe.
type Result struct {
	Status Status
	// Detail is a human-readable reason why the status is not SERVING.
	Detail string
	// Latency is the duration of the health check on an open connection. 0 if it got no response.
	Latency time.Duration
	// Service is the service whose health was checked, or "" for the whole server or an HTTP endpoint.
	Service string
	// Bytes is the number of bytes in each direction of the round trip, or 0 without a round trip.
	Bytes int64
	// Throughput is the throughput of both directions together, in MiB/s. 0 without a round trip.
	Throughput float64
}

// LatencyMS returns the latency in milliseconds.
func (r Result) LatencyMS() float64 { return float64(r.Latency) / float64(time.Millisecond) }

// services returns the services whose health is checked, until the server knows one of them.
func services(runtime string) []string {
	sky, kpu := skytorch.Service_ServiceDesc.ServiceName, kputorch.Service_ServiceDesc.ServiceName
	switch runtime {
	case kind.RuntimeSkyTorch:
		return []string{sky}
	case kind.RuntimeKPU:
		return []string{kpu}
	default:
		return []string{sky, kpu, ""}
	}
}

// Endpoint is an endpoint to probe over gRPC.
type Endpoint struct {
	Target string // host:port
	// Runtime selects the tensor protocol. One that is not a tensor server, or "", selects the protocol whose health
	// the endpoint reports, SkyTorch first.
	Runtime string
	// Options configure the connection; see tensor.Options for Dialer, Credentials, Token and ComputeID.
	Options tensor.Options
	// RoundTrip is the size of the tensor of the round trip, in bytes, or 0 for only the health check.
	RoundTrip int64
	// Timeout is for all of it. Default 10 s.
	Timeout time.Duration
	// Seed is the seed of the bytes of the round trip.
	Seed uint64
}

// defaultTimeout is the time limit of a probe without one.
const defaultTimeout = 10 * time.Second

// maxOverhead is the maximum number of bytes that a server adds to the tensor of a round trip, such as the headers of a
// torch.save file, which are about 1 KiB.
const maxOverhead = 1 << 20

// GRPC checks the health of an endpoint and the requested round trip. It returns
// after the timeout at the latest, and deletes the tensor from the server.
func GRPC(ctx context.Context, e Endpoint) Result {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.Timeout, defaultTimeout))
	defer cancel()
	if e.RoundTrip == 0 && e.Options.Buffer == 0 {
		e.Options.Buffer = 4 << 10 // sufficient for a health check, of which hundreds may run
	}
	e.Options.TensorLimit = e.RoundTrip + maxOverhead
	dial := &Dialer{Open: e.Options.Dialer}
	e.Options.Dialer = dial.Dial
	var refused atomic.Bool
	if e.Options.Credentials != nil {
		e.Options.Credentials = handshake{e.Options.Credentials, &refused}
	}
	c, err := tensor.New(e.Target, e.Options)
	if err != nil {
		return Result{Status: Failed, Detail: err.Error()}
	}
	defer c.Close()
	if err := c.Connect(ctx); err != nil {
		r := failure(err)
		switch {
		case r.Status == Timeout && !dial.Connected():
			r.Status = Unreachable
		case r.Status == Unreachable && refused.Load():
			r.Status = Failed // the server responds, but not as TLS requires
		}
		return r
	}
	r := check(ctx, c, e.Runtime)
	if e.RoundTrip <= 0 || r.Status != Serving {
		return r
	}
	return roundTrip(ctx, c, e, r)
}

// handshake records that a TLS handshake failed, to distinguish a certificate that is not trusted from an unreachable
// server.
type handshake struct {
	credentials.TransportCredentials
	failed *atomic.Bool
}

func (h handshake) ClientHandshake(
	ctx context.Context, authority string, raw net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := h.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if err != nil {
		h.failed.Store(true)
	}
	return conn, info, err
}

func (h handshake) Clone() credentials.TransportCredentials {
	return handshake{h.TransportCredentials.Clone(), h.failed}
}

// check requests the health of each service until the server knows one of them.
func check(ctx context.Context, c *tensor.Client, runtime string) Result {
	var r Result
	for _, service := range services(runtime) {
		start := time.Now()
		status, err := c.Health(ctx, service)
		r = Result{Latency: time.Since(start), Service: service}
		switch {
		case tensor.ClassOf(err) == tensor.NotFound && err != nil,
			status == healthpb.HealthCheckResponse_SERVICE_UNKNOWN:
			r.Status, r.Detail = Unknown, fmt.Sprintf("the server has no service %q", service)
			continue
		case err != nil:
			r = failure(err)
			r.Service = service
			return r
		case status == healthpb.HealthCheckResponse_SERVING:
			r.Status = Serving
		case status == healthpb.HealthCheckResponse_NOT_SERVING:
			r.Status, r.Detail = NotServing, fmt.Sprintf("service %q reports that it is not serving", service)
		default:
			r.Status, r.Detail = Unknown, fmt.Sprintf("service %q reports an unknown health status", service)
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
