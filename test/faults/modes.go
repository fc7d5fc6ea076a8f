package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// killCycles is the number of cycles of the mode kill. The mode restart has a quarter of it.
const killCycles = 20

func modes() []string { return []string{"exhaustive", "random", "rate5", "rate20", "kill", "restart"} }

// shorten limits a run to a sample. It omits the mode kill, whose fault the other modes include, and restarts, which
// need a cluster of their own.
func (o *options) shorten() {
	o.modes = strings.ReplaceAll(o.modes, ",kill,restart", "")
	o.runs = 1
}

// shortCycles is the number of exhaustive cycles of a short run.
const shortCycles = 6

// runAll runs the modes of the options.
func (b *bench) runAll(ctx context.Context) error {
	if b.opts.only != "" {
		it, err := only(b.opts.only, allResources())
		if err != nil {
			return err
		}
		b.runItems(ctx, []item{it})
		return nil
	}
	fmt.Printf("seed: %d\n", b.opts.seed)
	var items, restarts []item
	for mode := range strings.SplitSeq(b.opts.modes, ",") {
		found, err := b.items(ctx, mode, b.opts.seed)
		if err != nil {
			return err
		}
		if mode == "restart" {
			restarts = append(restarts, found...)
		} else {
			items = append(items, found...)
		}
	}
	// The order is random, so that a run that ends early covers each mode.
	random := rand.New(rand.NewPCG(uint64(b.opts.seed), 0))
	random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	b.runItems(ctx, items)
	return b.runRestarts(ctx, restarts)
}

// items lists the cycles of a mode.
func (b *bench) items(ctx context.Context, mode string, seed int64) ([]item, error) {
	var items []item
	switch mode {
	case "exhaustive":
		ref, err := b.reference(ctx, allResources())
		if err != nil {
			return nil, err
		}
		seen, all := ref.requests, targets(ref.requests, b.opts.kinds)
		fmt.Printf("requests: create %d, plan %d, update %d, destroy %d; faults: %d\n", len(seen[create]),
			len(seen[plan]), len(seen[update]), len(seen[destroy]),
			len(all[create])+len(all[plan])+len(all[update])+len(all[destroy]))
		items = exhaustive(all, seed, allResources())
		if b.opts.short {
			items = items[:min(shortCycles, len(items))] // the slow ones are last
		}
	case "random":
		for i := range b.opts.runs {
			items = append(items, atRandom(seed+int64(i), b.opts.kinds, allResources()))
		}
	case "rate5", "rate20":
		percent := map[string]int{"rate5": 5, "rate20": 20}[mode]
		for i := range b.opts.runs {
			items = append(items, atRate(percent, seed+int64(i), proxy.Transient(), allResources()))
		}
	case "kill":
		return b.spread(ctx, mode, proxy.KillCLI, killCycles, seed, twoOfEach())
	case "restart":
		return b.spread(ctx, mode, proxy.Restart, killCycles/4, seed, allResources())
	default:
		return nil, fmt.Errorf("unknown -mode %s, must be one of %s", mode, strings.Join(modes(), ", "))
	}
	return items, nil
}

// spread lists cycles with one fault each in the creation: at a random request in each part of it.
func (b *bench) spread(
	ctx context.Context, mode string, kind proxy.Kind, count int, seed int64, sc scenario,
) ([]item, error) {
	ref, err := b.reference(ctx, sc)
	if err != nil {
		return nil, err
	}
	requests := len(ref.requests[create])
	part := max(1, requests/count)
	var items []item
	for i := range count {
		offset := int(hash(seed, create, proxy.Request{N: i}) % uint64(part))
		items = append(items, atCount(kind, 1+i*requests/count+offset, seed, sc, mode))
	}
	return items, nil
}

// runRestarts runs cycles sequentially on a separate cluster, which they restart.
func (b *bench) runRestarts(ctx context.Context, items []item) (err error) {
	if len(items) == 0 || b.outOfTime(ctx) {
		return nil
	}
	dir := filepath.Join(b.base.dir, "restarted")
	c, stop, err := startCluster(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	restart := func() error {
		// The error may report connections that are still open, which belong to the provider.
		_ = stop()
		_, again, err := startCluster(ctx, dir) // at the same address
		if err == nil {
			stop = again
		}
		return err
	}
	for _, it := range items {
		if b.outOfTime(ctx) {
			return nil
		}
		b.runItem(ctx, c, it, restart)
	}
	return nil
}

// outOfTime reports whether the time limit for new cycles is exceeded.
func (b *bench) outOfTime(ctx context.Context) bool {
	return ctx.Err() != nil || b.opts.time > 0 && time.Since(b.started) > b.opts.time
}

// reference returns the reference of a scenario. It is made once for all items.
func (b *bench) reference(ctx context.Context, sc scenario) (*reference, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	made, ok := b.references[sc.name]
	if !ok {
		made.ref, made.err = b.makeReference(ctx, sc)
		b.references[sc.name] = made
	}
	return made.ref, made.err
}

// makeReference runs two cycles of a scenario without faults. The requests are those of either of them, and the second
// one must reach the same as the first.
func (b *bench) makeReference(ctx context.Context, sc scenario) (*reference, error) {
	it := item{name: "without faults", scenario: sc, faults: map[step]proxy.Plan{}, probe: true}
	requests := map[step]map[string]proxy.Request{}
	for _, at := range []step{create, plan, update, destroy} {
		it.faults[at] = proxy.NoFaults
		requests[at] = map[string]proxy.Request{}
	}
	var ref *reference
	for range 2 {
		r, err := b.runOne(ctx, b.cluster, it, ref, nil)
		if err != nil {
			return nil, err
		}
		if len(r.violations) > 0 {
			return nil, errors.Join(b.tally.add(it, r), errViolations)
		}
		for at, records := range r.requests {
			for _, record := range records {
				requests[at][record.Request.String()] = record.Request
			}
		}
		if ref == nil {
			ref = &reference{requests: requests, planned: r.planned, snapshots: r.snapshots}
		}
	}
	return ref, nil
}

// runOne runs an item in a new environment.
func (b *bench) runOne(
	ctx context.Context, c *cluster, it item, ref *reference, restart func() error,
) (r result, err error) {
	env, err := newEnvironment(ctx, c, fmt.Sprintf("faults-%d", c.namespaces.Add(1)), b.base, it.http2)
	if err != nil {
		return result{}, err
	}
	env.restart = restart
	defer func() { err = errors.Join(err, env.close(context.WithoutCancel(ctx))) }()
	return env.runCycle(ctx, it, ref)
}

// runItems runs all items, several in parallel.
func (b *bench) runItems(ctx context.Context, items []item) {
	var workers sync.WaitGroup
	for slow, count := range map[bool]int{false: b.opts.parallel, true: 4 * b.opts.parallel} {
		queue := make(chan item)
		for range count {
			workers.Go(func() {
				for it := range queue {
					b.runItem(ctx, b.cluster, it, nil)
				}
			})
		}
		workers.Go(func() {
			defer close(queue)
			for _, it := range items {
				if b.outOfTime(ctx) {
					return
				}
				if it.slow == slow {
					queue <- it
				}
			}
		})
	}
	workers.Wait()
}

func (b *bench) runItem(ctx context.Context, c *cluster, it item, restart func() error) {
	ref, err := b.reference(ctx, it.scenario)
	var r result
	if err == nil {
		r, err = b.runOne(ctx, c, it, ref, restart)
	}
	if err == nil {
		err = b.tally.add(it, r)
	}
	if err != nil && ctx.Err() == nil {
		b.tally.fail(it, err)
	}
}
