package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
)

// children starts processes, and reaps all that exit: the first process of a PID namespace inherits every process
// whose parent has exited, and processes that are not reaped remain as zombies. It replaces the waiting of os/exec,
// which would compete for the same processes.
type children struct {
	mu     sync.Mutex
	wanted map[int]chan syscall.WaitStatus
}

func collect() *children {
	c := &children{wanted: map[int]chan syscall.WaitStatus{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			c.reap()
		}
	}()
	return c
}

// reap reaps all exited processes. One signal may represent several of them.
func (c *children) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		c.mu.Lock()
		if result, ok := c.wanted[pid]; ok {
			result <- status
			delete(c.wanted, pid)
		}
		c.mu.Unlock()
	}
}

// start runs a program with the stdout, stderr and environment of this process. The channel receives an error when the
// program exits, even if it succeeded.
func (c *children) start(name string, args ...string) (<-chan error, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer func() { _ = null.Close() }()
	result, ended := make(chan syscall.WaitStatus, 1), make(chan error, 1)
	c.mu.Lock() // prevents that the process is reaped before it is registered
	pid, err := syscall.ForkExec(path, append([]string{name}, args...), &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), os.Stdout.Fd(), os.Stderr.Fd()},
	})
	if err == nil {
		c.wanted[pid] = result
	}
	c.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() { ended <- ending(<-result) }()
	return ended, nil
}

// run runs a program until it exits.
func (c *children) run(name string, args ...string) error {
	ended, err := c.start(name, args...)
	if err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, errSuccess) {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

var errSuccess = errors.New("exited with code 0")

func ending(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return fmt.Errorf("terminated by signal %s", status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exited with code %d", status.ExitStatus())
	default:
		return errSuccess
	}
}
