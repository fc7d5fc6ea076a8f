package parent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// Exit codes of [Run] of its own, as of a shell and of timeout(1).
const (
	exitTimeLimit = 124
	exitNotRun    = 126
)

// Run runs a command with the standard streams of this process, and returns its exit code. The command and the
// processes that it started end at the time limit, after SIGINT or SIGTERM, and after the parent of this process. A
// credential plugin is run by it, because client-go never ends one.
func Run(command []string, limit, interval time.Duration) int {
	same := Same()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	go Watch(ctx, same, interval, cancel)
	run := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // of the user's configuration
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	groupOf(run)
	err := run.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return exitTimeLimit
	case exited && exit.ExitCode() > 0:
		return exit.ExitCode()
	default:
		return exitNotRun
	}
}
