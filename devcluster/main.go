// Command devcluster runs a Kubernetes control plane with fake nodes in one process, for tests and demos.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	"github.com/ktdev/terraform-provider-kt/devcluster/internal/options"
	"github.com/ktdev/terraform-provider-kt/devcluster/internal/realnode"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "kubectl":
			// kubectl parses the command line itself, including plugins.
			os.Args = os.Args[1:]
			kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
			return
		case "kubelet":
			// The kubelet modifies global state of the process and exits it, so it runs in a separate process.
			os.Args = os.Args[1:]
			os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
		case realnode.InitCommand:
			if initNode(os.Args[2:]) != nil {
				os.Exit(1)
			}
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

// run starts the cluster that args describe, reports it on stdout and runs it until the context is cancelled.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	opts, err := options.Parse(args, stderr)
	if err != nil {
		return err
	}
	opts, clean, err := opts.Prepare()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, clean()) }()
	cluster, err := Start(ctx, opts)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped during the start
		}
		return err
	}
	if _, err := fmt.Fprintln(stdout, "READY", opts.Kubeconfig); err != nil {
		return errors.Join(err, cluster.Stop())
	}
	return errors.Join(cluster.Wait(ctx), cluster.Stop())
}
