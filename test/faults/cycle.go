package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// Hard limits of a command. A command that exceeds them hangs: the operations of the scenario time out within
// 90 seconds, and a request without a response within about 75 seconds.
const (
	limit     = 4 * time.Minute
	slowLimit = 6 * time.Minute // for commands whose requests are held
)

// item is one cycle of the bench: create, plan, update, probe, destroy, with faults in any of these steps.
type item struct {
	name     string
	seed     int64
	scenario scenario
	faults   map[step]proxy.Plan
	// survivable contains the steps with a single fault that an apply must survive.
	survivable map[step]bool
	slow       bool // waits for most of the time
	http2      bool
	probe      bool   // looks for drift that is not detected
	reproduce  string // arguments of the bench that reproduce the cycle
}

// violation is a violation of a requirement.
type violation struct {
	item   item
	step   step
	kinds  []proxy.Kind
	what   string
	detail string // output and requests
	file   string
}

// result is the result of a cycle.
type result struct {
	requests   map[step][]proxy.Record
	planned    map[step]map[string]string // action by address
	snapshots  map[step]snapshot
	injected   map[proxy.Kind]int
	exits      map[step]int
	slowest    map[proxy.Kind]time.Duration
	violations []violation
	deadlocks  int // of Terraform
	starved    int // commands to which the API server itself did not respond
}

// cycle is a running item.
type cycle struct {
	*environment

	item   item
	result result
	// reference is nil in the first cycle without faults.
	reference *reference
	// objects are those in the cluster after the last step.
	objects map[string]object
	// log contains all commands with their output, for reports of violations.
	log strings.Builder
	// last contains the requests of the last command with faults.
	last []proxy.Record
}

// runCycle runs an item. It returns only errors of the bench itself.
func (e *environment) runCycle(ctx context.Context, it item, ref *reference) (result, error) {
	c := e.newCycle(it, ref)
	err := c.run(ctx)
	if errors.Is(err, errEnded) {
		err = nil
	}
	return c.result, err
}

func (e *environment) newCycle(it item, ref *reference) *cycle {
	return &cycle{environment: e, item: it, reference: ref, result: result{
		requests: map[step][]proxy.Record{}, planned: map[step]map[string]string{}, snapshots: map[step]snapshot{},
		injected: map[proxy.Kind]int{}, exits: map[step]int{}, slowest: map[proxy.Kind]time.Duration{},
	}}
}

func (c *cycle) run(ctx context.Context) error {
	if err := c.write(1); err != nil {
		return err
	}
	last := create
	if err := c.change(ctx, create); err != nil {
		return err
	}
	if c.item.faults[plan] != nil {
		out, err := c.runWithFaults(ctx, plan, "plan", "-detailed-exitcode")
		if err := joined([]error{err, c.checkPlanned(plan, out)}); err != nil {
			return err
		}
	}
	if c.item.faults[update] != nil {
		last = update
		if err := c.write(2); err != nil {
			return err
		}
		if err := c.change(ctx, update); err != nil {
			return err
		}
	}
	if c.item.probe {
		if err := c.probe(ctx, last); err != nil {
			return err
		}
	}
	return c.destroy(ctx)
}

func (c *cycle) write(version int) error {
	text := c.item.scenario.config(settings{
		namespace: c.namespace, kubeconfig: c.kubeconfig(), canary: c.canary(version), version: version,
	})
	return os.WriteFile(filepath.Join(c.workDir.dir, "main.tf"), []byte(text), 0o600)
}

// canary returns a secret value that must not appear in any output or state.
func (c *cycle) canary(version int) string {
	return fmt.Sprintf("canary-%s-%d-end", c.namespace, version)
}

