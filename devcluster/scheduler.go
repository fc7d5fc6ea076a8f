package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// schedulerConfig has a placeholder for the kubeconfig. The short back-off retries unschedulable pods quickly.
const schedulerConfig = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: 2000, burst: 4000}
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 2
enableProfiling: false
`

// prepareScheduler writes the configuration of kube-scheduler to dir and returns the function that runs it.
func prepareScheduler(ctx context.Context, files certFiles, dir string) (func(context.Context) error, error) {
	file := filepath.Join(dir, "scheduler.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, schedulerConfig, files.adminKubeconfig), 0o600); err != nil {
		return nil, err
	}
	opts := options.NewOptions()
	if err := parseFlags(*opts.Flags, []string{"--config=" + file, "--secure-port=0"}); err != nil {
		return nil, fmt.Errorf("flags of kube-scheduler: %w", err)
	}
	config, scheduler, err := app.Setup(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("options of kube-scheduler: %w", err)
	}
	return func(ctx context.Context) error { return app.Run(ctx, config, scheduler) }, nil
}
