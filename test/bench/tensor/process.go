package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/tensor/server"
)

// defaultMemory is the limit of the tensors of a server, in bytes.
const defaultMemory = 8 << 30

// startServer starts a server in a separate process, with a limit for its tensors.
// It returns its address and a function that stops it, and returns its peak memory
// in MiB.
func startServer(ctx context.Context, kind string, limit int64) (string, func() string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve", kind,
		"-limit", strconv.FormatInt(limit, 10))
	cmd.Stderr = os.Stderr
	// The server exits when this process exits, for whatever reason.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines := bufio.NewReader(out)
	address, err := lines.ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("server %s: %w", kind, err), cmd.Wait())
	}
	stop := func() string {
		in.Close()
		peak, _ := lines.ReadString('\n')
		_ = cmd.Wait()
		return strings.TrimSpace(peak)
	}
	return strings.TrimSpace(address), stop, nil
}

// serveChild serves until its standard input is closed, then prints its peak memory.
func serveChild(ctx context.Context, kind string, limit int64) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		switch kind {
		case "ours":
			served <- server.New(server.Options{MemoryLimit: limit}).Serve(ctx, l, time.Second)
		case "grpc":
			served <- servePlain(ctx, l)
		default:
			served <- serveTCP(ctx, l)
		}
	}()
	fmt.Fprintln(os.Stdout, l.Addr())
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, peakMemory())
	cancel()
	return <-served
}

// memory transfers one large tensor between two new processes, and prints the peak memory of each.
func memory(ctx context.Context, size int64) error {
	fmt.Fprintf(os.Stdout, "Peak memory (VmHWM) in MiB at %s, each in separate processes; the client keeps the "+
		"tensor in memory\n\n", bytesText(size))
	fmt.Fprintln(os.Stdout, "| | client | server |")
	fmt.Fprintln(os.Stdout, "|---|---|---|")
	for _, kind := range kinds()[:2] {
		for _, op := range ops() {
			address, stop, err := startServer(ctx, kind, defaultMemory)
			if err != nil {
				return err
			}
			used, err := runClient(ctx, address, kind, op, size)
			served := stop()
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stdout, "| %s, %s | %s | %s |\n",
				map[string]string{"ours": "ours", "grpc": "plain gRPC"}[kind], op, used, served)
		}
	}
	return nil
}

// runClient runs clientChild in a separate process, and returns what it prints.
func runClient(ctx context.Context, address, kind, op string, size int64) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	client := exec.CommandContext(ctx, self,
		"-client", address, "-kind", kind, "-op", op, "-size", strconv.FormatInt(size, 10))
	client.Stderr = os.Stderr
	out, err := client.Output()
	if err != nil {
		return "", fmt.Errorf("client %s: %w", kind, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func clientChild(ctx context.Context, kind, address, op string, size int64) error {
	if kind == probeKind {
		return probeChild(ctx, address, size)
	}
	p, err := newPeer(ctx, kind, address, 1, fileSize(size))
	if err != nil {
		return err
	}
	defer p.close()
	if err := do(ctx, p, op, size); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, peakMemory())
	return nil
}

// peakMemory returns the peak resident memory of this process, in MiB.
func peakMemory() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "?"
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, _ := strconv.Atoi(fields[1])
			return strconv.Itoa(kib >> 10)
		}
	}
	return "?"
}
