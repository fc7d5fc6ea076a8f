package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// startEtcd starts a single-member etcd on free loopback ports and returns it with its client URL.
// Nothing is synced to disk: the data survives any end of the process, but not a crash of the machine.
func startEtcd(ctx context.Context, dir, logFile string) (*embed.Etcd, string, error) {
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(dir, "etcd")
	cfg.UnsafeNoFsync = true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = anyPort, anyPort
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = anyPort, anyPort
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.LogLevel = "panic"
	cfg.LogOutputs = []string{logFile}
	cfg.QuotaBackendBytes = 4 << 30
	cfg.EnableGRPCGateway = false
	// One revision per object is sufficient for watches that are slightly behind.
	cfg.AutoCompactionMode = embed.CompactorModePeriodic
	cfg.AutoCompactionRetention = "5m"

	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return server, "http://" + server.Clients[0].Addr().String(), nil
	case err := <-server.Err():
		return nil, "", fmt.Errorf("etcd exited during its start: %w", err)
	case <-ctx.Done():
	case <-time.After(startTimeout):
	}
	server.Close()
	return nil, "", fmt.Errorf("etcd was not ready within %s; see %s", startTimeout, logFile)
}
