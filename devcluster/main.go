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
			// kubectl reads its own command line, plugins included.
			os.Args = os.Args[1:]
			kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
			return
		case "kubelet":
			// It sets up this process as its own, and ends it when it sees fit. So it has one.
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

// run starts a cluster as args say, reports it on stdout and keeps it up until the context ends.
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
			return nil // told to stop while starting
		}
		return err
	}
	if _, err := fmt.Fprintln(stdout, "READY", opts.Kubeconfig); err != nil {
		return errors.Join(err, cluster.Stop())
	}
	return errors.Join(cluster.Wait(ctx), cluster.Stop())
}
