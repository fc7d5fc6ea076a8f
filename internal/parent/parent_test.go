package parent_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/parent"
)

func TestWatchCallsEndWhenTheParentChanges(t *testing.T) {
	t.Parallel()
	var ppid atomic.Int64
	ppid.Store(42)
	looks, ended, returned := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(returned)
		parent.Watch(t.Context(), func() bool {
			select {
			case looks <- struct{}{}:
			default:
			}
			return ppid.Load() == 42
		}, time.Millisecond, func() { close(ended) })
	}()
	for range 3 {
		<-looks
	}
	select {
	case <-ended:
		t.Fatal("end was called while the parent was running")
	default:
	}
	ppid.Store(1)
	<-ended
	<-returned
}

func TestWatchReturnsWhenItsContextIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	parent.Watch(ctx, func() bool { return true }, time.Millisecond,
		func() { t.Error("end was called while the parent was running") })
}

// role is the environment variable that makes this test binary act as the parent or the child.
const role = "KT_TEST_ROLE"

// script is what the supervisor runs.
const script = "KT_TEST_SCRIPT"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "parent":
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), role+"=child")
		child.Stdout = os.Stdout
		if child.Start() != nil {
			os.Exit(1)
		}
		_ = child.Wait() // this process is killed earlier
		os.Exit(1)
	case "supervisor":
		os.Exit(parent.Run([]string{"sh", "-c", os.Getenv(script)}, time.Minute, 10*time.Millisecond))
	case "child":
		same := parent.Same() // before the test kills the parent
		_, _ = os.Stdout.WriteString("started\n")
		parent.Watch(context.Background(), same, 10*time.Millisecond, func() { os.Exit(0) })
	default:
		os.Exit(m.Run())
	}
}

func TestChildEndsAfterItsParentIsKilled(t *testing.T) {
	t.Parallel()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), role+"=parent")
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	output := bufio.NewReader(stdout)
	if line, err := output.ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the child printed %q, %v", line, err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The child has the other end of the pipe, which is closed when the child ends.
	if _, err := io.Copy(io.Discard, output); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed, so its status is irrelevant
}

func TestCommandEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *os.Process) error{
		"at SIGTERM":       func(p *os.Process) error { return p.Signal(syscall.SIGTERM) },
		"after the parent": (*os.Process).Kill, // of the shell that started the supervisor
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			supervisor := []string{os.Args[0]}
			if name == "after the parent" {
				supervisor = []string{"sh", "-c", os.Args[0] + "; exit 1"}
			}
			command := exec.Command(supervisor[0], supervisor[1:]...)
			command.Env = append(os.Environ(), role+"=supervisor", script+"=sh -c 'echo started; sleep 1000; :' ; :")
			stdout, err := command.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			output := bufio.NewReader(stdout)
			if line, err := output.ReadString('\n'); err != nil || line != "started\n" {
				t.Fatalf("the command printed %q, %v", line, err)
			}
			if err := end(command.Process); err != nil {
				t.Fatal(err)
			}
			// All processes have the other end of the pipe.
			if _, err := io.Copy(io.Discard, output); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err == nil {
				t.Error("the supervisor reports success")
			}
		})
	}
}

func TestSupervisorReturnsTheExitCodeOfTheCommand(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 126} {
		if got := parent.Run([]string{"sh", "-c", script}, time.Minute, time.Second); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
	if got := parent.Run([]string{"sh", "-c", "sleep 1000"}, time.Millisecond, time.Second); got != 124 {
		t.Errorf("at the time limit: %d", got)
	}
	if got := parent.Run([]string{t.TempDir() + "/none"}, time.Minute, time.Second); got != 126 {
		t.Errorf("without a program: %d", got)
	}
}
