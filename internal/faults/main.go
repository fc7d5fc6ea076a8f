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
	seeds    []int64 // of a short run; else seed alone
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
	flag.StringVar(&opts.modes, "mode", "exhaustive,random,rate5,rate20,kill,restart", "what to run, separated by commas")
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
	if opts.short {
		opts.shorten()
	}
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
