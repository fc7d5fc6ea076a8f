package parent

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SharedFile returns the path of a file for all processes that the parent of this process has started, in a directory
// of this user. Neither may exist.
func SharedFile() string {
	dir := "terraform-provider-kt-" + strconv.Itoa(os.Getuid())
	return filepath.Join(os.TempDir(), dir, identity(os.Getppid()))
}

// RemoveStale removes the files in the directory of a [SharedFile] whose parent processes have ended. It does so only
// where /proc shows when a process was started.
func RemoveStale(root *os.Root) {
	entries, err := os.ReadDir(root.Name())
	if err != nil {
		return
	}
	for _, entry := range entries {
		text, start, known := strings.Cut(entry.Name(), "-")
		if pid, err := strconv.Atoi(text); err == nil && known && start != "" && identity(pid) != entry.Name() {
			_ = root.Remove(entry.Name()) // the next process tries again
		}
	}
}

// identity returns the process ID, and where /proc exists, the time of its start, because process IDs are used again
// (field 22 in https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html).
func identity(pid int) string {
	const startTime = 22 - 3 // after the name, which may contain spaces
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(rest); err == nil && len(fields) > startTime {
		return fmt.Sprintf("%d-%s", pid, fields[startTime])
	}
	return strconv.Itoa(pid)
}
