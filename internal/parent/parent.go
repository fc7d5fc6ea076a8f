// Package parent ends a process after its parent process has ended.
package parent

import (
	"context"
	"time"
)

// Watch calls end after same reports that the parent process has ended. It polls, because PR_SET_PDEATHSIG of Linux is
// bound to the thread of the parent that started the process, which may end much earlier than the parent.
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