// change applies with faults, and checks that the result is correct, at the latest after an apply without faults.
func (c *cycle) change(ctx context.Context, at step) error {
	before := c.objects
	faulted, err := c.runWithFaults(ctx, at, "apply", "-auto-approve")
	if err := joined([]error{err, c.checkPlanned(at, faulted)}); err != nil {
		return err
	}
	after, _, err := c.cluster.objects(ctx, c.namespace)
	if err != nil {
		return err
	}
	if err := c.checkAllInState(at, after); err != nil {
		return err
	}
	if err := c.converge(ctx, at, faulted); err != nil {
		return err
	}
	if err := c.checkConverged(ctx, at); err != nil {
		return err
	}
	return joined([]error{c.checkNotReplaced(at, before), c.checkNotReplaced(at, after)})
}

// runWithFaults runs a command with the faults of a step, and checks the requirements of all commands.
func (c *cycle) runWithFaults(ctx context.Context, at step, args ...string) (run, error) {
	faults := c.item.faults[at]
	if faults == nil {
		faults = proxy.NoFaults
	}
	hardLimit := limit
	if c.item.slow {
		hardLimit = slowLimit
	}
	var restarts errgroup.Group
	out, err := c.workDir.execute(ctx, hardLimit, func(r *running) {
		c.proxy.Begin(faults, func(kind proxy.Kind) {
			if kind == proxy.Restart {
				restarts.Go(c.restart)
				return
			}
			r.signal(kind)
		})
	}, args...)
	records := c.proxy.End()
	if err := errors.Join(err, restarts.Wait()); err != nil {
		return out, err
	}
	c.result.requests[at], c.result.exits[at], c.last = records, out.code, records
	c.result.planned[at] = out.messages.Planned
	for _, record := range records {
		if record.Fault != "" {
			c.result.injected[record.Fault]++
			c.result.slowest[record.Fault] = max(c.result.slowest[record.Fault], out.took)
		}
	}
	return out, c.checkCommand(at, "with faults", out, records)
}

// runWithoutFaults runs a command without faults.
func (c *cycle) runWithoutFaults(ctx context.Context, at step, args ...string) (run, error) {
	out, err := c.workDir.execute(ctx, limit, func(*running) { c.proxy.Begin(proxy.NoFaults, nil) }, args...)
	records := c.proxy.End()
	if err != nil {
		return out, err
	}
	return out, c.checkCommand(at, "without faults", out, records)
}

// planWithoutFaults returns the changes of a plan without faults.
func (c *cycle) planWithoutFaults(ctx context.Context, at step) ([]change, error) {
	file := filepath.Join(c.workDir.dir, "saved.tfplan")
	out, err := c.runWithoutFaults(ctx, at, "plan", "-detailed-exitcode", "-out="+file)
	switch {
	case err != nil:
		return nil, err
	case out.code == 0:
		return nil, nil
	case out.code != planChanges:
		return nil, c.violate(at, "a plan without faults fails")
	}
	shown, err := c.workDir.execute(ctx, limit, nil, "show", file)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&c.log, "%s\n", shown.output)
	return parsePlan(shown.output)
}

// injected counts the faults of some kinds in the last command with faults.
func (c *cycle) injected(kinds ...proxy.Kind) int {
	n := 0
	for _, record := range c.last {
		if slices.Contains(kinds, record.Fault) {
			n++
		}
	}
	return n
}

// converge checks that the cluster matches the configuration, at the latest after an apply without faults.
func (c *cycle) converge(ctx context.Context, at step, faulted run) error {
	if faulted.code == 0 {
		changes, err := c.planWithoutFaults(ctx, at)
		if err != nil || len(changes) == 0 {
			return err
		}
		var errs []error
		for _, ch := range changes {
			if what := unexplained(ch, faulted.messages); what != "" {
				errs = append(errs, c.violate(at, "the apply with faults succeeded, "+what))
			}
		}
		if err := joined(errs); err != nil {
			return err
		}
	}
	before, err := c.workDir.readState()
	if err != nil {
		return err
	}
	out, err := c.runWithoutFaults(ctx, at, "apply", "-auto-approve")
	if err != nil {
		return err
	}
	if out.code != 0 {
		return c.violate(at, "an apply without faults does not converge")
	}
	if err := c.checkRepair(at, before.tainted, out); err != nil {
		return err
	}
	changes, err := c.planWithoutFaults(ctx, at)
	if err == nil && len(changes) > 0 {
		err = c.violate(at, "the plan after the apply without faults is not empty")
	}
	return err
}

