// Package parent ends a process whose parent process has gone.
package parent

import (
	"context"
	"time"
)

// Watch calls end once same says that the parent process is another one, which is how a process sees that its
// parent has ended: it gets a new one (https://man7.org/linux/man-pages/man2/getppid.2.html). On Windows a
// process keeps the ID of its parent: there Watch only waits for the context.
//
// It looks at intervals rather than ask the system for a signal: Linux' PR_SET_PDEATHSIG is bound to the
// thread of the parent that started the process, which may end much earlier than the parent.
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
