// Command faults is the fault bench: it runs the real command line tool and the
// real provider against a dev cluster, through a proxy that injects faults, and
// checks after each that an apply without faults converges and that state and
// cluster agree. It runs on Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
	"github.com/ktdev/terraform-provider-kt/internal/faults/proxy"
)

type options struct {
	modes    string
	kinds    []proxy.Kind
	seed     int64
	runs     int
	parallel int
	short    bool
	only     string
	cli      string
	out      string
	time     time.Duration
}

func main() {
	var opts options
	kinds := flag.String("kind", "", "kinds of faults, separated by commas (default: all)")
	flag.StringVar(&opts.modes, "mode", "exhaustive,random,rate5,rate20,kill", "what to run, separated by commas")
	flag.Int64Var(&opts.seed, "seed", 1, "seed of everything that is random")
	flag.IntVar(&opts.runs, "runs", 40, "cycles with random faults, of each mode")
	flag.IntVar(&opts.parallel, "parallel", 3, "cycles at a time; of those that mostly wait, four times as many")
	flag.BoolVar(&opts.short, "short", false, "a sample for CI, of about two minutes, with the seed and a random one")
	flag.StringVar(&opts.only, "only", "", "one cycle with these faults, STEP|REQUEST|KIND separated by semicolons")
	flag.StringVar(&opts.cli, "cli", os.Getenv("KT_CLI"), "terraform or tofu (default: KT_CLI, else terraform)")
	flag.StringVar(&opts.out, "out", filepath.Join(os.TempDir(), "kt-faults"), "folder for reports of violations")
	flag.DurationVar(&opts.time, "time", 0, "start no cycle after this long (default: run all)")
	flag.Parse()
	var err error
	if opts.kinds, err = proxy.ParseKinds(*kinds); err != nil {
		log.Fatal(err)
	}
	if opts.cli == "" {
		opts.cli = "terraform"
	}
	if err := start(opts); err != nil {
		log.Fatal(err)
	}
}

// errFound says that there were violations; the report says which.
var errFound = errors.New("there are violations")

func start(opts options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "ktf-") // short, since sockets are made in it
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base, err := newFolder(dir, opts.cli)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "starting the dev cluster")
	dev, err := acctest.StartCluster("--dir", filepath.Join(dir, "cluster"),
		"--node", "name=cpu-0", "--node", "name=cpu-1", "--node", "name=cpu-2")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Stop()) }()
	c, err := connect(ctx, dev.Kubeconfig)
	if err != nil {
		return err
	}
	go c.admitWaitingPods(ctx)
	b := &bench{opts: opts, cluster: c, base: base, tally: newTally(opts.out), begun: time.Now()}
	if err := b.runAll(ctx); err != nil {
		return err
	}
	b.tally.print(os.Stdout, time.Since(b.begun))
	if len(b.tally.violations) > 0 || len(b.tally.errors) > 0 {
		return errFound
	}
	return nil
}

// newFolder writes the settings of the command line tool.
func newFolder(dir, cli string) (folder, error) {
	providers := os.Getenv("KT_PROVIDER_DIR")
	if providers == "" {
		providers = filepath.Join(acctest.Root(), "bin")
	}
	if _, err := os.Stat(filepath.Join(providers, "terraform-provider-kt")); err != nil {
		return folder{}, fmt.Errorf("%w; build the provider with: make build", err)
	}
	f := folder{dir: dir, cli: cli, settings: filepath.Join(dir, "cli.tfrc")}
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"ktdev/kt\" = %q\n  }\n  direct {}\n}\n", providers)
	return f, os.WriteFile(f.settings, []byte(text), 0o600)
}

type bench struct {
	opts       options
	cluster    *cluster
	base       folder
	tally      *tally
	begun      time.Time
	namespaces atomic.Int64
}

// runAll runs what the options name.
func (b *bench) runAll(ctx context.Context) error {
	if b.opts.only != "" {
		it, err := only(b.opts.only, allResources())
		if err != nil {
			return err
		}
		b.runItems(ctx, []item{it})
		return nil
	}
	items, err := b.items(ctx)
	if err != nil {
		return err
	}
	b.runItems(ctx, items)
	return nil
}

