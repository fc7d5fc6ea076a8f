package server

import (
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ender is the part of a gRPC stream that sends the status of a call and cancels its context, which ends all waits for
// messages. gRPC calls it in the same way when sending fails while another goroutine is receiving.
type ender interface {
	WriteStatus(s *status.Status) error
}

// watchdog ends transfers of tensors without any sent or received message during the limit, because a stalled peer
// would occupy memory forever.
//
// The interface of gRPC has no function that ends a call except returning from its first goroutine. The handler would
// then need a second goroutine, which takes 10% of the time of a small transfer.
func watchdog(limit time.Duration) grpc.StreamServerInterceptor {
	stalled := status.Newf(codes.DeadlineExceeded, "no chunk was received or sent for %s", limit)
	return func(srv any, st grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if !strings.Contains(info.FullMethod, ".torch.Service/") {
			return handler(srv, st) // watches of health and metrics may be idle
		}
		call, ok := grpc.ServerTransportStreamFromContext(st.Context()).(ender)
		if !ok {
			return status.Error(codes.Internal, "this version of gRPC does not support the stall timeout")
		}
		w := &watched{ServerStream: st, limit: limit}
		w.timer = time.AfterFunc(limit, func() {
			w.stalled.Store(true)
			_ = call.WriteStatus(stalled) // fails only if the connection is closed
		})
		defer w.timer.Stop()
		err := handler(srv, w)
		if w.stalled.Load() {
			return stalled.Err() // for the metrics; it was already sent
		}
		return err
	}
}

// watched is a stream whose messages restart the timer.
type watched struct {
	grpc.ServerStream
	timer   *time.Timer
	limit   time.Duration
	stalled atomic.Bool
}

func (w *watched) RecvMsg(m any) error {
	err := w.ServerStream.RecvMsg(m)
	w.timer.Reset(w.limit)
	return err
}

func (w *watched) SendMsg(m any) error {
	err := w.ServerStream.SendMsg(m)
	w.timer.Reset(w.limit)
	return err
}
