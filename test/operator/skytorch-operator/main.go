// Command skytorch-operator runs the operator of test/operator on a cluster, for the demo. It prints READY when
// it starts, and stops on SIGINT or SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ktdev/terraform-provider-kt/test/operator"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "`file` with the kubeconfig of the cluster")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := operator.New(ctx, *kubeconfig, operator.Options{Release: operator.SkyTorch(),
		Place: operator.OnRealNodes})
	if err != nil {
		fmt.Fprintln(os.Stderr, "skytorch-operator:", err)
		os.Exit(1) //nolint:gocritic // the signals end with the process
	}
	fmt.Println("READY")
	o.Run(ctx, os.Stderr)
}
