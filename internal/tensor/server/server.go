package server

import (
	"context"
	"errors"
	"net"
	"runtime"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/kputorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skymetrics"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/pb/skytorch"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/wire"
)

// Server is a tensor server. Use New to create one.
type Server struct {
	options Options
	store   *store
	metrics *metrics
	health  *health.Server
	grpc    *grpc.Server
}

// New returns a server that is ready to serve.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{options: o, store: newStore(o.MemoryLimit), health: health.NewServer()}
	s.metrics = &metrics{store: s.store, started: time.Now(), calls: map[call]int64{}}
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.MaxRecvMsgSize(o.MessageLimit),
		grpc.MaxSendMsgSize(o.MessageLimit),
		grpc.MaxConcurrentStreams(streams),
		// The amount of unread data that a client may send: at least two chunks per call, and at most a few chunks
		// per connection.
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2*window),
		grpc.WriteBufferSize(buffer), grpc.ReadBufferSize(buffer),
		grpc.MaxHeaderListSize(16<<10),
		grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
		// Goroutines whose stack has already grown. Calls above this number start a new goroutine.
		grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), //nolint:gosec // never negative
		grpc.UnaryInterceptor(s.metrics.unary),
		grpc.ChainStreamInterceptor(s.metrics.stream, watchdog(o.StallTimeout)),
	)
	sky := &skyService{server: s}
	s.grpc.RegisterService(streaming(skytorch.Service_ServiceDesc, map[string]grpc.StreamHandler{
		"UpdateTensor": func(_ any, st grpc.ServerStream) error { return sky.update(st) },
		"GetTensor":    func(_ any, st grpc.ServerStream) error { return sky.get(st) },
	}), sky)
	kpu := &kpuService{server: s}
	s.grpc.RegisterService(streaming(kputorch.Service_ServiceDesc, map[string]grpc.StreamHandler{
		"ReceiveTensors": func(_ any, st grpc.ServerStream) error { return kpu.receive(st) },
		"SendTensors":    func(_ any, st grpc.ServerStream) error { return kpu.send(st) },
		"StreamTensors":  func(_ any, st grpc.ServerStream) error { return kpu.echo(st) },
	}), kpu)
	skymetrics.RegisterMetricsServer(s.grpc, s.metrics)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	for _, name := range []string{
		skytorch.Service_ServiceDesc.ServiceName, kputorch.Service_ServiceDesc.ServiceName,
		skymetrics.Metrics_ServiceDesc.ServiceName,
	} {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
	return s
}

const (
	window = 4 << 20
	buffer = 256 << 10
)

// streaming returns a generated service with other stream handlers, whose chunks
// are not copied.
func streaming(desc grpc.ServiceDesc, handlers map[string]grpc.StreamHandler) *grpc.ServiceDesc {
	streams := make([]grpc.StreamDesc, len(desc.Streams))
	for i, s := range desc.Streams {
		s.Handler = handlers[s.StreamName]
		streams[i] = s
	}
	desc.Streams = streams
	return &desc
}

// Serve serves on the listener until Stop is called or ctx is cancelled, in which
// case it stops within the grace period, like Stop. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- s.grpc.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		s.Stop(grace)
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	}
}

// Stop sets the health status to NOT_SERVING, waits for running calls, and cancels
// calls that take longer than the grace period.
func (s *Server) Stop(grace time.Duration) {
	s.health.Shutdown()
	late := time.AfterFunc(grace, s.grpc.Stop)
	defer late.Stop()
	s.grpc.GracefulStop()
}

// fail converts any error of a transfer to a status.
func fail(err error) error {
	fault, ok := errors.AsType[*wire.Error](err)
	if !ok {
		if _, ok := status.FromError(err); ok {
			return err
		}
		return status.FromContextError(err).Err()
	}
	if fault.Fault == wire.Limit {
		return status.Error(codes.ResourceExhausted, fault.Error())
	}
	return status.Error(codes.InvalidArgument, fault.Error())
}
