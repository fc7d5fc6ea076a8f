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

func TestPauseSleepsUntilItIsTerminated(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for amd64")
	}
	program, err := pauseBinary()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(file, program, 0o700); err != nil { //nolint:gosec // must be executable
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
	// The state of a process that waits in a system call is S (sleeping).
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
			t.Fatalf("the process is not sleeping:\n%s", status)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the process exited with %v", err)
	}
}
