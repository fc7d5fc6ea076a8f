package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/tensor"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

func TestServesUntilItsContextIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"-host", "127.0.0.1", "-port", "0", "-memory-limit", "64Mi", "-grace", "1s"}, w)
	}()
	buf := make([]byte, 1000)
	n, err := r.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	address := regexp.MustCompile(`listens on (\S+);`).FindSubmatch(buf[:n])
	if address == nil {
		t.Fatalf("it printed %q", buf[:n])
	}
	got := probe.GRPC(ctx, probe.Endpoint{Target: string(address[1]), RoundTrip: 3 << 20, Options: tensor.Options{}})
	if got.Status != probe.Serving || got.Bytes != 3<<20 {
		t.Errorf("probe: %+v", got)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"-memory-limit lots", "512Mi"},
		{"-chunk-size 0", "greater than 0"},
		{"extra", `unknown argument "extra"`},
		{"-port 99999", "invalid port"},
	} {
		err := run(t.Context(), strings.Fields(c.args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) ||
		!strings.Contains(help.String(), "-memory-limit") {
		t.Errorf("-h: %v\n%s", err, &help)
	}
}
