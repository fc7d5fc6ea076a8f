package acctest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startTethered starts a command that is told to stop when this process ends,
// however that happens: terraform-plugin-testing calls os.Exit in some cases.
func startTethered(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		// Linux watches the thread that started the child, so that one must
		// not end before the process does.
		runtime.LockOSThread()
		started <- command.Start()
		select {}
	}()
	return <-started
}
