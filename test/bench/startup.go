package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
)

// startUp measures the time until the provider's process serves its schema: the
// handshake of go-plugin, and one GetProviderSchema.
func startUp(ctx context.Context, binary, tmp string, runs int) (spread, error) {
	var times []time.Duration
	for range runs {
		took, err := startOnce(ctx, binary, tmp)
		if err != nil {
			return spread{}, err
		}
		times = append(times, took)
	}
	return spreadOf(times, func(d time.Duration) float64 { return float64(d.Milliseconds()) }), nil
}

func startOnce(ctx context.Context, binary, tmp string) (took time.Duration, err error) {
	command := exec.CommandContext(ctx, binary)
	// The socket is created in tmp, because a killed process does not remove it.
	command.Env = append(environment(), "TMPDIR="+tmp, "PLUGIN_PROTOCOL_VERSIONS=6",
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
