//go:build !windows

package parent

import "os"

// Same returns a function that reports whether the process still has its present parent. A process whose parent has
// ended gets a new parent (https://man7.org/linux/man-pages/man2/getppid.2.html).
func Same() func() bool {
	parent := os.Getppid()
	return func() bool { return os.Getppid() == parent }
}
