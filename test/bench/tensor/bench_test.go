package main

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

// BenchmarkSmall compares transfers of 1 KiB with plain gRPC. Both ends are in this process, so that the reported
// allocations and processor time are those of client and server together. Unlike the elapsed time, they depend little
// on other load of the machine.
func BenchmarkSmall(b *testing.B) {
	const size = 1 << 10
	for _, op := range ops() {
		for _, kind := range kinds()[:2] {
			b.Run(op+"/"+kind, func(b *testing.B) {
				p := small(b, kind, fileSize(size))
				if err := do(b.Context(), p, op, size); err != nil { // connects
					b.Fatal(err)
				}
				b.ReportAllocs()
				start := processorTime(b)
				for b.Loop() {
					if err := do(b.Context(), p, op, size); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// small returns a client of a new server of the given kind. Both end with the benchmark.
func small(b *testing.B, kind string, largest int64) peer {
	b.Helper()
	var config net.ListenConfig
	l, err := config.Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() {
		if kind == "ours" {
			served <- server.New(server.Options{}).Serve(ctx, l, time.Second)
		} else {
			served <- servePlain(ctx, l)
		}
	}()
	p, err := newPeer(ctx, kind, l.Addr().String(), 1, largest)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		p.close()
		cancel()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return p
}

// processorTime returns the time that this process has used the processor.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
