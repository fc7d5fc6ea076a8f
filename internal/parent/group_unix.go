//go:build unix

package parent

import (
	"os/exec"
	"syscall"
)

// groupOf makes a command the leader of a process group, which ends with it.
func groupOf(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
}
