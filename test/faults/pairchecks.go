package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// check checks the requirements of all commands.
func (c *pairCycle) check(at step, how string, out outcome, records []proxy.Record, took time.Duration) error {
	fmt.Fprintf(&c.log, "\n%s %s: %.1f s, error: %v\n%s\nstate: %s\n", at, how, took.Seconds(), out.err,
		strings.Join(out.warnings, "\n"), c.resource.State())
	for _, record := range records {
		fmt.Fprintln(&c.log, record)
	}
	var errs []error
	failed := out.err != nil && !out.killed
	switch {
	case out.hung:
		errs = append(errs, c.violate(at, "hang: the command did not end within the hard limit"))
	case failed && starved(out.err, records):
		c.result.starved++
		return errEnded
	case failed && how == "with faults" && c.item.survivable[at]:
		errs = append(errs, c.violate(at, "temporary faults are an error: "+out.err.Error()))
	case failed && (how != "with faults" || !c.cycle.faulted()):
		errs = append(errs, c.violate(at, "without any fault, the error: "+out.err.Error()))
	case failed && strings.Contains(out.err.Error(), "nconsistent "), failed &&
		strings.Contains(out.err.Error(), "invalid plan"):
		errs = append(errs, c.violate(at, out.err.Error()))
	}
	shown := string(acctest.Decoded(fmt.Appendf(nil, "%v %s %s %s", out.err, out.warnings, c.resource.State(),
		c.resource.Private())))
	for version := range 2 {
		if strings.Contains(shown, c.canary(version+1)) {
			errs = append(errs, c.violate(at, "a secret value is in the output or the state"))
		}
	}
	return joined(errs)
}

// starved reports whether a command failed because the API server itself sent no response in time, without a fault: the
// machine is too busy for the bench.
func starved(err error, records []proxy.Record) bool {
	return strings.Contains(err.Error(), "no response in time") &&
		slices.ContainsFunc(records, func(r proxy.Record) bool { return r.Fault == "" && r.Status == 0 })
}

// checkAction checks that a command with faults plans what it plans without faults.
func (c *pairCycle) checkAction(at step, want core.Action, out outcome) error {
	if out.plan == nil || out.plan.Action == want {
		return nil
	}
	return c.violate(at, fmt.Sprintf("the plan with faults shows the action %s of %v, which a plan without faults "+
		"does not show: %v", out.plan.Action, out.plan.Attributes(), out.warnings))
}

// unexplained returns why a planned change after a successful apply is a violation, or "" if a warning of the apply
// explains it.
func (c *pairCycle) unexplained(next outcome, warnings []string) (string, error) {
	p := next.plan
	before, after, err := p.Decoded()
	switch {
	case err != nil:
		return "", err
	case p.Action == core.Create && next.created && slices.ContainsFunc(warnings, func(text string) bool {
		return strings.Contains(text, "creates it if it does not") // of a volume (ADR 0010)
	}):
		return "", nil
	case p.Action != core.Update:
		return fmt.Sprintf("the apply with faults succeeded, but the next plan shows the action %s", p.Action), nil
	case len(warnings) == 0:
		return fmt.Sprintf("the apply with faults succeeded without a warning, but the next plan changes %v",
			p.Attributes()), nil
	}
	for _, name := range p.Attributes() {
		if isStatus(name) || reflect.DeepEqual(before[name], after[name]) && name != "manifests" ||
			name == "manifests" && onlyAdds(before[name], after[name]) {
			continue
		}
		return fmt.Sprintf("the apply with faults succeeded, and its warning does not explain that the next plan "+
			"changes %s", name), nil
	}
	return "", nil
}
