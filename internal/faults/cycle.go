package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ktdev/terraform-provider-kt/internal/faults/proxy"
)

// Hard limits of a command. A command that exceeds them hangs: the operations of the scenario time out within
// 90 seconds, and a request without a response within about 75 seconds.
const (
	limit     = 4 * time.Minute
	slowLimit = 6 * time.Minute // for commands whose requests are held
)

// item is one cycle of the bench: create, plan, update, plan, destroy, with faults in any of these steps.
type item struct {
	name      string
	seed      int64
	scenario  scenario
	faults    map[step]proxy.Plan
	slow      bool // waits for most of the time
	http2     bool
	reproduce string // arguments of the bench that reproduce the cycle
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
	injected   map[proxy.Kind]int
	exits      map[step]int
	slowest    map[proxy.Kind]time.Duration
	violations []violation
}

// environment is a namespace behind a proxy and a working directory, in which a worker runs its cycles.
type environment struct {
	cluster   *cluster
	namespace string
	workDir   workDir
	proxy     *proxy.Proxy
	// restart restarts the cluster. It is nil if other environments use the same cluster.
	restart func() error
}

// newEnvironment creates a namespace and starts a proxy for it.
func newEnvironment(ctx context.Context, c *cluster, name string, base workDir, http2 bool) (*environment, error) {
	e := &environment{cluster: c, namespace: name, workDir: base}
	e.workDir.dir = filepath.Join(base.dir, name)
	if err := os.MkdirAll(e.workDir.dir, 0o700); err != nil {
		return nil, err
	}
	if err := c.makeNamespace(ctx, name); err != nil {
		return nil, err
	}
	var err error
	if e.proxy, err = c.startProxy(name, http2); err != nil {
		return nil, err
	}
	text, err := e.proxy.Kubeconfig()
	if err != nil {
		return nil, err
	}
	return e, errors.Join(os.WriteFile(e.kubeconfig(), text, 0o600),
		os.WriteFile(e.workDir.state(), []byte(emptyState), 0o600))
}

func (e *environment) kubeconfig() string { return filepath.Join(e.workDir.dir, "kubeconfig") }

// close deletes the namespace and the working directory. Afterwards, the garbage collector may still be deleting
// objects.
func (e *environment) close(ctx context.Context) error {
	return errors.Join(e.proxy.Close(), e.cluster.deleteNamespace(ctx, e.namespace), os.RemoveAll(e.workDir.dir))
}

// cycle is a running item.
type cycle struct {
	*environment

	item   item
	result result
	// log contains all commands with their output, for reports of violations.
	log strings.Builder
	// last contains the requests of the last command with faults.
	last []proxy.Record
}

// errEnded ends a cycle after a violation, because later steps would only repeat it.
var errEnded = errors.New("the cycle ended after a violation")

// runCycle runs an item. It returns only errors of the bench itself.
func (e *environment) runCycle(ctx context.Context, it item) (result, error) {
	c := &cycle{environment: e, item: it, result: result{
		requests: map[step][]proxy.Record{}, injected: map[proxy.Kind]int{}, exits: map[step]int{},
		slowest: map[proxy.Kind]time.Duration{},
	}}
	err := c.run(ctx)
	if errors.Is(err, errEnded) {
		err = nil
	}
	return c.result, err
}

