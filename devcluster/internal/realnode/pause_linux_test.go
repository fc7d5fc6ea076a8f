package realnode

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestPauseSleepsUntilItIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64")
	}
	program, err := pauseBinary()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(file, program, 0o700); err != nil { //nolint:gosec // it is to run
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), file)
	start := func() error { return command.Start() }
	for err = start(); err != nil && strings.Contains(err.Error(), "text file busy"); err = start() {
		// Another test forked while the file was open for writing.
		command = exec.CommandContext(t.Context(), file)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Asleep, and not spinning, is what the system says of a process that waits in a system call.
	stat := filepath.Join("/proc", strconv.Itoa(command.Process.Pid), "status")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, err := os.ReadFile(stat)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(status), "Name:\tpause") && strings.Contains(string(status), "State:\tS") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not sleep:\n%s", status)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("it ended with %v", err)
	}
}
