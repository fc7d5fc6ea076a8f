package tensor_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

// serve starts a server on a free port, which stops with the test.
func serve(t testing.TB, o server.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.New(o).Serve(t.Context(), l, time.Second) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dial(t testing.TB, target string, o tensor.Options) *tensor.Client {
	t.Helper()
	c, err := tensor.New(target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// upload writes a tensor in memory.
func upload(ctx context.Context, c *tensor.Client, id uint64, data []byte) error {
	return c.Upload(ctx, id, int64(len(data)), bytes.NewReader(data))
}

// download reads a tensor into memory.
func download(ctx context.Context, c *tensor.Client, id uint64, size int64) ([]byte, error) {
	var out bytes.Buffer
	err := c.Download(ctx, id, size, &out)
	return out.Bytes(), err
}

func random(n int64) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out)
	return out
}

// goroutinesEnd fails the test if goroutines of this module or of gRPC are running
// after its cleanup. Tests that use it must not be parallel.
func goroutinesEnd(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		deadline := time.Now().Add(10 * time.Second)
		for {
			left := strays()
			if left == "" {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("goroutines are still running:\n%s", left)
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func strays() string {
	buf := make([]byte, 1<<20)
	var left []string
	for i, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if i > 0 && (strings.Contains(g, "grpc") || strings.Contains(g, "internal/tensor")) &&
			!strings.Contains(g, "testing.(*T).Run") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}
