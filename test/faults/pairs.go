package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
	"github.com/ktdev/terraform-provider-kt/test/acctest/inprocess"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// pairScenario is one resource in two versions, as created and as updated.
type pairScenario struct {
	name, typ string
	body      func(s settings) string
}

func pairScenarios() []pairScenario {
	const pods = "cpus = \"100m\"\nmemory = \"64Mi\"\nservice_account_name = \"default\"\nimage = \"debian:12\"\n"
	return []pairScenario{
		{"secret", "kt_secret", func(s settings) string {
			return fmt.Sprintf("name = \"token\"\nvalues_wo = { TOKEN = %q }\n", s.canary)
		}},
		{"volume", "kt_volume", func(s settings) string {
			return fmt.Sprintf("name = \"data\"\nsize = \"1Gi\"\nlabels = { version = \"v%d\" }\n", s.version)
		}},
		{"image", "kt_image", func(s settings) string {
			return fmt.Sprintf("name = \"setup\"\nimage_id = \"debian:12\"\n"+
				"steps = [{ set_env_vars = { VERSION = \"v%d\" } }]\n", s.version)
		}},
		{"queue", "kt_queue", func(s settings) string {
			return fmt.Sprintf(`name = "%[1]s-quota"
				flavors = [{
					name        = "%[1]s-cpu"
					node_labels = { "example.com/pool" = "cpu" }
					quotas      = { cpu = { nominal = "1%[2]d" } }
				}]`, s.namespace, s.version)
		}},
		{"web", "kt_compute", func(s settings) string {
			return fmt.Sprintf("name = \"web\"\n%senv_vars = { VERSION = \"v%d\" }\n", pods, s.version)
		}},
		{"workers", "kt_compute", func(s settings) string {
			return fmt.Sprintf("name = \"workers\"\n%senv_vars = { VERSION = \"v%d\" }\n"+
				"distribute = { type = \"pytorch\", workers = 2 }\n", pods, s.version)
		}},
		{"scaled", "kt_compute", func(s settings) string {
			return fmt.Sprintf("name = \"scaled\"\n%sautoscale = { max_scale = 2 }\nenv_vars = { VERSION = \"v%d\" }\n",
				pods, s.version)
		}},
	}
}

// pairReference is what cycles of a scenario without faults do.
type pairReference struct {
	*reference
	scenario pairScenario
	blank    *core.Resource // that does not exist
	kinds    []served       // of the objects
	targets  []target       // all faults, sorted
}

// pair is one cycle with two faults.
type pair struct {
	item
	ref    *pairReference
	faults []target
}

// drawPair draws a scenario and two faults. In half of the pairs, both hit the same command. In a quarter of these, the
// second one hits the repetition of the first request.
func drawPair(refs []*pairReference, seed int64) pair {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	ref := refs[random.IntN(len(refs))]
	first := ref.targets[random.IntN(len(ref.targets))]
	others := ref.targets
	if random.IntN(2) == 0 {
		others = slices.DeleteFunc(slices.Clone(others), func(t target) bool { return t.step != first.step })
	}
	second := others[random.IntN(len(others))]
	if second.step == first.step && random.IntN(4) == 0 {
		second.request, second.kind = repetition(first.request), first.kind
		if kinds := ref.kindsAt(first); len(kinds) > 0 {
			second.kind = kinds[random.IntN(len(kinds))]
		}
	}
	p := pair{ref: ref, faults: []target{first, second}}
	p.item = item{name: "pair-" + ref.scenario.name, seed: seed, survivable: map[step]bool{},
		faults: map[step]proxy.Plan{}, reproduce: fmt.Sprintf("-pairs -n 1 -seed %d", seed)}
	for _, at := range []step{create, plan, update, destroy} {
		p.survivable[at] = true
		for _, t := range p.faults {
			p.survivable[at] = p.survivable[at] && (t.step != at || t.kind.IsSurvivable())
			p.slow = p.slow || t.kind.IsSlow()
		}
		p.item.faults[at] = p.plan(at)
	}
	return p
}

