// Command devcluster runs a Kubernetes control plane with fake nodes in one process, for tests and demos.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/nodespec"
)

const usage = `devcluster runs a Kubernetes control plane with fake nodes in one process.

Usage:
  devcluster [flags]            run a cluster in the foreground; prints "READY <kubeconfig>"
                                on stdout when a workload can run, stops on SIGINT or SIGTERM
  devcluster kubectl ARGS...    kubectl of the same version
  devcluster version            the version of Kubernetes

Flags:
`

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "kubectl":
			// kubectl reads its own command line, plugins included.
			os.Args = os.Args[1:]
			kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
			return
		case "version":
			fmt.Println(version.Get().GitVersion)
			return
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "devcluster:", err)
		os.Exit(1)
	}
}

// run starts a cluster as args say, reports it on stdout and keeps it up until the context ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	opts, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	if opts.Dir == "" {
		if opts.Dir, err = os.MkdirTemp("", "devcluster-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(opts.Dir)) }()
	}
	if err := prepareDir(&opts); err != nil {
		return err
	}
	cluster, err := Start(ctx, opts)
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to stop while starting
		}
		return err
	}
	if _, err := fmt.Fprintln(stdout, "READY", opts.Kubeconfig); err != nil {
		return errors.Join(err, cluster.Stop())
	}
	return errors.Join(cluster.Wait(ctx), cluster.Stop())
}

func parseOptions(args []string, stderr io.Writer) (Options, error) {
	var opts Options
	var nodes []string
	flags := pflag.NewFlagSet("devcluster", pflag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.SortFlags = false
	flags.StringVar(&opts.Dir, "dir", "", "folder for keys, data and log; emptied of an earlier cluster's at start and kept at the end (default: a temporary folder, removed at the end)")
	flags.StringVar(&opts.Kubeconfig, "kubeconfig", "", "file to write a cluster-admin kubeconfig to (default: kubeconfig in the folder)")
	flags.IntVar(&opts.Port, "port", 0, "port of the API server on 127.0.0.1 (default: a free one)")
	flags.StringArrayVar(&nodes, "node", nil, "a fake node, name=NAME[,gpus=N][,product=NAME][,label.KEY=VALUE]...[,taint.KEY=VALUE:EFFECT]...; repeatable\n(default: h100-0 and h100-1 with 8 NVIDIA-H100-80GB-HBM3 each, l4-0 with 4 NVIDIA-L4, cpu-0 without GPUs)")
	flags.StringArrayVar(&opts.CRDs, "crds", nil, "file or folder of CustomResourceDefinitions to create before the cluster is ready; repeatable")
	flags.StringVar(&opts.AuditLog, "audit-log", "", "file for the API server's audit log: one JSON line per request, at level Metadata")
	flags.BoolVar(&opts.Verbose, "verbose", false, "log to stderr instead of devcluster.log in the folder")
	flags.Usage = func() { fmt.Fprint(stderr, usage, flags.FlagUsages()) }
	if err := flags.Parse(args); err != nil {
		return Options{}, err
	}
	if flags.NArg() > 0 {
		return Options{}, fmt.Errorf("unknown command %q; see devcluster --help", flags.Arg(0))
	}
	if opts.Port < 0 || opts.Port > 65535 {
		return Options{}, fmt.Errorf("--port %d is not a port from 0 to 65535", opts.Port)
	}
	var err error
	opts.Nodes, err = nodespec.ParseAll(nodes)
	return opts, err
}

// prepareDir makes the folder, clears what an earlier cluster left in it and fixes
// all paths, since the components are given them as flags.
func prepareDir(opts *Options) error {
	for _, path := range []*string{&opts.Dir, &opts.Kubeconfig, &opts.AuditLog} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	if opts.Kubeconfig == "" {
		opts.Kubeconfig = filepath.Join(opts.Dir, "kubeconfig")
	}
	for _, own := range []string{"etcd", "pki"} {
		if err := os.RemoveAll(filepath.Join(opts.Dir, own)); err != nil {
			return err
		}
	}
	return os.MkdirAll(opts.Dir, 0o700)
}
