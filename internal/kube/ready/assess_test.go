package ready

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestAssess compares the verdict on each fixture, and the text of its error,
// with a golden file.
func TestAssess(t *testing.T) {
	t.Parallel()
	all, names := readFixtures(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := all.fixture(t, name)
			got := golden(f, Assess(f.snapshot(t)))
			goldenFile := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(goldenFile, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(goldenFile)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("verdict on %q (-want +got), -update accepts it:\n%s", f.About, diff)
			}
		})
	}
}

// golden formats a verdict for review.
func golden(f fixture, v Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\nready: %t\n", f.About, v.Ready)
	if v.Suspended {
		b.WriteString("suspended: true\n")
	}
	if v.Complete {
		b.WriteString("complete: true\n")
	}
	fmt.Fprintf(&b, "message: %s\n", v.Message)
	c := v.Cause
	if c == nil {
		return b.String() + "cause: none\n"
	}
	end := "it may heal"
	if c.Terminal {
		end = fmt.Sprintf("terminal after %s", c.Grace)
	}
	fmt.Fprintf(&b, "cause: %s, %s\nkey: %s\n", c.Reason, end, c.Key())
	if c.Claimed {
		b.WriteString("claimed: by an event, or a condition that may be outdated\n")
	}
	if c.Missing != nil {
		fmt.Fprintf(&b, "missing: %+v\n", *c.Missing)
	}
	if c.Logs != nil {
		fmt.Fprintf(&b, "logs: %+v\n", *c.Logs)
	}
	return b.String() + "\n" + Explain(c, f.Logs) + "\n"
}
