package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

// result is the result of one run of the CLI.
type result struct {
	time    time.Duration
	peakKiB int // peak memory of the provider
}

// terraform runs one command with one of the providers.
func (b *bench) terraform(ctx context.Context, provider string, args ...string) (result, error) {
	settings := filepath.Join(b.dir, provider+".tfrc")
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"ktdev/kt\" = %q\n  }\n  direct {}\n}\n",
		b.providers[provider])
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		return result{}, err
	}
	command := exec.CommandContext(ctx, b.cli, append(args, "-no-color", "-input=false")...)
	command.Dir = b.dir
	command.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+settings, "CHECKPOINT_DISABLE=1")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	start := time.Now()
	if err := command.Start(); err != nil {
		return result{}, err
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	var r result
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			r.time = time.Since(start)
			if err != nil {
				err = fmt.Errorf("%s %v: %w\n%s", b.cli, args, err, tail(out.String(), 40))
			}
			return r, err
		case <-ticker.C:
			r.peakKiB = max(r.peakKiB, peakMemory(command.Process.Pid))
		}
	}
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// peakMemory returns the peak resident memory of the child process of parent that
// is named terraform-provider-kt, in KiB, or 0 if there is none.
func peakMemory(parent int) int {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, task := range tasks {
		children, _ := os.ReadFile(task)
		for child := range strings.FieldsSeq(string(children)) {
			status, err := os.ReadFile(filepath.Join("/proc", child, "status"))
			if err != nil || !strings.Contains(string(status), "Name:\tterraform-provi") {
				continue
			}
			_, rest, _ := strings.Cut(string(status), "VmHWM:")
			fields := strings.Fields(rest)
			if len(fields) == 0 {
				continue
			}
			kib, _ := strconv.Atoi(fields[0])
			return kib
		}
	}
	return 0
}

// startUp measures the time until the provider's process serves its schema: the
// handshake of go-plugin, and one GetProviderSchema.
func startUp(ctx context.Context, binary, tmp string, runs int) (time.Duration, error) {
	var times []time.Duration
	for range runs {
		took, err := startOnce(ctx, binary, tmp)
		if err != nil {
			return 0, err
		}
		times = append(times, took)
	}
	return median(times), nil
}

func startOnce(ctx context.Context, binary, tmp string) (took time.Duration, err error) {
	command := exec.CommandContext(ctx, binary)
	// The socket is created in tmp, because a killed process does not remove it.
	command.Env = append(os.Environ(), "TMPDIR="+tmp, "PLUGIN_PROTOCOL_VERSIONS=6",
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2")
	stdout, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed, so its status is irrelevant
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("the provider's handshake: %w", err)
	}
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[2] != "unix" {
		return 0, errors.New("unexpected handshake: " + line)
	}
	conn, err := grpc.NewClient("unix:"+parts[3], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	err = conn.Invoke(ctx, "/tfplugin6.Provider/GetProviderSchema", &emptypb.Empty{}, &emptypb.Empty{})
	return time.Since(start), err
}
