package driftbench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// report is the output of one CLI run.
type report struct {
	planned  map[string]string // action by address
	warnings []diagnostic
	errors   []diagnostic
}

type diagnostic acctest.Diagnostic

func (r report) changes() int { return len(r.planned) }

func (b *bench) plan(t *testing.T) report {
	t.Helper()
	return b.run(t, "plan", "-json", "-out=plan.bin")
}

func (b *bench) run(t *testing.T, args ...string) report {
	t.Helper()
	out, err := b.cli.Run(t, args...)
	messages := acctest.ParseMessages(out)
	r := report{planned: messages.Planned}
	for _, d := range messages.Diagnostics {
		switch {
		case d.Severity == acctest.SeverityError:
			r.errors = append(r.errors, diagnostic(d))
		case !strings.HasPrefix(d.Summary, "Provider development overrides"):
			r.warnings = append(r.warnings, diagnostic(d))
		}
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
