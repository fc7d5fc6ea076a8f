package server

import (
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// watchdog ends transfers of tensors in which neither a message comes nor one
// goes for so long: a peer that stalls would hold its memory for ever. gRPC
// lets go of a handler's messages once the call has ended.
func watchdog(limit time.Duration) grpc.StreamServerInterceptor {
	return func(srv any, st grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if !strings.Contains(info.FullMethod, ".torch.Service/") {
			return handler(srv, st) // watches of health and metrics rest as long as they like
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
			return status.Errorf(codes.DeadlineExceeded, "no chunk could be taken or given for %s", limit)
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
