package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/hostpath"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/options"
)

const (
	// startTimeout bounds each wait of the start; a loaded two-core machine needs a few seconds.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the stop of each part.
	stopTimeout = 10 * time.Second
)

// Cluster is a running control plane.
type Cluster struct {
	client kubernetes.Interface
	parts  []part // in start order
	// running ends when a part fails, with the failure as its cause.
	running context.Context
	fail    context.CancelCauseFunc
}

// part is something that runs until it is stopped.
type part struct {
	name string
	stop func() error
}

// Start brings up the control plane and returns once a workload can run.
// On an error everything that was started is stopped again.
func Start(ctx context.Context, opts options.Options) (_ *Cluster, err error) {
	cluster := &Cluster{}
	cluster.running, cluster.fail = context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			if cause := context.Cause(cluster.running); cause != nil {
				err = cause // and err only says what waited for the failed part
			}
			err = errors.Join(err, cluster.Stop())
		}
	}()
	// Waiting is in vain once a part has failed.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(cluster.running, cancel)()
	// Some parts stop as soon as their context ends. They get one that outlives
	// ctx, so that an interrupt leads to Stop and its order instead.
	base := context.WithoutCancel(ctx)

	logFile, err := openLog(opts)
	if err != nil {
		return nil, err
	}
	cluster.add("log", logFile.Close)

	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(opts.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	server := "https://" + listener.Addr().String()
	files, err := writeCerts(opts.Dir, server, opts.Kubeconfig)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}

	etcd, etcdURL, err := startEtcd(ctx, opts.Dir, logFile.Name())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	cluster.add("etcd", func() error { etcd.Close(); return nil })

	run, err := prepareAPIServer(base, listener, files, etcdURL, opts.Dir, opts.AuditLog)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	cluster.launch(base, "kube-apiserver", run)

	config, err := clientcmd.BuildConfigFromFlags("", files.adminKubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no throttling on our side
	config.WarningHandler = rest.NoWarnings{}
	if cluster.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if err := waitReady(ctx, cluster.client); err != nil {
		return nil, err
	}

	if run, err = prepareControllerManager(base, files.adminKubeconfig, files); err != nil {
		return nil, err
	}
	cluster.add("volumes", func() error {
		ctx, cancel := context.WithTimeout(base, stopTimeout)
		defer cancel()
		return hostpath.Remove(ctx, hostpath.Root, cluster.client)
	})
	cluster.launch(base, "kube-controller-manager", run)
	if run, err = prepareScheduler(base, files.adminKubeconfig, opts.Dir); err != nil {
		return nil, err
	}
	cluster.launch(base, "kube-scheduler", run)

	kubelet, err := net.Listen("tcp", net.JoinHostPort(nodeIP, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for the fake kubelet: %w", err)
	}
	stopKubelet, err := startKubelet(base, cluster.client, files, kubelet)
	if err != nil {
		return nil, errors.Join(err, kubelet.Close())
	}
	cluster.add("kubelet", stopKubelet)

	kwokCtx, stopKWOK := context.WithCancel(base)
	cluster.add("kwok", func() error { stopKWOK(); return nil })
	if err := startKWOK(kwokCtx, files.adminKubeconfig, kubelet.Addr().(*net.TCPAddr).Port, logFile); err != nil {
		return nil, err
	}
	if err := seed(ctx, config, cluster.client, opts); err != nil {
		return nil, err
	}
	return cluster, context.Cause(cluster.running)
}

// Wait blocks until the context ends (nil) or a part of the cluster fails (its error).
func (c *Cluster) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.running.Done():
		return context.Cause(c.running)
	}
}

// Stop ends every part in reverse order of its start.
func (c *Cluster) Stop() error {
	var errs []error
	for i := len(c.parts) - 1; i >= 0; i-- {
		if err := c.parts[i].stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", c.parts[i].name, err))
		}
	}
	c.parts = nil
	return errors.Join(errs...)
}

func (c *Cluster) add(name string, stop func() error) {
	c.parts = append(c.parts, part{name, stop})
}

// launch runs a part in the background; its early end is a failure of the cluster.
func (c *Cluster) launch(base context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(base)
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := run(ctx)
		if ctx.Err() == nil {
			c.fail(fmt.Errorf("%s ended: %w", name, err))
		}
	}()
	c.add(name, func() error {
		cancel()
		select {
		case <-done:
			return nil
		case <-time.After(stopTimeout):
			return fmt.Errorf("still running after %s", stopTimeout)
		}
	})
}

// openLog sends what the components log to a file in the directory, or to stderr.
func openLog(opts options.Options) (*os.File, error) {
	file, err := os.OpenFile(opts.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	var out io.Writer = file
	if opts.Verbose {
		out = os.Stderr
	}
	setLogOutput(out)
	return file, nil
}
