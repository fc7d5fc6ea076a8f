// Command clusters runs a command beside the dev clusters that the acceptance tests share, so that its test binaries do
// not each start their own: see acctest.SharedCluster. It exits with the code of the command.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func main() {
	// The command and the clusters receive the signals of the terminal as well, and end by themselves.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	if err := run(os.Args[1:]); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			os.Exit(max(1, exit.ExitCode()))
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts the clusters, runs the command, and stops them.
func run(command []string) (err error) {
	if len(command) == 0 {
		return errors.New("usage: clusters COMMAND ARGUMENT…")
	}
	if os.Getenv(acctest.KubeconfigVariable) != "" {
		return execute(command, nil)
	}
	plain, withCRDs := acctest.SharedCluster(), acctest.SharedClusterWithCRDs()
	defer func() { err = errors.Join(err, plain.Stop(), withCRDs.Stop()) }()
	var starts errgroup.Group
	starts.Go(plain.Start)
	starts.Go(withCRDs.Start)
	if err := starts.Wait(); err != nil {
		return err
	}
	return execute(command, []string{
		acctest.SharedVariable + "=" + plain.Kubeconfig(), acctest.SharedWithCRDsVariable + "=" + withCRDs.Kubeconfig(),
	})
}

func execute(command, env []string) error {
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), env...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}
