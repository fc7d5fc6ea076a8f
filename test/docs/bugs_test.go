package docs_test

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"
)

// The page contains the bugs of bugsFile between these lines.
const (
	bugsPage           = "../../templates/guides/benchmarks.md.tmpl"
	bugsFile           = "testdata/bugs.csv"
	beginBugs, endBugs = "<!-- bugs -->\n", "<!-- /bugs -->\n"
)

// Each row of bugsFile is a bug, the bench that found it, and the test that fails without the mend.
func TestEveryBugThatABenchFoundHasATest(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(strings.NewReader(read(t, bugsFile))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	table := "| bug | found by | test |\n|---|---|---|\n"
	for _, row := range rows[1:] {
		if !slices.Contains(tests, row[2]) {
			t.Errorf("there is no test %s, which holds the mend of: %s", row[2], row[0])
		}
		table += "| " + row[0] + " | `" + row[1] + "` | `" + row[2] + "` |\n"
	}
	page := read(t, bugsPage)
	before, rest, _ := strings.Cut(page, beginBugs)
	_, after, found := strings.Cut(rest, endBugs)
	if !found {
		t.Fatalf("%s has no table of bugs", bugsPage)
	}
	want := before + beginBugs + table + endBugs + after
	if *update {
		if err := os.WriteFile(bugsPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if page != want {
		t.Errorf("%s is out of date: run go test ./test/docs -update, then make docs", bugsPage)
	}
}
