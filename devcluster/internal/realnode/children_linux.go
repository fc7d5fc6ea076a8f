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

// children starts processes, and collects all that end: the first process of a PID namespace inherits every
// process whose parent has ended, and those that nobody waits for stay as zombies. It takes the place of
// os/exec's own waiting, which would compete for the same processes.
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

// reap takes every process that has ended; one signal may stand for several.
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

// start runs a program with this process's stdout, stderr and environment. The result gives an error when it ends,
// also for success.
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
	c.mu.Lock() // so that its end is not collected before it is known here
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

// run runs a program to its end.
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

var errSuccess = errors.New("ended with exit code 0")

func ending(status syscall.WaitStatus) error {
	switch {
	case status.Signaled():
		return fmt.Errorf("ended by signal %s", status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("ended with exit code %d", status.ExitStatus())
	default:
		return errSuccess
	}
}
