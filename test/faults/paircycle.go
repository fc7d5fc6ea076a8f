package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// pairCycle is a cycle of one resource without the CLI: each command is a provider in the process of the bench. The
// requirements are those of a cycle with the CLI.
type pairCycle struct {
	*cycle

	ref      *pairReference
	resource core.Resource // in state
	tainted  bool
	commands int
	seen     map[served]bool
}

func newPairCycle(e *environment, it item, ref *pairReference) *pairCycle {
	return &pairCycle{cycle: e.newCycle(it, ref.reference), ref: ref, resource: *ref.blank, seen: map[served]bool{}}
}

// outcome is what a command did.
type outcome struct {
	plan     *core.Plan // nil if it failed
	warnings []string   // of the refresh, the plan and the apply
	err      error
	applied  bool
	killed   bool
	hung     bool
	created  bool // any object, without faults
}

// errKilled is the error of a command whose provider was killed.
var errKilled = errors.New("the provider was killed")

func (c *pairCycle) run(ctx context.Context) error {
	err := c.steps(ctx)
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

func (c *pairCycle) steps(ctx context.Context) error {
	if err := c.change(ctx, create, 1); err != nil {
		return err
	}
	if _, err := c.faulted(ctx, plan, core.NoOp, c.planning(1)); err != nil {
		return err
	}
	if err := c.change(ctx, update, 2); err != nil {
		return err
	}
	return c.destroy(ctx)
}

// change applies with faults, and checks that the result is correct, at the latest after an apply without faults.
func (c *pairCycle) change(ctx context.Context, at step, version int) error {
	before := c.objects
	want := map[step]core.Action{create: core.Create, update: core.Update}[at]
	out, err := c.faulted(ctx, at, want, c.applying(version))
	if err != nil {
		return err
	}
	after, _, err := c.cluster.objectsOf(ctx, c.namespace, c.ref.kinds)
	if err != nil {
		return err
	}
	if !out.killed {
		if err := c.checkAllInState(at, after); err != nil {
			return err
		}
	}
	replaces := at == create && c.tainted && c.replacesUnknown()
	if err := c.converge(ctx, at, version, out); err != nil {
		return err
	}
	if err := c.checkConverged(ctx, at); err != nil || replaces {
		return err
	}
	return joined([]error{c.checkNotReplaced(at, before), c.checkNotReplaced(at, after)})
}

// command is what a command does with the resource, which is in state afterwards.
type command func(ctx context.Context, run *providers, r *core.Resource) outcome

// replacesUnknown reports whether a failed creation may be replaced by ADR 0010: no write got a response, and the
// object contains no data.
func (c *pairCycle) replacesUnknown() bool {
	answered := func(r proxy.Record) bool {
		return r.Request.Writes() && r.Status/100 == 2 && !isLost(r)
	}
	return c.ref.scenario.typ != "kt_volume" && !slices.ContainsFunc(c.last, answered)
}

// isLost reports whether the server executed a write, but its response did not arrive.
func isLost(r proxy.Record) bool {
	kinds := []proxy.Kind{proxy.ResetAfter, proxy.GatewayTimeout, proxy.CutBody, proxy.ShortBody}
	return r.Request.Writes() && r.Status/100 == 2 && slices.Contains(kinds, r.Fault)
}

func (c *pairCycle) planning(version int) command {
	return func(ctx context.Context, run *providers, r *core.Resource) outcome {
		return run.plan(func(begun *core.Command) (*core.Plan, error) { return r.Plan(ctx, begun, c.body(version)) })
	}
}

// applying plans and applies. Like Terraform, it replaces a tainted resource.
func (c *pairCycle) applying(version int) command {
	tainted := c.tainted
	return func(ctx context.Context, run *providers, r *core.Resource) outcome {
		if tainted {
			if out := destroying(ctx, run, r); out.err != nil {
				return out
			}
		}
		return run.apply(ctx, r, c.planning(version)(ctx, run, r))
	}
}

func destroying(ctx context.Context, run *providers, r *core.Resource) outcome {
	plan := func(begun *core.Command) (*core.Plan, error) { return r.PlanDestroy(ctx, begun) }
	return run.apply(ctx, r, run.plan(plan))
}

func (c *pairCycle) body(version int) string {
	return c.ref.scenario.body(settings{namespace: c.namespace, canary: c.canary(version), version: version})
}

// block is the body of the provider block.
func (c *pairCycle) block() string {
	return fmt.Sprintf("config_path = %q\nnamespace = %q\nusername = \"bench\"\nlaunch_timeout = \"60s\"\n",
		c.kubeconfig(), c.namespace)
}

// faulted runs a command with the faults of a step, and checks the requirements of all commands.
func (c *pairCycle) faulted(ctx context.Context, at step, want core.Action, do command) (outcome, error) {
	faults := c.item.faults[at]
	if faults == nil {
		faults = proxy.NoFaults
	}
	out, records, took, err := c.execute(ctx, faults, do)
	if err != nil {
		return out, err
	}
	c.result.requests[at], c.last = records, records
	for _, record := range records {
		if record.Fault != "" {
			c.result.injected[record.Fault]++
			c.result.slowest[record.Fault] = max(c.result.slowest[record.Fault], took)
		}
	}
	if out.err != nil {
		c.result.exits[at] = 1
	} else {
		c.result.exits[at] = 0
	}
	return out, joined([]error{c.check(at, "with faults", out, records, took), c.checkAction(at, want, out)})
}

// unfaulted runs a command without faults.
func (c *pairCycle) unfaulted(ctx context.Context, at step, do command) (outcome, error) {
	out, records, took, err := c.execute(ctx, proxy.NoFaults, do)
	if err != nil {
		return out, err
	}
	out.created = slices.ContainsFunc(records, func(r proxy.Record) bool {
		return r.Request.Writes() && r.Status == http.StatusCreated
	})
	return out, c.check(at, "without faults", out, records, took)
}

// execute runs a command, once the controllers have seen what the command before has written: at its end, it removes an
// annotation. That increases the generation of a Deployment, which is then not ready for some milliseconds. The CLI
// takes longer to start.
func (c *pairCycle) execute(
	ctx context.Context, faults proxy.Plan, do command,
) (outcome, []proxy.Record, time.Duration, error) {
	if err := c.cluster.awaitObserved(ctx, c.namespace); err != nil {
		return outcome{}, nil, 0, err
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	c.commands++
	run := &providers{cycle: c, ctx: running, version: fmt.Sprintf("%s-%d-%d", c.namespace, c.item.seed, c.commands),
		killed: make(chan struct{})}
	start := time.Now()
	c.proxy.Begin(faults, run.signal)
	done := make(chan outcome, 1)
	resource := c.resource // a killed provider changes only this copy
	go func() { done <- do(running, run, &resource) }()
	var out outcome
	select {
	case out = <-done:
		run.end()
		c.keep(out, resource)
	case <-run.killed:
		out = outcome{err: errKilled, killed: true}
	case <-time.After(limit):
		out = outcome{err: errors.New("the command did not end"), hung: true}
	}
	took, records := time.Since(start), c.proxy.End()
	run.kill()
	return out, records, took, ctx.Err()
}

// keep writes the state. Like Terraform, it taints what a failed creation has left behind.
func (c *pairCycle) keep(out outcome, resource core.Resource) {
	c.resource = resource
	created := out.applied && out.plan.Action == core.Create
	c.tainted = resource.State() != nil && (created && out.err != nil || c.tainted && !out.applied)
}

// converge applies without faults, which saves what the refresh has found. After a success, the plan must be empty, or
// a warning must explain it.
func (c *pairCycle) converge(ctx context.Context, at step, version int, applied outcome) error {
	tainted := c.tainted
	out, err := c.unfaulted(ctx, at, c.applying(version))
	if err != nil {
		return err
	}
	action, what := out.plan.Action, ""
	switch {
	case action == core.NoOp:
		return nil
	case applied.err == nil:
		what, err = c.unexplained(out, applied.warnings)
	case action != core.Create && action != core.Update && !tainted:
		what = fmt.Sprintf("the apply after the one with faults plans the action %s", action)
	}
	if err != nil {
		return err
	}
	if what != "" {
		return c.violate(at, what)
	}
	out, err = c.unfaulted(ctx, at, c.planning(version))
	if err == nil && out.plan.Action != core.NoOp {
		err = c.violate(at, fmt.Sprintf("the plan after the apply without faults is not empty: %v",
			out.plan.Attributes()))
	}
	return err
}

// manifests returns the keys of the objects in state.
func (c *pairCycle) manifests() map[string]bool {
	keys := map[string]bool{}
	known, _ := c.resource.Attribute("manifests").(map[string]any)
	for key, text := range known {
		if text != nil { // null for objects that the cluster does not support
			keys[key] = true
		}
	}
	return keys
}

// checkAllInState checks that all objects are in state.
func (c *pairCycle) checkAllInState(at step, objects map[string]object) error {
	var errs []error
	known := c.manifests()
	for key := range objects {
		if !known[key] {
			errs = append(errs, c.violate(at, "missing in state, so a destroy would leave it behind: "+key))
		}
	}
	return joined(errs)
}

// checkConverged checks the cluster and the state after a plan without changes.
func (c *pairCycle) checkConverged(ctx context.Context, at step) error {
	objects, strays, err := c.cluster.objectsOf(ctx, c.namespace, c.ref.kinds)
	if err != nil {
		return err
	}
	seenKinds(c.seen, objects)
	c.objects = objects
	errs := []error{c.checkAllInState(at, objects), c.checkLeftovers(at, objects, strays)}
	uid, uids := c.resource.Attribute("uid"), map[any]bool{nil: true}
	for _, found := range objects {
		uids[string(found.uid)] = true
	}
	if !uids[uid] {
		errs = append(errs, c.violate(at, "the state has a UID that no live object has"))
	}
	for key := range c.manifests() {
		if _, live := objects[key]; !live {
			errs = append(errs, c.violate(at, "in state, but not in the cluster: "+key))
		}
	}
	if c.tainted {
		errs = append(errs, c.violate(at, "tainted after convergence"))
	}
	if err := joined(errs); err != nil {
		return err
	}
	got, err := c.snapshot(ctx, objects)
	if err != nil {
		return err
	}
	return c.compare(at, got)
}

// snapshot takes a snapshot of the objects in the cluster and of the state.
func (c *pairCycle) snapshot(ctx context.Context, objects map[string]object) (snapshot, error) {
	out, err := c.cluster.comparableObjects(ctx, objects)
	if err != nil {
		return nil, err
	}
	instance, err := comparableInstance("", c.resource.Attributes(), c.resource.Private())
	if err != nil {
		return nil, err
	}
	out[c.ref.scenario.typ] = instance
	return c.withoutNames(out)
}

// destroy destroys with faults, and again without faults if that failed, and checks that nothing is left.
func (c *pairCycle) destroy(ctx context.Context) error {
	out, err := c.faulted(ctx, destroy, core.Delete, destroying)
	if err != nil {
		return err
	}
	if out.err != nil {
		if _, err := c.unfaulted(ctx, destroy, destroying); err != nil {
			return err
		}
	}
	if c.resource.State() != nil {
		return c.violate(destroy, "objects are in state after a successful destroy")
	}
	objects, strays, err := c.cluster.objectsOf(ctx, c.namespace, c.ref.kinds)
	if err != nil {
		return err
	}
	pods, err := c.cluster.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	left := append(slices.Collect(maps.Keys(objects)), strays...)
	for _, pod := range pods.Items {
		left = append(left, "Pod/"+pod.Name)
	}
	if len(left) > 0 {
		return c.violate(destroy, "orphans after the destroy: "+strings.Join(left, ", "))
	}
	return nil
}
