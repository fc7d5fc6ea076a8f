// Package tensor is a client of tensor servers: those of SkyTorch, its
// predecessor KPU, and our own (cmd/tensor-server). It streams: of a tensor
// it holds a few chunks, and what the caller gives it.
package tensor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Options say how a server is reached, and what is taken from it.
type Options struct {
	// Dialer makes connections, through a port-forward for example. Default: TCP to the target.
	Dialer func(ctx context.Context, target string) (net.Conn, error)
	// ComputeID is "<namespace>/<name>" of the compute, by which a gateway finds its server. Empty without a gateway.
	ComputeID string
	// ChunkSize is how many bytes of data a chunk has that is sent. Default 1 MiB.
	ChunkSize int
	// MessageLimit is the largest message that is taken, in bytes. Default 16 MiB.
	MessageLimit int
	// TensorLimit is how many bytes a tensor has at most that is taken. Default 16 GiB.
	TensorLimit int64
	// StallTimeout ends a transfer that makes no progress for so long. Default 30 s.
	StallTimeout time.Duration
	// Numbering is in which form SkyTorch's chunks are sent.
	Numbering wire.Numbering
	// Buffer is the size of the connection's read and write buffers. Default 128 KiB.
	Buffer int
}

func (o Options) withDefaults() Options {
	if o.Dialer == nil {
		var d net.Dialer
		o.Dialer = func(ctx context.Context, target string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp", target)
		}
	}
	if o.MessageLimit <= 0 {
		o.MessageLimit = 16 << 20
	}
	if o.ChunkSize <= 0 {
		o.ChunkSize = 1 << 20
	}
	if o.TensorLimit <= 0 {
		o.TensorLimit = 16 << 30
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = 30 * time.Second
	}
	if o.Buffer <= 0 {
		o.Buffer = 128 << 10
	}
	return o
}

// Client talks to one tensor server. It may be used by many at a time.
type Client struct {
	target  string
	options Options
	conn    *grpc.ClientConn
	pool    *wire.Pool // of chunks that are read
}

// What a server may have under way before it is read.
const window = 4 << 20

// New returns a client of the server at target, "host:port", in plain HTTP/2.
// It connects with the first call.
func New(target string, o Options) (*Client, error) {
	o = o.withDefaults()
	conn, err := grpc.NewClient("passthrough:///"+target,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(o.Dialer),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(wire.Codec{}),
			grpc.MaxCallRecvMsgSize(o.MessageLimit),
		),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2*window),
		grpc.WithReadBufferSize(o.Buffer), grpc.WithWriteBufferSize(o.Buffer),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithMaxHeaderListSize(16<<10),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: time.Minute}),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, &Error{Op: "connect", Target: target, Class: Local, Err: err}
	}
	return &Client{target: target, options: o, conn: conn, pool: wire.NewPool(o.ChunkSize)}, nil
}

// Close ends the connection and all calls on it.
func (c *Client) Close() error { return c.conn.Close() }

// Connect waits for a connection. It gives up with the first attempt that fails.
func (c *Client) Connect(ctx context.Context) error {
	c.conn.Connect()
	for {
		state := c.conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			// The reason is told to calls only; this one fails at once.
			_, err := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{})
			if err == nil {
				return nil // it was a moment's failure
			}
			return c.failed(ctx, "connect", "", err)
		default:
		}
		if !c.conn.WaitForStateChange(ctx, state) {
			return c.failed(ctx, "connect", "", ctx.Err())
		}
	}
}

// Health asks for the health of a service by its full name, "" for that of
// the server.
func (c *Client) Health(ctx context.Context, service string) (healthpb.HealthCheckResponse_ServingStatus, error) {
	resp, err := healthpb.NewHealthClient(c.conn).Check(c.outgoing(ctx), &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		return healthpb.HealthCheckResponse_UNKNOWN, c.failed(ctx, "health check of "+service, "", err)
	}
	return resp.GetStatus(), nil
}

// MetricsFilter picks metrics; an empty field lets everything through.
type MetricsFilter struct {
	Names   []string
	Sources []string
	Labels  map[string]string
}

// metricsServices are the full names of the services that have metrics: that of SkyTorch, and that of KPU, its earlier
// name, whose messages are the same.
func metricsServices() []string {
	return []string{skymetrics.Metrics_ServiceDesc.ServiceName, "kpu.metrics.v1.Metrics"}
}

// Metrics returns one snapshot for each of the server's sources. Where the server has no metrics service at all, the
// class of the error is [Unsupported].
func (c *Client) Metrics(ctx context.Context, f MetricsFilter) ([]*skymetrics.MetricsSnapshot, error) {
	req := &skymetrics.GetMetricsRequest{MetricNames: f.Names, Sources: f.Sources, LabelFilters: f.Labels}
	var err error
	for _, service := range metricsServices() {
		resp := &skymetrics.GetMetricsResponse{}
		if err = c.conn.Invoke(c.outgoing(ctx), "/"+service+"/GetMetrics", req, resp); err == nil {
			return resp.GetSnapshots(), nil
		}
		if status.Code(err) != codes.Unimplemented {
			break
		}
	}
	return nil, c.failed(ctx, "read metrics", "", err)
}

// outgoing adds what a gateway needs.
func (c *Client) outgoing(ctx context.Context) context.Context {
	if c.options.ComputeID == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "compute-id", c.options.ComputeID)
}

func (c *Client) failed(ctx context.Context, op, tensor string, err error) error {
	if err == nil {
		return nil
	}
	class, err := classify(ctx, err)
	return &Error{Op: op, Tensor: tensor, Target: c.target, Class: class, Err: err}
}

var errStalled = errors.New("no progress")

// transfer is a stream that is given up when it makes no progress.
type transfer struct {
	ctx    context.Context //nolint:containedctx // that of the stream, for classify
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func (c *Client) transfer(ctx context.Context) *transfer {
	ctx, cancel := context.WithCancelCause(c.outgoing(ctx))
	t := &transfer{ctx: ctx, cancel: cancel, limit: c.options.StallTimeout}
	t.timer = time.AfterFunc(t.limit, func() {
		cancel(fmt.Errorf("%w for %s", errStalled, t.limit))
	})
	return t
}

func (t *transfer) progress() { t.timer.Reset(t.limit) }

func (t *transfer) end() {
	t.timer.Stop()
	t.cancel(nil)
}
