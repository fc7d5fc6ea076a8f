// Package parent ends a process after its parent process has ended.
package parent

import (
	"context"
	"os"
	"time"
)

// Same returns a function that reports whether the process still has its present parent.
func Same() func() bool {
	parent := os.Getppid()
	return func() bool { return os.Getppid() == parent }
}

// Watch calls end after same reports that the parent process is a different one. A process whose parent has ended
// gets a new parent (https://man7.org/linux/man-pages/man2/getppid.2.html). On Windows, a process keeps the ID of
// its parent, so that Watch only waits for the context.
//
// Watch polls, because PR_SET_PDEATHSIG of Linux is bound to the thread of the parent that started the process,
// which may end much earlier than the parent.
func Watch(ctx context.Context, same func() bool, interval time.Duration, end func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if !same() {
				end()
				return
			}
		}
	}
}
