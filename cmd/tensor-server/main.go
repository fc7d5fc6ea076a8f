// Command tensor-server is the reference tensor server. It serves the protocols
// of KPU and SkyTorch, health, metrics and reflection on one port, and keeps
// tensors in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := run(ctx, os.Args[1:], os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "tensor-server:", err)
		os.Exit(1) //nolint:gocritic // the process exits, so stop need not run
	}
}

// size is a number of bytes, parsed as a Kubernetes quantity.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }

func (s *size) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return errors.New("must be a number of bytes, or a quantity such as 512Mi or 2Gi")
	}
	if q.Sign() <= 0 {
		return errors.New("must be greater than 0")
	}
	*s = size(q.Value())
	return nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	memory, tensor, message, chunk := size(1<<30), size(0), size(16<<20), size(1<<20)
	flags := flag.NewFlagSet("tensor-server", flag.ContinueOnError)
	flags.SetOutput(out)
	host := flags.String("host", "", "address to listen on; all addresses if empty")
	port := flags.Uint("port", kind.TensorServerPort, "port to listen on; 0 for any free port")
	grace := flags.Duration("grace", 20*time.Second, "maximum time for running calls to end after SIGTERM")
	stall := flags.Duration("stall-timeout", 30*time.Second, "time without progress after which a transfer is ended")
	flags.Var(&memory, "memory-limit", "maximum `bytes` of all tensors together, such as 512Mi or 2Gi")
	flags.Var(&tensor, "tensor-limit", "maximum `bytes` of one tensor (default: -memory-limit)")
	flags.Var(&message, "message-limit", "maximum `bytes` of one message")
	flags.Var(&chunk, "chunk-size", "maximum `bytes` of data in one chunk")
	showVersion := flags.Bool("version", false, "print the version and exit")
	flags.Usage = func() {
		fmt.Fprintf(out, "tensor-server keeps tensors in memory and serves them over gRPC (plain HTTP/2), in the\n"+
			"protocols of SkyTorch and KPU, with health, metrics and reflection.\n\nUsage: tensor-server [flags]\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; see -h", flags.Arg(0))
	}
	if *showVersion {
		_, err := fmt.Fprintln(out, version)
		return err
	}
	var listener net.ListenConfig
	l, err := listener.Listen(ctx, "tcp", net.JoinHostPort(*host, strconv.FormatUint(uint64(*port), 10)))
	if err != nil {
		return err
	}
	// Collect garbage instead of growing far beyond the memory limit of the tensors.
	debug.SetMemoryLimit(int64(memory) + 128<<20)
	logger := log.New(out, "", log.LstdFlags|log.LUTC)
	logger.Printf("tensor-server %s listens on %s; memory limit for tensors: %s bytes", version, l.Addr(),
		memory.String())
	s := server.New(server.Options{
		MemoryLimit: int64(memory), TensorLimit: int64(tensor), MessageLimit: int(message), ChunkSize: int(chunk),
		StallTimeout: *stall,
	})
	if err := s.Serve(ctx, l, *grace); err != nil {
		return err
	}
	logger.Print("stopped")
	return nil
}
