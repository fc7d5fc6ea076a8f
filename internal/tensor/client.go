// Package tensor is a client of tensor servers: SkyTorch, its predecessor KPU, and
// the reference server in cmd/tensor-server. It streams tensors and buffers only a
// few chunks, in addition to the data of the caller.
package tensor

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/printable"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Options configure the connection to a server and the limits of responses.
type Options struct {
	// Dialer opens connections, for example through a port-forward. Defaults to TCP to the target.
	Dialer func(ctx context.Context, target string) (net.Conn, error)
	// ComputeID is "<namespace>/<name>" of the compute, which a gateway uses for routing. Empty without a gateway.
	ComputeID string
	// Credentials secure the connection. Defaults to HTTP/2 without TLS.
	Credentials credentials.TransportCredentials
	// Token is a bearer token that each call carries, or "".
	Token string
	// ChunkSize is the number of data bytes in each sent chunk. Defaults to 1 MiB.
	ChunkSize int
	// MessageLimit is the maximum size of a received message, in bytes. Defaults to 16 MiB.
	MessageLimit int
	// TensorLimit is the maximum size of a received tensor, in bytes. Defaults to 16 GiB.
	TensorLimit int64
	// StallTimeout is the time without progress after which a transfer is cancelled. Defaults to 30 s.
	StallTimeout time.Duration
	// Numbering is the field numbering of sent SkyTorch chunks.
	Numbering wire.Numbering
	// Buffer is the size of the connection's read and write buffers. Defaults to 128 KiB.
	Buffer int
}

// DialTCP is the default dialer.
func DialTCP(ctx context.Context, target string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", target)
}

// withDefaults replaces the limits that are not positive. A peer that sends nothing for StallTimeout is reported.
func (o Options) withDefaults() Options {
	if o.Dialer == nil {
		o.Dialer = DialTCP
	}
	if o.Credentials == nil {
		o.Credentials = insecure.NewCredentials()
	}
	o.MessageLimit = wire.Positive(o.MessageLimit, 16<<20)
	o.ChunkSize = wire.Positive(o.ChunkSize, 1<<20)
	o.TensorLimit = wire.Positive(o.TensorLimit, 16<<30)
	o.StallTimeout = wire.Positive(o.StallTimeout, 30*time.Second)
	o.Buffer = wire.Positive(o.Buffer, 128<<10)
	return o
}

// Client is a client of one tensor server. It is safe for concurrent use.
type Client struct {
	target  string
	options Options
	conn    *grpc.ClientConn
}

// window is the maximum number of bytes that a server may send before they are read.
const window = 4 << 20

// New returns a client of the server at target, "host:port". The first call opens the connection.
func New(target string, o Options) (*Client, error) {
	o = o.withDefaults()
	conn, err := grpc.NewClient("passthrough:///"+target,
		grpc.WithTransportCredentials(o.Credentials),
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
	return &Client{target: target, options: o, conn: conn}, nil
}

// Close closes the connection and cancels all calls.
func (c *Client) Close() error { return c.conn.Close() }

// Connect waits for a connection. It returns an error after the first failed attempt.
func (c *Client) Connect(ctx context.Context) error {
	c.conn.Connect()
	for {
		state := c.conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			// Only calls get the reason of the failure. This one fails immediately.
			_, err := healthpb.NewHealthClient(c.conn).Check(ctx, &healthpb.HealthCheckRequest{})
			return c.failed(ctx, "connect", "", err) // nil if the failure was temporary
		default:
		}
		if !c.conn.WaitForStateChange(ctx, state) {
			return c.failed(ctx, "connect", "", ctx.Err())
		}
	}
}

// Health requests the health of a service by its full name, or of the whole server
// for "".
func (c *Client) Health(ctx context.Context, service string) (healthpb.HealthCheckResponse_ServingStatus, error) {
	resp, err := healthpb.NewHealthClient(c.conn).Check(c.outgoing(ctx), &healthpb.HealthCheckRequest{Service: service})
	return resp.GetStatus(), c.failed(ctx, "health check of "+service, "", err) // UNKNOWN without a response
}

// Metrics returns one snapshot for each source of the server. An empty field of the request selects all metrics. If the
// server has no metrics service, the class of the error is [Unsupported].
func (c *Client) Metrics(
	ctx context.Context, req *skymetrics.GetMetricsRequest,
) ([]*skymetrics.MetricsSnapshot, error) {
	var err error
	// KPU is the earlier name of SkyTorch. Its service has the same messages.
	for _, service := range []string{skymetrics.Metrics_ServiceDesc.ServiceName, "kpu.metrics.v1.Metrics"} {
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

// outgoing adds the metadata for a gateway and the token.
func (c *Client) outgoing(ctx context.Context) context.Context {
	if c.options.ComputeID != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "compute-id", c.options.ComputeID)
	}
	if c.options.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.options.Token)
	}
	return ctx
}

func (c *Client) failed(ctx context.Context, op, tensor string, err error) error {
	if err == nil {
		return nil
	}
	class, err := classify(ctx, err)
	if text := printable.Hide(err.Error(), c.options.Token); text != err.Error() {
		err = errors.New(text)
	}
	return &Error{Op: op, Tensor: tensor, Target: c.target, Class: class, Err: err}
}
