package main

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// prepareControllerManager parses the flags of kube-controller-manager and returns the function that runs it. dir is
// the directory of the cluster.
func prepareControllerManager(
	ctx context.Context, files certFiles, dir string,
) (func(context.Context) error, error) {
	opts, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("options of kube-controller-manager: %w", err)
	}
	all, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	err = parseFlags(opts.Flags(all, disabled, aliases), []string{
		"--kubeconfig=" + files.adminKubeconfig,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--use-service-account-credentials=false",
		"--service-account-private-key-file=" + files.accountKey,
		"--root-ca-file=" + files.ca,
		"--cluster-signing-cert-file=" + files.ca,
		"--cluster-signing-key-file=" + files.caKey,
		"--enable-hostpath-provisioner=true",
		// It creates this directory, by default in /usr/libexec.
		"--flex-volume-plugin-dir=" + filepath.Join(dir, "volume-plugins"),
		// Otherwise, a PersistentVolumeClaim for an existing volume waits up to 15 s.
		"--pvclaimbinder-sync-period=1s",
		// Fake nodes must not become unhealthy on an overloaded machine.
		"--node-monitor-grace-period=10m",
		// Otherwise, a HorizontalPodAutoscaler is processed 15 s after its creation.
		"--horizontal-pod-autoscaler-sync-period=1s",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--concurrent-deployment-syncs=20",
		"--concurrent-replicaset-syncs=20",
		"--concurrent-statefulset-syncs=20",
		"--concurrent-job-syncs=20",
		"--concurrent-endpoint-syncs=10",
		"--concurrent-service-endpoint-syncs=10",
		"--concurrent-namespace-syncs=20",
		"--concurrent-gc-syncs=30",
		"--controller-shutdown-timeout=5s",
	})
	if err != nil {
		return nil, fmt.Errorf("flags of kube-controller-manager: %w", err)
	}
	config, err := opts.Config(ctx, all, disabled, aliases)
	if err != nil {
		return nil, fmt.Errorf("options of kube-controller-manager: %w", err)
	}
	return func(ctx context.Context) error { return app.Run(ctx, config.Complete()) }, nil
}
