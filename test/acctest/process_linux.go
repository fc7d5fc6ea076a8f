package acctest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startChild starts a command that receives SIGTERM when this process ends, also
// if it is killed or calls os.Exit, as terraform-plugin-testing does in some cases.
func startChild(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	started := make(chan error)
	go func() {
		// Linux sends the signal when the thread that started the child ends,
		// see PR_SET_PDEATHSIG in prctl(2). This thread ends with the process.
		runtime.LockOSThread()
		started <- command.Start()
		select {}
	}()
	return <-started
}
