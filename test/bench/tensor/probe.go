package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/probe"
)

// probeKind is the kind of the client that is the probe of kt_endpoint.
const probeKind = "probe"

// probeMemory sends a large tensor to our server and back, as the probe of kt_endpoint does, and prints the peak memory
// of the client, which holds no tensor, and of the server, which holds it.
func probeMemory(ctx context.Context, size int64) error {
	const others = 1 << 30 // memory of the server besides the tensor
	address, stop, err := startServer(ctx, "ours", size+others)
	if err != nil {
		return err
	}
	used, err := runClient(ctx, address, probeKind, "", size)
	served := stop()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "| ours, probe of %s | %s | %s |\n", bytesText(size), used, served)
	return nil
}

func probeChild(ctx context.Context, address string, size int64) error {
	result := probe.GRPC(ctx, probe.Endpoint{Target: address, RoundTrip: size, Timeout: time.Hour})
	if result.Bytes != size {
		return errors.New(result.Detail)
	}
	fmt.Fprintln(os.Stdout, peakMemory())
	return nil
}