// plan injects the faults of a step.
func (p pair) plan(at step) proxy.Plan {
	return func(r proxy.Request) *proxy.Fault {
		for _, t := range p.faults {
			if t.step != at {
				continue
			}
			if fault := t.plan()(r); fault != nil && fault.Kind.AppliesTo(r) {
				fault.Duration /= 2 // outages of up to four seconds
				return fault
			}
		}
		return nil
	}
}

func (p pair) String() string { return fmt.Sprintf("%s, %s", p.faults[0], p.faults[1]) }

// kindsAt lists the kinds of faults at the request of a target.
func (r *pairReference) kindsAt(t target) []proxy.Kind {
	var kinds []proxy.Kind
	for _, other := range r.targets {
		if other.step == t.step && other.request == t.request {
			kinds = append(kinds, other.kind)
		}
	}
	return kinds
}

// repetition returns the next request that is otherwise equal.
func repetition(request string) string {
	name, number, _ := strings.Cut(request, "#")
	n := 0
	_, _ = fmt.Sscan(number, &n)
	return fmt.Sprintf("%s#%d", name, n+1)
}

// pairKinds are the kinds of faults of a command without the CLI: a killed CLI is like a killed provider, because one
// resource is one change of the state.
func pairKinds(kinds []proxy.Kind) []proxy.Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k proxy.Kind) bool {
		return k == proxy.KillCLI || k == proxy.TerminateCLI
	})
}

// samplePairs is the time in which a short run starts pairs, with a random seed.
const samplePairs = 15 * time.Second

// runPairs runs cycles with two faults each, from a seed on. It starts none after a limit, unless that is 0.
func (b *bench) runPairs(ctx context.Context, out io.Writer, n int, seed int64, limit time.Duration) error {
	started := time.Now()
	refs, err := b.pairReferences(ctx)
	if err != nil {
		return err
	}
	all := 0
	for _, ref := range refs {
		all += len(ref.targets)
	}
	fmt.Fprintf(out, "pairs: seed %d, %d faults of %d scenarios, references in %s\n", seed, all, len(refs),
		time.Since(started).Round(time.Second))
	queues := map[bool]chan pair{false: make(chan pair), true: make(chan pair)}
	workers, working := errgroup.WithContext(ctx) // ends with the first error of the bench
	for slow, count := range map[bool]int{false: b.opts.parallel, true: 4 * b.opts.parallel} {
		for range count {
			workers.Go(func() error { return b.pairWorker(ctx, queues[slow]) })
		}
	}
	var feeding sync.WaitGroup
	cyclesStarted := time.Now()
	before := cpuUsed()
	for slow, queue := range queues {
		feeding.Go(func() {
			defer close(queue)
			for i := range n {
				p := drawPair(refs, seed+int64(i))
				if p.slow != slow {
					continue
				}
				if limit > 0 && time.Since(cyclesStarted) > limit {
					return
				}
				select {
				case queue <- p:
				case <-working.Done():
					return
				}
			}
		})
	}
	feeding.Wait()
	err = workers.Wait()
	b.tally.mu.Lock()
	defer b.tally.mu.Unlock()
	took := time.Since(cyclesStarted)
	used, pairs := cpuUsed(), float64(b.tally.pairs)
	fmt.Fprintf(out, "pairs: %.0f cycles in %s, %.0f a minute, each with %.2f s of CPU time here and %.2f s in the "+
		"cluster\n", pairs, took.Round(time.Second), pairs/took.Minutes(), (used.bench-before.bench)/pairs,
		(used.cluster-before.cluster)/pairs)
	return err
}

