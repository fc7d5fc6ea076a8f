package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/hostpath"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/options"
)

const (
	// startTimeout limits each wait during the start, which takes a few seconds on a loaded two-core machine.
	startTimeout = 2 * time.Minute
	// stopTimeout limits the stop of each part.
	stopTimeout = 30 * time.Second
	// stopGrace is the time for clients to complete their requests.
	stopGrace = 3 * time.Second
)

// Cluster is a running control plane with its nodes.
type Cluster struct {
	opts  options.Options
	log   *os.File
	certs certFiles
	// base is the context of all parts. It outlives the caller's context, so that an
	// interrupt stops the parts in the order of Stop instead of all at once.
	base   context.Context
	parts  []part // in start order
	config *rest.Config
	client kubernetes.Interface
	// running is cancelled when a part fails, with the failure as its cause.
	running context.Context
	fail    context.CancelCauseFunc
}

// part is a component that runs until it is stopped.
type part struct {
	name string
	stop func() error
}

// Start starts the control plane and returns when workloads can run. After an
// error, it stops all started parts.
func Start(ctx context.Context, opts options.Options) (*Cluster, error) {
	base := context.WithoutCancel(ctx)
	running, fail := context.WithCancelCause(base)
	c := &Cluster{opts: opts, base: base, running: running, fail: fail}

	// Waiting for other parts is useless after a part has failed.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(running, cancel)()

	for _, step := range []func(context.Context) error{
		c.checkMachine, c.openLog, c.startAPI, c.startControllers, c.startNodes, c.startRealNodes, c.seed,
		c.awaitRealNodes,
	} {
		err := step(ctx)
		if cause := context.Cause(running); cause != nil {
			err = cause // err, if any, only states which wait depended on the failed part
		}
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
	}
	return c, nil
}

// openLog sends the log of the components to a file in the directory, or to stderr.
func (c *Cluster) openLog(context.Context) error {
	file, err := os.OpenFile(c.opts.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	c.log = file
	c.add("log", file.Close)
	var out io.Writer = file
	if c.opts.Verbose {
		out = os.Stderr
	}
	setLogOutput(out)
	return nil
}

// startAPI starts etcd and kube-apiserver, and waits until it serves.
func (c *Cluster) startAPI(ctx context.Context) error {
	listener, err := listenAgain(c.opts.DataDir(), c.opts.Port)
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	// kube-apiserver also closes it, if its start gets that far.
	c.add("listener", func() error { _ = listener.Close(); return nil })
	if c.certs, err = writeCerts(c.opts.DataDir(), "https://"+listener.Addr().String(), c.opts.Kubeconfig); err != nil {
		return err
	}
	etcd, etcdURL, err := startEtcd(ctx, c.opts.DataDir(), c.log.Name())
	if err != nil {
		return err
	}
	c.add("etcd", func() error { etcd.Close(); return nil })

	accepted := newConnections(listener)
	run, err := prepareAPIServer(c.base, accepted, c.certs, etcdURL, c.opts.DataDir(), c.opts.AuditLog)
	if err != nil {
		return err
	}
	c.launch("kube-apiserver", run, accepted.closeAll)

	if c.config, err = clientcmd.BuildConfigFromFlags("", c.certs.adminKubeconfig); err != nil {
		return err
	}
	c.config.QPS = -1 // no client-side throttling
	c.config.WarningHandler = rest.NoWarnings{}
	if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
		return err
	}
	// kube-apiserver exits with errors if it is stopped during its start, so Stop waits for the start first.
	c.add("kube-apiserver's start", func() error {
		err := waitReady(c.running, c.client)
		if context.Cause(c.running) != nil {
			err = nil // this or another part has failed
		}
		return err
	})
	return waitReady(ctx, c.client)
}

// startControllers starts kube-controller-manager and kube-scheduler.
func (c *Cluster) startControllers(ctx context.Context) error {
	if err := hostpath.Restore(ctx, hostpath.Root, c.client); err != nil {
		return err
	}
	run, err := prepareControllerManager(c.base, c.certs, c.opts.DataDir())
	if err != nil {
		return err
	}
	c.add("volumes", func() error {
		ctx, cancel := context.WithTimeout(c.base, stopTimeout)
		defer cancel()
		if c.opts.Kept() {
			return hostpath.RemoveEmpty(ctx, hostpath.Root, c.client)
		}
		return hostpath.Remove(ctx, hostpath.Root, c.client)
	})
	c.launch("kube-controller-manager", run, nil)
	if run, err = prepareScheduler(c.base, c.certs, c.opts.DataDir()); err != nil {
		return err
	}
	c.launch("kube-scheduler", run, nil)
	return nil
}

// startNodes starts the simulation of the nodes and their pods.
func (c *Cluster) startNodes(context.Context) error {
	listener, err := listen(nodeIP, 0)
	if err != nil {
		return fmt.Errorf("listen for the fake kubelet: %w", err)
	}
	stop, err := startKubelet(c.base, c.client, c.certs, listener)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	c.add("kubelet", stop)

	ctx, cancel := context.WithCancel(c.base)
	c.add("kwok", func() error { cancel(); return nil })
	return startKWOK(ctx, c.certs.adminKubeconfig, port(listener), c.log)
}

// seed creates the initial objects of a cluster and waits until workloads can run.
func (c *Cluster) seed(ctx context.Context) error {
	return seed(ctx, c.config, c.client, c.opts)
}

// Wait blocks until the context is cancelled (nil) or a part of the cluster fails (its error).
func (c *Cluster) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.running.Done():
		return context.Cause(c.running)
	}
}

// Stop stops all parts in reverse order of their start.
func (c *Cluster) Stop() error {
	var errs []error
	for _, part := range slices.Backward(c.parts) {
		if err := part.stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", part.name, err))
		}
	}
	c.parts = nil
	return errors.Join(errs...)
}

func (c *Cluster) add(name string, stop func() error) {
	c.parts = append(c.parts, part{name, stop})
}

// launch runs a part in the background. If it returns early, the cluster has failed. If cut is not nil, it is called
// stopGrace after the stop of the part has started, to close the connections of clients that the part waits for.
func (c *Cluster) launch(name string, run func(context.Context) error, cut func()) {
	ctx, cancel := context.WithCancel(c.base)
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
		if cut != nil {
			defer time.AfterFunc(stopGrace, cut).Stop()
		}
		select {
		case <-done:
			return nil
		case <-time.After(stopTimeout):
			return fmt.Errorf("still running after %s", stopTimeout)
		}
	})
}