// checkConverged checks the cluster and the state after a plan without changes.
func (c *cycle) checkConverged(ctx context.Context, at step) error {
	objects, strays, err := c.cluster.objects(ctx, c.namespace)
	if err != nil {
		return err
	}
	c.objects = objects
	return joined([]error{
		c.checkStateMatches(at, objects), c.checkLeftovers(at, objects, strays), c.checkOracle(ctx, at, objects),
	})
}

// checkStateMatches checks that the state and the cluster contain the same objects.
func (c *cycle) checkStateMatches(at step, objects map[string]object) error {
	state, err := c.workDir.readState()
	if err != nil {
		return err
	}
	var errs []error
	uids := map[string]bool{}
	for key, found := range objects {
		uids[string(found.uid)] = true
		if state.manifests[key] == nil {
			errs = append(errs, c.violate(at, "in the cluster, but not in state: "+key))
		}
	}
	for key := range state.manifests {
		if _, ok := objects[key]; !ok {
			errs = append(errs, c.violate(at, "in state, but not in the cluster: "+key))
		}
	}
	for _, uid := range state.uids {
		if !uids[uid] {
			errs = append(errs, c.violate(at, "the state has a UID that no live object has"))
		}
	}
	if len(state.tainted) > 0 {
		errs = append(errs, c.violate(at, fmt.Sprintf("tainted after convergence: %v", state.tainted)))
	}
	return joined(errs)
}

// checkAllInState checks that all objects are in state, because a destroy would otherwise leave them behind. After
// SIGKILL, the state contains only what was written before. After a second signal as well: Terraform and OpenTofu then
// exit at once, with the message «Two interrupts received».
func (c *cycle) checkAllInState(at step, objects map[string]object) error {
	if c.injected(proxy.KillCLI, proxy.KillProvider) > 0 || c.injected(proxy.InterruptCLI, proxy.TerminateCLI) > 1 {
		return nil
	}
	state, err := c.workDir.readState()
	if err != nil {
		return err
	}
	var errs []error
	for key := range objects {
		if state.manifests[key] == nil {
			errs = append(errs, c.violate(at, "missing in state, so a destroy would leave it behind: "+key))
		}
	}
	return joined(errs)
}

// checkNotReplaced checks that settled objects were not replaced.
func (c *cycle) checkNotReplaced(at step, before map[string]object) error {
	var errs []error
	for key, found := range before {
		if found.settled && c.objects[key].uid != found.uid {
			errs = append(errs, c.violate(at, "replaced: "+key))
		}
	}
	return joined(errs)
}

// destroy destroys with faults, and again without faults if that failed, and checks that nothing is left.
func (c *cycle) destroy(ctx context.Context) error {
	out, err := c.runWithFaults(ctx, destroy, "destroy", "-auto-approve")
	if err := joined([]error{err, c.checkPlanned(destroy, out)}); err != nil {
		return err
	}
	if out.code != 0 {
		if out, err = c.runWithoutFaults(ctx, destroy, "destroy", "-auto-approve"); err != nil {
			return err
		}
		if out.code != 0 {
			return c.violate(destroy, "a destroy without faults fails")
		}
	}
	state, err := c.workDir.readState()
	if err != nil {
		return err
	}
	if len(state.manifests) > 0 {
		return c.violate(destroy, "objects are in state after a successful destroy")
	}
	left, strays, err := c.cluster.remains(ctx, c.namespace)
	if err != nil {
		return err
	}
	if left = append(left, strays...); len(left) > 0 {
		return c.violate(destroy, "orphans after the destroy: "+strings.Join(left, ", "))
	}
	return nil
}
