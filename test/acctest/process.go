package acctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TimeToStop limits the time in which a command must end after a signal. It is
// longer than the expected two seconds, because other tests run at the same time.
const TimeToStop = 15 * time.Second

// ExpectNoProcess checks that the processes of a group, such as the provider, end
// within TimeToStop. Without /proc, it skips the rest of the test.
func ExpectNoProcess(t *testing.T, group int) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skipf("the processes that are left cannot be listed: %v", err)
	}
	deadline := time.Now().Add(TimeToStop)
	for {
		left := processes(group)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("still running: %v", left)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// processes lists the processes of a group from /proc, see proc(5).
func processes(group int) []string {
	var out []string
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		data, _ := os.ReadFile(file) // one that has just ended has none
		_, rest, ok := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest) // state, parent, group
		if ok && len(fields) > 2 && fields[0] != "Z" && fields[2] == fmt.Sprint(group) {
			out = append(out, string(data))
		}
	}
	return out
}