// pairWorker runs pairs in one environment, and checks at the end that it has no objects of any kind. After a
// violation, it continues in another environment.
func (b *bench) pairWorker(ctx context.Context, queue <-chan pair) (err error) {
	var env *environment
	defer func() {
		if env != nil && err == nil {
			if left := b.closeEmpty(ctx, env); left != nil {
				b.tally.fail(item{name: "pairs in " + env.namespace}, left)
			}
		}
	}()
	for p := range queue {
		if env == nil {
			if env, err = b.pairEnvironment(ctx); err != nil {
				return err
			}
		}
		intact, err := b.runPair(ctx, env, p)
		if err != nil {
			return err
		}
		if !intact {
			if err := env.close(context.WithoutCancel(ctx)); err != nil {
				return err
			}
			env = nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// runPair runs one cycle. It returns false if its environment cannot be used again.
func (b *bench) runPair(ctx context.Context, env *environment, p pair) (intact bool, err error) {
	c := newPairCycle(env, p.item, p.ref)
	fmt.Fprintf(&c.log, "pair: %s\n", p)
	switch failure := c.run(ctx); {
	case failure == nil:
		err = b.tally.add(p.item, c.result)
		return len(c.result.violations)+c.result.starved == 0, err
	case ctx.Err() == nil:
		b.tally.fail(p.item, failure)
	}
	return false, nil
}

func (b *bench) pairEnvironment(ctx context.Context) (*environment, error) {
	return newEnvironment(ctx, b.cluster, fmt.Sprintf("faults-%d", b.cluster.namespaces.Add(1)), b.base, false)
}

// closeEmpty closes an environment whose cycles have left nothing of any kind.
func (b *bench) closeEmpty(ctx context.Context, env *environment) error {
	left, strays, err := b.cluster.remains(ctx, env.namespace)
	if err == nil && len(left)+len(strays) > 0 {
		err = fmt.Errorf("objects remain after the last cycle: %s", strings.Join(append(left, strays...), ", "))
	}
	if closed := env.close(context.WithoutCancel(ctx)); err == nil {
		err = closed
	}
	return err
}

// pairReferences makes the references of all scenarios, at the same time.
func (b *bench) pairReferences(ctx context.Context) ([]*pairReference, error) {
	refs := make([]*pairReference, len(pairScenarios()))
	group, ctx := errgroup.WithContext(ctx)
	for i, sc := range pairScenarios() {
		group.Go(func() (err error) {
			refs[i], err = b.pairReference(ctx, sc)
			return err
		})
	}
	return refs, group.Wait()
}

// pairReference runs two cycles of a scenario without faults. The second one must reach the same as the first.
func (b *bench) pairReference(ctx context.Context, sc pairScenario) (*pairReference, error) {
	env, err := b.pairEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	it := item{name: "pair-" + sc.name + " without faults"}
	requests := map[step]map[string]proxy.Request{}
	ref := &pairReference{scenario: sc, kinds: b.cluster.served}
	if ref.blank, err = inprocess.NewResource(sc.typ); err != nil {
		return nil, err
	}
	for range 2 {
		c := newPairCycle(env, it, ref)
		if err := c.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", it.name, err)
		}
		if len(c.result.violations) > 0 {
			if err := b.tally.add(it, c.result); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			return nil, errViolations
		}
		for at, records := range c.result.requests {
			for _, record := range records {
				if requests[at] == nil {
					requests[at] = map[string]proxy.Request{}
				}
				requests[at][record.Request.String()] = record.Request
			}
		}
		ref.reference = &reference{requests: requests, snapshots: c.result.snapshots}
		ref.kinds = slices.DeleteFunc(slices.Clone(b.cluster.served), func(s served) bool { return !c.seen[s] })
	}
	for _, list := range targets(requests, pairKinds(b.opts.kinds)) {
		ref.targets = append(ref.targets, list...)
	}
	slices.SortFunc(ref.targets, func(a, b target) int { return strings.Compare(a.String(), b.String()) })
	return ref, b.closeEmpty(ctx, env)
}

// seenKinds adds the kinds of objects.
func seenKinds(seen map[served]bool, objects map[string]object) {
	for found := range maps.Values(objects) {
		seen[found.served] = true
	}
}