// items lists the cycles of the modes.
func (b *bench) items(ctx context.Context) ([]item, error) {
	var items []item
	for mode := range strings.SplitSeq(b.opts.modes, ",") {
		switch mode {
		case "exhaustive":
			seen, err := b.record(ctx, allResources(), create, update, destroy)
			if err != nil {
				return nil, err
			}
			all := targets(seen, b.opts.kinds)
			fmt.Printf("requests: create %d, update %d, destroy %d; faults: %d\n", len(seen[create]), len(seen[update]), len(seen[destroy]),
				len(all[create])+len(all[update])+len(all[destroy]))
			items = append(items, exhaustive(all, b.opts.seed, allResources())...)
		case "random":
			for i := range b.opts.runs {
				items = append(items, storm(b.opts.seed+int64(i), b.opts.kinds, allResources()))
			}
		case "rate5", "rate20":
			percent := map[string]int{"rate5": 5, "rate20": 20}[mode]
			for i := range b.opts.runs {
				items = append(items, atRate(percent, b.opts.seed+int64(i), proxy.Transient(), allResources()))
			}
		case "kill":
			kills, err := b.kills(ctx)
			if err != nil {
				return nil, err
			}
			items = append(items, kills...)
		default:
			return nil, fmt.Errorf("-mode %s: there are exhaustive, random, rate5, rate20 and kill", mode)
		}
	}
	return items, nil
}

// kills lists twenty cycles in which the creation of ten resources is killed.
func (b *bench) kills(ctx context.Context) ([]item, error) {
	const moments = 20
	seen, err := b.record(ctx, tenResources(), create)
	if err != nil {
		return nil, err
	}
	var items []item
	for i := range moments {
		// One in each twentieth of the creation.
		share := len(seen[create]) * i / moments
		offset := int(hash(b.opts.seed, create, proxy.Request{N: i}) % uint64(max(1, len(seen[create])/moments)))
		items = append(items, kill(1+share+offset, b.opts.seed, tenResources()))
	}
	return items, nil
}

// record runs two cycles without faults and returns the requests of their steps.
func (b *bench) record(ctx context.Context, sc scenario, steps ...step) (map[step]map[string]proxy.Request, error) {
	it := item{name: "without faults", scenario: sc, faults: map[step]proxy.Plan{}}
	seen := map[step]map[string]proxy.Request{}
	for _, at := range steps {
		it.faults[at] = proxy.NoFaults
		seen[at] = map[string]proxy.Request{}
	}
	for range 2 {
		r, err := b.runOne(ctx, it)
		if err != nil {
			return nil, err
		}
		if len(r.violations) > 0 {
			return nil, fmt.Errorf("without faults: %s\n%s", r.violations[0].what, r.violations[0].detail)
		}
		for at, records := range r.requests {
			for _, record := range records {
				if seen[at] != nil {
					seen[at][record.Request.String()] = record.Request
				}
			}
		}
	}
	return seen, nil
}

// runOne runs an item in a place of its own.
func (b *bench) runOne(ctx context.Context, it item) (r result, err error) {
	p, err := newPlace(ctx, b.cluster, fmt.Sprintf("faults-%d", b.namespaces.Add(1)), b.base, it.http2)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, p.close(context.WithoutCancel(ctx))) }()
	return p.runCycle(ctx, it)
}

// runItems runs all items, some at a time.
func (b *bench) runItems(ctx context.Context, items []item) {
	var workers sync.WaitGroup
	for slow, count := range map[bool]int{false: b.opts.parallel, true: 4 * b.opts.parallel} {
		queue := make(chan item)
		for range count {
			workers.Go(func() {
				for it := range queue {
					b.runItem(ctx, it)
				}
			})
		}
		workers.Go(func() {
			defer close(queue)
			for _, it := range items {
				if ctx.Err() != nil || b.opts.time > 0 && time.Since(b.begun) > b.opts.time {
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

func (b *bench) runItem(ctx context.Context, it item) {
	r, err := b.runOne(ctx, it)
	if err == nil {
		err = b.tally.add(it, r)
	}
	if err != nil && ctx.Err() == nil {
		b.tally.fail(it, err)
	}
}
