// Each provider opens connections of its own, so that keys for a post-quantum exchange would be a notable part of all
// CPU time.
//
//go:debug tlsmlkem=0

// Command faults is the fault bench: it runs the real CLI and the real provider against a dev cluster, through a proxy
// that injects faults. After each fault, it checks that an apply without faults converges, and that the state and the
// cluster agree. It requires Linux.
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
	"sync"
	"syscall"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

type options struct {
	modes    string
	kinds    []proxy.Kind
	seed     int64
	runs     int
	parallel int
	short    bool
	only     string
	pairs    bool
	n        int // pairs
	cli      string
	out      string
	time     time.Duration
}

func main() {
	var opts options
	kinds := flag.String("kind", "", "kinds of faults, separated by commas (default: all)")
	flag.StringVar(&opts.modes, "mode", "exhaustive,random,rate5,rate20,kill,restart",
		"modes to run, separated by commas")
	flag.Int64Var(&opts.seed, "seed", 0, "seed of the random numbers (default: random)")
	flag.IntVar(&opts.runs, "runs", 40, "number of cycles with random faults, for each mode")
	flag.IntVar(&opts.parallel, "parallel", 3, "number of parallel cycles; four times as many for cycles that "+
		"mostly wait")
	flag.BoolVar(&opts.short, "short", false, "run a sample for CI, of about two minutes")
	flag.StringVar(&opts.only, "only", "", "run one cycle with these faults, STEP|REQUEST|KIND separated by semicolons")
	flag.BoolVar(&opts.pairs, "pairs", false, "run cycles of one resource with two faults each, without the CLI")
	flag.IntVar(&opts.n, "n", 1000, "number of pairs; the seed of the first one is -seed")
	flag.StringVar(&opts.cli, "cli", os.Getenv("KT_CLI"), "terraform or tofu (default: KT_CLI, otherwise terraform)")
	flag.StringVar(&opts.out, "out", filepath.Join(os.TempDir(), "kt-faults"), "directory for reports of violations")
	flag.DurationVar(&opts.time, "time", 0, "start no cycle after this long (default: run all)")
	flag.Parse()
	if opts.seed == 0 {
		opts.seed = time.Now().UnixNano() % 1_000_000
	}
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

// errViolations reports that violations were found, which the report lists.
var errViolations = errors.New("violations were found")

func start(opts options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "ktf-") // short, because it contains sockets
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	base, err := newWorkDir(dir, opts.cli, providerDir())
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "starting the dev cluster")
	c, stopCluster, err := startCluster(ctx, filepath.Join(dir, "cluster"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopCluster()) }()
	if opts.short {
		opts.shorten()
	}
	b := newBench(opts, c, base)
	if opts.pairs {
		err = b.runPairs(ctx, os.Stdout, opts.n, opts.seed, opts.time)
	} else {
		err = b.runAll(ctx)
	}
	if err == nil && opts.short {
		err = b.runPairs(ctx, os.Stdout, opts.n, opts.seed, samplePairs)
	}
	if err != nil && !errors.Is(err, errViolations) {
		return err
	}
	b.tally.print(os.Stdout, time.Since(b.started))
	if len(b.tally.violations) > 0 || len(b.tally.errors) > 0 {
		return errViolations
	}
	return b.tally.enough(opts.pairs || opts.short)
}

// providerDir returns the directory of the provider binary: KT_PROVIDER_DIR, otherwise bin/.
func providerDir() string {
	if dir := os.Getenv("KT_PROVIDER_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(acctest.Root(), "bin")
}

// newWorkDir writes the settings of the CLI, which then runs the provider binary in a directory.
func newWorkDir(dir, cli, providers string) (workDir, error) {
	if _, err := os.Stat(filepath.Join(providers, "terraform-provider-kt")); err != nil {
		return workDir{}, fmt.Errorf("%w; build the provider with: make build", err)
	}
	w := workDir{dir: dir, cli: cli, settings: filepath.Join(dir, "cli.tfrc")}
	text := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"ktdev/kt\" = %q\n  }\n  direct {}\n}\n",
		providers)
	return w, os.WriteFile(w.settings, []byte(text), 0o600)
}

type bench struct {
	opts    options
	cluster *cluster
	base    workDir
	tally   *tally
	started time.Time

	mu         sync.Mutex
	references map[string]madeReference // by name of the scenario
}

type madeReference struct {
	ref *reference
	err error
}

func newBench(opts options, c *cluster, base workDir) *bench {
	return &bench{opts: opts, cluster: c, base: base, tally: newTally(opts.out), started: time.Now(),
		references: map[string]madeReference{}}
}
