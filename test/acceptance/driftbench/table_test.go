package driftbench_test

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// table counts the results.
type table struct {
	must, shown, rightPath, rightManager, planErrors, repairedExactly, emptyAfter int
	mustNot, falseDrift, falseWarnings                                            int
	reordered, restarted                                                          int
	bySubject, byClass                                                            map[string]int // changes
	violations                                                                    []string
}

func newTable() *table { return &table{bySubject: map[string]int{}, byClass: map[string]int{}} }

func mapKeys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

func (b *table) fail(format string, args ...any) {
	b.violations = append(b.violations, fmt.Sprintf(format, args...))
	fmt.Println(b.violations[len(b.violations)-1])
}

func (b *table) violation(a act, format string, args ...any) {
	b.fail("%s\n      %s", a, shortened(fmt.Sprintf(format, args...), 1200))
}

// count counts a change that a plan was made of.
func (b *table) count(a act) {
	b.bySubject[a.subject.address]++
	b.byClass[a.class]++
	if a.must {
		b.must++
	} else {
		b.mustNot++
	}
}

// unexplained reports the errors of a run that none of the changes explains.
func (b *table) unexplained(acts []act, run string, r report) {
	for _, d := range r.errors {
		if !slices.ContainsFunc(acts, d.about) {
			b.fail("the %s failed: %s", run, d)
		}
	}
}

// judge compares a plan with the change that was made.
func (b *table) judge(a act, r report) {
	action, planned := r.planned[a.subject.address]
	lines := r.lines(a)
	b.count(a)
	if !a.must {
		if planned {
			b.falseDrift++
			b.violation(a, "must not show, but the plan changes it; warnings: %q", lines)
		} else if len(lines) > 0 {
			b.falseWarnings++
			b.violation(a, "must not show, but the plan warns: %q", lines)
		}
		return
	}
	if !planned || len(lines) == 0 {
		b.violation(a, "must show; planned: %v, warnings: %q", planned, lines)
		return
	}
	if action != "update" {
		b.violation(a, "must be repaired by an update, but the plan is to %s", action)
	}
	b.shown++
	if a.deletes {
		b.rightPath++
		b.rightManager++
		return
	}
	path, manager := true, true
	for _, want := range a.shows {
		path = path && has(lines, before(want))
		// Some types do not store an explicit zero, so writing it is a removal.
		zeroed := a.class == "value changed" && has(lines, before(want)+": "+unknownRemover)
		manager = manager && (zeroed || has(lines, strings.Replace(want, "MANAGER", a.manager+" at", 1)))
	}
	for _, line := range lines {
		path = path && expected(line, append(a.also, a.shows...))
	}
	if path {
		b.rightPath++
	} else {
		b.violation(a, "wrong path: want %q, got %q", a.shows, lines)
	}
	if manager {
		b.rightManager++
	} else {
		b.violation(a, "wrong manager: want %q, got %q", a.shows, lines)
	}
}

func before(line string) string { path, _, _ := strings.Cut(line, ": "); return path }

func has(lines []string, prefix string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

func expected(line string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(line, before(prefix)) {
			return true
		}
	}
	return false
}

// lines returns the lines of the warnings about an object that name its fields or
// report its deletion.
func (r report) lines(a act) []string {
	var out []string
	for _, w := range r.warnings {
		if w.Address != a.subject.address && !strings.Contains(w.Summary+" "+w.Detail, a.object.title+" ") {
			continue
		}
		found := false
		for line := range strings.SplitSeq(w.Detail, "\n") {
			if line, ok := strings.CutPrefix(line, "  - "); ok {
				out, found = append(out, line), true
			}
		}
		aboutRepair := w.Summary == "Running pods are not updated" ||
			strings.HasPrefix(w.Summary, "The update fails the ")
		if !found && !aboutRepair {
			out = append(out, w.Summary)
		}
	}
	return out
}

func (b *table) planError(a act, errors []diagnostic) {
	b.count(a)
	b.planErrors++
	var about []string
	for _, d := range errors {
		if d.about(a) {
			about = append(about, d.String())
		}
	}
	b.violation(a, "the plan failed: %q", about)
}

// repaired compares the object with its state before the change.
func (b *table) repaired(t *testing.T, a act, applied, after report) {
	t.Helper()
	if !a.must {
		return
	}
	for _, d := range applied.errors {
		if d.about(a) {
			b.violation(a, "the apply failed: %s", d)
			a.undo(t)
			return
		}
	}
	if left := a.unrepaired(t); left == "" {
		b.repairedExactly++
		if a.leavesItem {
			a.undo(t)
		}
	} else {
		b.violation(a, "differs from the object before the change: %s", left)
		a.undo(t)
	}
	if action, planned := after.planned[a.subject.address]; planned {
		b.violation(a, "the plan after the repair is not empty: %s %q", action, after.lines(a))
	} else if !slices.ContainsFunc(after.errors, func(d diagnostic) bool { return d.about(a) }) {
		b.emptyAfter++
	}
}

// restart checks that scaling a compute did not change its pod template.
func (b *table) restart(t *testing.T, a act, planned, applied report) {
	t.Helper()
	b.reordered++
	template := func(obj *unstructured.Unstructured) any {
		value, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "spec", "template")
		return value
	}
	now := a.object.get(t)
	replicas, _, _ := unstructured.NestedInt64(now.Object, "spec", "replicas")
	left := difference(template(a.before), template(now))
	if left != "" || replicas != 3 {
		b.restarted++
		b.violation(a, "has %d replicas, want 3; changes of the pod template: %s; planned %q; %v", replicas, left,
			planned.planned[a.subject.address], applied.errors)
	}
}

func (b *table) print(t *testing.T, o options) {
	t.Helper()
	var out strings.Builder
	row := func(name string, n int) { fmt.Fprintf(&out, "  %-34s %5d\n", name, n) }
	fmt.Fprintf(&out, "\ndrift bench, seed %d\n", o.seed)
	row("must show", b.must)
	row("  shown", b.shown)
	row("  right path", b.rightPath)
	row("  right manager", b.rightManager)
	row("  plan errors", b.planErrors)
	row("  repaired exactly", b.repairedExactly)
	row("  empty plan after", b.emptyAfter)
	row("must not show", b.mustNot)
	row("  false drift", b.falseDrift)
	row("  false warnings", b.falseWarnings)
	row("scaled with lists reordered", b.reordered)
	row("  restarted", b.restarted)
	row("violations", len(b.violations))
	fmt.Println(out.String())
	if len(b.violations) > 0 {
		t.Errorf("violations (to repeat them: %s):\n  - %s", o.repeat(), strings.Join(b.violations, "\n  - "))
	}
}
