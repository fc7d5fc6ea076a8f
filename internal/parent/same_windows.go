package parent

import (
	"os"

	"golang.org/x/sys/windows"
)

// Same returns a function that reports whether the parent process still runs. A process keeps the ID of a parent that
// has ended, so that only a handle of the parent shows it. Without permission to open one, the function returns true.
func Same() func() bool {
	//nolint:gosec // a process ID is not negative
	parent, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(os.Getppid()))
	if err != nil {
		return func() bool { return true }
	}
	return func() bool {
		event, err := windows.WaitForSingleObject(parent, 0)
		return err != nil || event != windows.WAIT_OBJECT_0
	}
}
