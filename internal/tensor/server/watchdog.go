package server

import (
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// watchdog cancels transfers of tensors without any sent or received message during
// the limit, because a stalled peer would occupy memory forever. gRPC releases the
// messages of a handler after the call has ended.
func watchdog(limit time.Duration) grpc.StreamServerInterceptor {
	return func(srv any, st grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if !strings.Contains(info.FullMethod, ".torch.Service/") {
			return handler(srv, st) // watches of health and metrics may be idle
		}
		stalled := make(chan struct{})
		once := sync.OnceFunc(func() { close(stalled) })
		w := &watched{ServerStream: st, timer: time.AfterFunc(limit, once), limit: limit}
		defer w.timer.Stop()
		done := make(chan error, 1)
		go func() { done <- handler(srv, w) }()
		select {
		case err := <-done:
			return err
		case <-stalled:
			return status.Errorf(codes.DeadlineExceeded, "no chunk was received or sent for %s", limit)
		}
	}
}

type watched struct {
	grpc.ServerStream
	timer *time.Timer
	limit time.Duration
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
