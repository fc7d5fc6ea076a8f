package driftbench_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// report is the output of one CLI run.
type report struct {
	planned  map[string]string // action by address
	warnings []diagnostic
	errors   []diagnostic
}

type diagnostic struct {
	Severity, Summary, Detail, Address string
}

func (r report) changes() int { return len(r.planned) }

func (b *bench) plan(t *testing.T) report {
	t.Helper()
	return b.run(t, "plan", "-json", "-out=plan.bin")
}

func (b *bench) run(t *testing.T, args ...string) report {
	t.Helper()
	out, err := b.cli.Run(t, args...)
	r := report{planned: map[string]string{}}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Type       string
			Diagnostic diagnostic
			Change     struct {
				Resource struct{ Addr string }
				Action   string
			}
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		switch {
		case line.Type == "planned_change":
			r.planned[line.Change.Resource.Addr] = line.Change.Action
		case line.Type == "diagnostic" && line.Diagnostic.Severity == "error":
			r.errors = append(r.errors, line.Diagnostic)
		case line.Type == "diagnostic" && !strings.HasPrefix(line.Diagnostic.Summary, "Provider development overrides"):
			r.warnings = append(r.warnings, line.Diagnostic)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if (err != nil) != (len(r.errors) > 0) {
		t.Fatalf("%v: %v, with the errors %v\n%s", args, err, r.errors, out)
	}
	return r
}

// failed returns the changes that caused the errors of a plan. If no error
// identifies a change, it returns all of them.
func (r report) failed(acts []act) []act {
	if len(r.errors) == 0 {
		return nil
	}
	var out []act
	for _, a := range acts {
		if slices.ContainsFunc(r.errors, func(d diagnostic) bool { return d.about(a) }) {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return acts
	}
	return out
}

func (d diagnostic) about(a act) bool {
	return d.Address == a.subject.address || strings.Contains(d.Summary+d.Detail+" ", "/"+a.subject.name+" ")
}

func (d diagnostic) String() string { return fmt.Sprintf("%s: %s", d.Summary, d.Detail) }
