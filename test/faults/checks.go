package main

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// planChanges is the exit code of a plan with -detailed-exitcode that shows changes.
const planChanges = 2

// checkCommand checks the requirements of all commands: it ends in time, leaves no process behind, does not panic,
// shows no secret value, and its exit code agrees with its diagnostics.
func (c *cycle) checkCommand(at step, how string, out run, records []proxy.Record) error {
	fmt.Fprintf(&c.log, "\n$ %s   (%s, exit %d, %.1f s)\n%s\n", out.args, how, out.code, out.took.Seconds(), out.output)
	faulted := how == "with faults"
	for _, record := range records {
		fmt.Fprintln(&c.log, record)
	}
	if out.hung && deadlockOfTerraform(out.output) {
		c.result.deadlocks++
		return errEnded
	}
	var errs []error
	if out.hung {
		errs = append(errs, c.violate(at, "hang: the command did not end within the hard limit"))
	}
	if len(out.remaining) > 0 {
		errs = append(errs, c.violate(at, "processes outlive the command: "+strings.Join(out.remaining, ", ")))
	}
	if !out.hung && out.messages.crashed() && (!faulted || c.injected(proxy.KillProvider) == 0) {
		errs = append(errs, c.violate(at, "panic"))
	}
	if d := out.messages.inconsistent(); d != nil {
		errs = append(errs, c.violate(at, fmt.Sprintf("%s: %s", d.Address, d.Summary)))
	}
	if what := c.exitViolation(at, faulted, out); what != "" {
		errs = append(errs, c.violate(at, what))
	}
	state, err := c.workDir.readState()
	if err != nil {
		errs = append(errs, c.violate(at, "the state cannot be read: "+err.Error()))
	}
	shown := string(acctest.Decoded([]byte(out.output + state.text)))
	for version := range 2 {
		if strings.Contains(shown, c.canary(version+1)) {
			errs = append(errs, c.violate(at, "a secret value is in the output or the state"))
		}
	}
	return joined(errs)
}

// deadlockOfTerraform reports whether the goroutines of a command that did not end show the deadlock of Terraform 1.11
// and 1.16 that an interrupt causes when it arrives while the last provider is closed: ClosePlugins locks provisioners
// before providers, and watchStop locks them the other way round (internal/terraform/eval_context_builtin.go and
// context.go). No provider can prevent it.
func deadlockOfTerraform(output string) bool {
	blocked := 0
	for goroutine := range strings.SplitSeq(output, "\n\n") {
		if strings.Contains(goroutine, "[sync.Mutex.Lock") && (strings.Contains(goroutine, ").ClosePlugins(") ||
			strings.Contains(goroutine, "terraform.(*Context).watchStop.")) {
			blocked++
		}
	}
	return blocked > 1
}

// exitViolation returns what is wrong about the exit code of a command, or "". Success must come without errors, and a
// failure with at least one. Signals change this only for SIGKILL of the CLI, after which there is no exit code.
func (c *cycle) exitViolation(at step, faulted bool, out run) string {
	failures := out.messages.Errors()
	switch {
	case out.hung, faulted && c.injected(proxy.KillCLI) > 0:
		return ""
	case out.code < 0:
		return "the CLI was ended by a signal"
	case out.code != 1 && len(failures) > 0:
		return fmt.Sprintf("exit code %d with the error: %s", out.code, failures[0].Summary)
	case out.code == 1 && len(failures) == 0:
		return "exit code 1 without an error"
	case out.code == 1 && faulted && c.item.survivable[at]:
		return "a temporary fault of one request is an error: " + failures[0].Summary
	case out.code == 1 && faulted && !c.faulted():
		return "without any fault, the error: " + failures[0].Summary
	}
	return ""
}

// faulted reports whether the last command with faults was hit by any.
func (c *cycle) faulted() bool {
	return slices.ContainsFunc(c.last, func(r proxy.Record) bool { return r.Fault != "" })
}

// checkPlanned checks that a command with faults plans only what it plans without faults. Without a reference, these
// are the actions of the step.
func (c *cycle) checkPlanned(at step, out run) error {
	allowed := map[step]string{create: actionCreate, update: actionUpdate, destroy: actionDelete}[at]
	var errs []error
	for address, action := range out.messages.Planned {
		if c.reference == nil && action == allowed || c.reference != nil && c.reference.planned[at][address] == action {
			continue
		}
		errs = append(errs, c.violate(at, fmt.Sprintf("the plan with faults shows the action %s of %s, which a plan "+
			"without faults does not show", action, address)))
	}
	return joined(errs)
}

// checkRepair checks what an apply without faults does after one with faults: it creates what is missing and changes
// the rest. It replaces only what Terraform has tainted.
func (c *cycle) checkRepair(at step, tainted []string, out run) error {
	var errs []error
	for address, action := range out.messages.Planned {
		if action == actionCreate || action == actionUpdate ||
			action == actionReplace && slices.Contains(tainted, address) {
			continue
		}
		errs = append(errs, c.violate(at, fmt.Sprintf("the apply after the one with faults plans the action %s of %s",
			action, address)))
	}
	return joined(errs)
}

// unexplained returns why a planned change after a successful apply is a violation, or "" if a warning of the apply
// about the resource explains it: a wait that was cut short, or an object that was not created.
func unexplained(ch change, applied messages) string {
	switch {
	case !slices.Equal(ch.Change.Actions, []string{actionUpdate}):
		return fmt.Sprintf("the next plan shows the action %s of %s", strings.Join(ch.Change.Actions, ", "), ch.Address)
	case !applied.warnsAbout(ch.Address):
		return fmt.Sprintf("without a warning about %s, but the next plan changes it", ch.Address)
	}
	for name, after := range ch.Change.After {
		if isStatus(name) || reflect.DeepEqual(ch.Change.Before[name], after) {
			continue
		}
		if name == "manifests" && onlyAdds(ch.Change.Before[name], after) {
			continue
		}
		return fmt.Sprintf("the warning about %s does not explain that the next plan changes %s", ch.Address, name)
	}
	for name, unknown := range ch.Change.AfterUnknown {
		if !isStatus(name) && isUnknown(unknown) {
			return fmt.Sprintf("the warning about %s does not explain that %s is unknown in the next plan", ch.Address,
				name)
		}
	}
	return ""
}

// isUnknown reports whether a value of after_unknown marks anything as unknown.
func isUnknown(marks any) bool {
	switch marks := marks.(type) {
	case bool:
		return marks
	case []any:
		return slices.ContainsFunc(marks, isUnknown)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(marks)), isUnknown)
	}
	return false
}

// isStatus reports whether an attribute is what an apply waits for, or the UID of an object that is missing.
func isStatus(name string) bool {
	switch name {
	case "ready", "active", "pending_workloads", "admitted_workloads", "usage", "uid", // of a volume:
		"phase", "capacity", "bound_volume_name":
		return true
	}
	return false
}

// onlyAdds reports whether a plan only adds objects to those of a resource.
func onlyAdds(before, after any) bool {
	prior, _ := before.(map[string]any)
	planned, ok := after.(map[string]any)
	for key, text := range prior {
		ok = ok && (text == nil || reflect.DeepEqual(text, planned[key]))
	}
	return ok
}

// violateUnless returns err, or a violation if there is none.
func (c *cycle) violateUnless(err error, at step, what string) error {
	if err != nil {
		return err
	}
	return c.violate(at, what)
}

// errEnded ends a cycle after a violation, because later steps would only repeat it.
var errEnded = errors.New("the cycle ended after a violation")
