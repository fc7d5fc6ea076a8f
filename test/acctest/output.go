package acctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Canary is the value of Secrets that tests create. No output and no state may
// contain it.
const Canary = "canary-3b1f"

// TimedOut is in the diagnostic of a wait that ended at its timeout.
const TimedOut = "Timed out after"

// AmpleTimeout is a timeout that is reached only if a failure is not detected early.
const AmpleTimeout = "4m"

// Result is the result of a command with -json.
type Result struct {
	Failed      bool
	Planned     map[string]string // action by address
	Output      string
	diagnostics []Diagnostic
}

// RunJSON runs a command with -json, and fails the test if its output contains Canary.
func (c *CLI) RunJSON(t *testing.T, args ...string) Result {
	t.Helper()
	out, err := c.Run(t, append(args, "-json")...)
	if strings.Contains(out, Canary) {
		t.Error("the output contains the value of a Secret")
	}
	messages := ParseMessages(out)
	reports := func(d Diagnostic) bool { return d.Severity == "error" }
	if err != nil && !slices.Contains(args, "-detailed-exitcode") &&
		!slices.ContainsFunc(messages.Diagnostics, reports) {
		t.Errorf("%v: %v, and no error was reported:\n%s", args, err, out[max(0, len(out)-4000):])
	}
	return Result{
		Failed: err != nil, Output: out, Planned: messages.Planned, diagnostics: messages.Diagnostics,
	}
}

// Diagnostics returns the texts of the diagnostics with a severity at an address.
// Terraform reports no address for a deletion.
func (r Result) Diagnostics(severity, address string) []string {
	var out []string
	for _, d := range r.diagnostics {
		if d.Severity == severity && d.Address == address {
			out = append(out, d.Summary+"\n\n"+d.Detail)
		}
	}
	return out
}

// ExpectDiagnostic checks that exactly one of the diagnostics contains the first
// text, that it contains the others, and whether it reports a timeout.
func ExpectDiagnostic(t *testing.T, found []string, timeout bool, texts ...string) {
	t.Helper()
	about := slices.DeleteFunc(slices.Clone(found), func(text string) bool {
		return !strings.Contains(text, texts[0])
	})
	if len(about) != 1 {
		t.Fatalf("%d diagnostics contain %q, want one of:\n%s", len(about), texts[0], strings.Join(found, "\n\n"))
	}
	t.Logf("\n%s", about[0])
	for _, text := range texts {
		if !strings.Contains(about[0], text) {
			t.Errorf("%q is missing in the diagnostic:\n%s", text, about[0])
		}
	}
	if strings.Contains(about[0], TimedOut) != timeout {
		t.Errorf("reports a timeout: %v, want %v:\n%s", !timeout, timeout, about[0])
	}
}

// ExpectError checks the only error at an address, as ExpectDiagnostic does.
func (r Result) ExpectError(t *testing.T, address string, timeout bool, texts ...string) {
	t.Helper()
	found := r.Diagnostics("error", address)
	if len(found) != 1 {
		t.Fatalf("%d errors at %s, want one:\n%s", len(found), address, r)
	}
	ExpectDiagnostic(t, found, timeout, texts...)
}

// ExpectNoDiagnostic checks that nothing is reported at an address.
func (r Result) ExpectNoDiagnostic(t *testing.T, address string) {
	t.Helper()
	if found := append(r.Diagnostics("error", address), r.Diagnostics("warning", address)...); len(found) > 0 {
		t.Errorf("unexpected diagnostics at %s:\n%s", address, strings.Join(found, "\n"))
	}
}

// String returns all diagnostics.
func (r Result) String() string {
	var b strings.Builder
	for _, d := range r.diagnostics {
		fmt.Fprintf(&b, "%s %s: %s\n%s\n\n", d.Severity, d.Address, d.Summary, d.Detail)
	}
	return b.String()
}

// ExpectText checks that the output contains every text, ignoring line breaks.
func ExpectText(t *testing.T, out string, texts ...string) {
	t.Helper()
	flat := Unwrap(out)
	for _, text := range texts {
		if !strings.Contains(flat, text) {
			t.Errorf("%q is missing in the output:\n%s", text, out)
		}
	}
}

// Unwrap removes the frames and the line breaks of Terraform's messages.
func Unwrap(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}
