// Command mutants measures what the tests of packages notice: it makes small changes to the product, one at a time, and
// runs the unit tests that reach each of them. A mutant that no test fails for has survived.
//
// The changes are the usual ones: a condition is negated, a boundary is shifted (< to <=), && and || are swapped, a
// call, an assignment, a deferred call or a branch is removed, a result or a case becomes its zero value, a number
// grows by one.
//
// All mutants of a package are compiled into one test binary, and an environment variable selects one of them. So a
// mutant costs a run of the tests that reach it, and no compilation. Files are never changed: the compiler reads the
// mutated ones through -overlay.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
)

type options struct {
	dir, files, callers string
	equivalent          string
	sample, parallel    int
	seed                uint64
	verbose             bool
	minimum             float64
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "../..", "root of the `module`")
	flag.StringVar(&o.files, "files", "", "`regexp` of the files to change; all files if empty")
	flag.StringVar(&o.callers, "callers", "", "`packages` whose tests may also notice mutants, separated by commas")
	flag.StringVar(&o.equivalent, "equivalent", "equivalent.txt", "`file` of mutants that change no behaviour")
	flag.IntVar(&o.sample, "n", 0, "`number` of mutants, chosen at random; 0 tests all")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "`number` of mutants that are tested at the same time")
	flag.Uint64Var(&o.seed, "seed", 0, "`seed` of the choice; random if 0")
	flag.BoolVar(&o.verbose, "v", false, "also print the mutants that were noticed")
	flag.Float64Var(&o.minimum, "min", 0, "fail if less than this `percentage` is noticed")
	flag.Parse()
	if o.seed == 0 {
		o.seed = rand.Uint64() //nolint:gosec // no secret
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run tests the mutants of packages and prints a report.
func run(ctx context.Context, o options, patterns []string) error {
	equivalent, err := readEquivalent(o.equivalent)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	p, err := newProgram(o.dir, work, o.files)
	if err != nil {
		return err
	}
	if err := p.load(ctx, patterns); err != nil {
		return err
	}
	if err := p.compile(ctx); err != nil {
		return err
	}
	var callers []string
	if o.callers != "" {
		callers = strings.Split(o.callers, ",")
	}
	if err := p.traceTests(ctx, callers, o.parallel); err != nil {
		return err
	}
	chosen := choose(p.mutants, equivalent, o)
	results := p.testAll(ctx, chosen, o.parallel)
	return report(p, chosen, results, equivalent, o)
}

// choose returns the mutants to test, in the order of the files.
func choose(all []*mutant, equivalent map[string]string, o options) []*mutant {
	var out []*mutant
	for _, m := range all {
		if equivalent[m.key()] == "" {
			out = append(out, m)
		}
	}
	if o.sample > 0 && o.sample < len(out) {
		random := rand.New(rand.NewPCG(o.seed, 0)) //nolint:gosec // repeatable
		random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		out = out[:o.sample]
		slices.SortFunc(out, func(a, b *mutant) int { return a.id - b.id })
	}
	return out
}

func report(p *program, chosen []*mutant, results []result, equivalent map[string]string, o options) error {
	noticed, unreached := 0, 0
	for i, m := range chosen {
		r := results[i]
		switch {
		case r.test != "":
			noticed++
			if o.verbose {
				fmt.Printf("noticed   %s:%s: %s: %s (%s)\n", m.file, m.position, m.operator, m.source, r.test)
			}
			continue
		case len(m.tests) == 0:
			unreached++
			fmt.Printf("unreached %s:%s: %s: %s\n", m.file, m.position, m.operator, m.source)
		default:
			fmt.Printf("SURVIVED  %s:%s: %s: %s\n", m.file, m.position, m.operator, m.source)
		}
	}
	for key := range equivalent {
		if !slices.ContainsFunc(p.mutants, func(m *mutant) bool { return m.key() == key }) && p.covers(key) {
			return fmt.Errorf("%s contains a mutant that does not exist: %s", o.equivalent, key)
		}
	}
	declared := len(p.mutants) - len(choose(p.mutants, equivalent, options{}))
	percentage := 100 * float64(noticed) / float64(max(1, len(chosen)))
	fmt.Printf("seed %d: %d of %d mutants were noticed (%.1f %%), %d survived, of which no test reaches %d; "+
		"%d of %d are declared equivalent\n", o.seed, noticed, len(chosen), percentage, len(chosen)-noticed, unreached,
		declared, len(p.mutants))
	if len(chosen) == 0 || percentage < o.minimum {
		return fmt.Errorf("less than %.1f %% of the mutants were noticed", o.minimum)
	}
	return nil
}

// readEquivalent reads the list of equivalent mutants: lines of a key, a tab and the reason.
func readEquivalent(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s: a mutant without a reason: %s", path, line)
		}
		out[key] = strings.TrimSpace(reason)
	}
	return out, nil
}