func (c *cycle) run(ctx context.Context) error {
	if err := c.write(1); err != nil {
		return err
	}
	if err := c.change(ctx, create); err != nil {
		return err
	}
	if c.item.faults[plan] != nil {
		if _, err := c.runWithFaults(ctx, plan, "plan"); err != nil {
			return err
		}
	}
	if c.item.faults[update] != nil {
		if err := c.write(2); err != nil {
			return err
		}
		if err := c.change(ctx, update); err != nil {
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
	before, err := c.cluster.liveObjects(ctx, c.namespace)
	if err != nil {
		return err
	}
	faulted, err := c.runWithFaults(ctx, at, "apply", "-auto-approve")
	if err != nil {
		return err
	}
	after, err := c.cluster.liveObjects(ctx, c.namespace)
	if err != nil {
		return err
	}
	if err := c.checkAllInState(at, after); err != nil {
		return err
	}
	if err := c.converge(ctx, at, faulted); err != nil {
		return err
	}
	if err := c.checkStateMatches(ctx, at); err != nil {
		return err
	}
	now, err := c.cluster.liveObjects(ctx, c.namespace)
	if err != nil {
		return err
	}
	return errors.Join(c.checkNotReplaced(at, before, now), c.checkNotReplaced(at, after, now))
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
	for _, record := range records {
		if record.Fault != "" {
			c.result.injected[record.Fault]++
			c.result.slowest[record.Fault] = max(c.result.slowest[record.Fault], out.took)
		}
	}
	return out, c.checkCommand(at, "with faults", out)
}

// runWithoutFaults runs a command without faults.
func (c *cycle) runWithoutFaults(ctx context.Context, at step, args ...string) (run, error) {
	out, err := c.workDir.execute(ctx, limit, func(*running) { c.proxy.Begin(proxy.NoFaults, nil) }, args...)
	c.proxy.End()
	if err != nil {
		return out, err
	}
	return out, c.checkCommand(at, "without faults", out)
}

// checkCommand checks the requirements of all commands: it ends in time, leaves no process behind, does not panic, and
// shows no secret value.
func (c *cycle) checkCommand(at step, how string, out run) error {
	fmt.Fprintf(&c.log, "\n$ %s   (%s, exit %d, %.1f s)\n%s\n", out.args, how, out.code, out.took.Seconds(), out.output)
	if how == "with faults" {
		for _, record := range c.last {
			fmt.Fprintln(&c.log, record)
		}
	}
	var errs []error
	if out.hung {
		errs = append(errs, c.violate(at, "hang: the command did not end within the hard limit"))
	}
	if len(out.remaining) > 0 {
		errs = append(errs, c.violate(at, "processes outlive the command: "+strings.Join(out.remaining, ", ")))
	}
	if !out.hung && c.injected(proxy.KillProvider) == 0 &&
		(strings.Contains(out.output, "panic:") || strings.Contains(out.output, "Plugin did not respond")) {
		errs = append(errs, c.violate(at, "panic"))
	}
	if strings.Contains(out.output, "inconsistent") {
		errs = append(errs, c.violate(at, "inconsistent plan or result"))
	}
	state, err := c.workDir.readState()
	if err != nil {
		errs = append(errs, c.violate(at, "the state cannot be read: "+err.Error()))
	}
	for version := range 2 {
		if strings.Contains(out.output+state.text, c.canary(version+1)) {
			errs = append(errs, c.violate(at, "a secret value is in the output or the state"))
		}
	}
	return errors.Join(errs...)
}

// injected counts the faults of a kind in the last command with faults.
func (c *cycle) injected(kind proxy.Kind) int {
	n := 0
	for _, record := range c.last {
		if record.Fault == kind {
			n++
		}
	}
	return n
}

// converge checks that the cluster matches the configuration, at the latest after an apply without faults.
func (c *cycle) converge(ctx context.Context, at step, faulted run) error {
	if faulted.code == 0 {
		out, err := c.runWithoutFaults(ctx, at, "plan", "-detailed-exitcode")
		if err != nil || out.code == 0 {
			return err
		}
		if !strings.Contains(faulted.output, "Warning:") || out.code == 1 {
			return c.violate(at, "the apply with faults succeeded without a warning, but the next plan is not empty")
		}
	}
	out, err := c.runWithoutFaults(ctx, at, "apply", "-auto-approve")
	if err != nil {
		return err
	}
	if out.code != 0 {
		return c.violate(at, "an apply without faults does not converge")
	}
	if out, err = c.runWithoutFaults(ctx, at, "plan", "-detailed-exitcode"); err != nil {
		return err
	}
	if out.code != 0 {
		return c.violate(at, "the plan after the apply without faults is not empty")
	}
	return nil
}

// checkStateMatches checks that the state and the cluster contain the same objects.
func (c *cycle) checkStateMatches(ctx context.Context, at step) error {
	state, err := c.workDir.readState()
	if err != nil {
		return err
	}
	objects, err := c.cluster.liveObjects(ctx, c.namespace)
	if err != nil {
		return err
	}
	var errs []error
	uids := map[string]bool{}
	for key, object := range objects {
		uids[string(object.uid)] = true
		if !state.manifests[key] {
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
	return errors.Join(errs...)
}

// checkAllInState checks that all objects are in state, because a destroy would otherwise leave them behind. After
// SIGKILL, the state contains only what was written before. After a second SIGINT as well: Terraform and OpenTofu then
// exit at once, with the message «Two interrupts received».
func (c *cycle) checkAllInState(at step, objects map[string]live) error {
	if c.injected(proxy.KillCLI) > 0 || c.injected(proxy.KillProvider) > 0 || c.injected(proxy.InterruptCLI) > 1 {
		return nil
	}
	state, err := c.workDir.readState()
	if err != nil {
		return err
	}
	var errs []error
	for key := range objects {
		if !state.manifests[key] {
			errs = append(errs, c.violate(at, "missing in state, so a destroy would leave it behind: "+key))
		}
	}
	return errors.Join(errs...)
}

// checkNotReplaced checks that settled objects were not replaced.
func (c *cycle) checkNotReplaced(at step, before, now map[string]live) error {
	var errs []error
	for key, object := range before {
		if object.settled && now[key].uid != object.uid {
			errs = append(errs, c.violate(at, "replaced: "+strings.Replace(key, c.namespace+"/", "", 1)))
		}
	}
	return errors.Join(errs...)
}

// destroy destroys with faults, and again without faults if that failed, and checks that nothing is left.
func (c *cycle) destroy(ctx context.Context) error {
	out, err := c.runWithFaults(ctx, destroy, "destroy", "-auto-approve")
	if err != nil {
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
	left, err := c.cluster.remains(ctx, c.namespace)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return c.violate(destroy, "orphans after the destroy: "+
			strings.ReplaceAll(strings.Join(left, ", "), c.namespace+"/", ""))
	}
	return nil
}
