package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// binary is the test binary of a package, with all mutants.
type binary struct {
	pkg, path, dir string
}

// testOf is a test that reaches a mutant.
type testOf struct {
	binary *binary
	name   string
	took   time.Duration
}

// result is the outcome of a mutant: the test that noticed it, or "".
type result struct{ test string }

// memoryLimit is the address space of a test in KiB, because a mutant may allocate without end.
const memoryLimit = 12 << 20

// traceTests builds the test binaries, and finds the tests that reach each mutant.
func (p *program) traceTests(ctx context.Context, callers []string, parallel int) error {
	var paths []string
	for _, pkg := range p.packages {
		paths = append(paths, pkg.PkgPath)
	}
	if len(callers) > 0 {
		out, err := p.goCommand(ctx, append([]string{"list"}, callers...)...)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		paths = append(paths, lines(out)...)
	}
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		b := &binary{pkg: path, path: filepath.Join(p.work, strings.ReplaceAll(path, "/", "_")+".test")}
		b.dir = filepath.Join(p.dir, strings.TrimPrefix(strings.TrimPrefix(path, p.module), "/"))
		out, err := p.goCommand(ctx, "test", "-c", "-vet=off", "-overlay", p.overlay(), "-o", b.path, path)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		if _, err := os.Stat(b.path); err != nil {
			continue // no tests
		}
		if err := p.trace(ctx, b, parallel); err != nil {
			return err
		}
	}
	return nil
}

// trace runs each test of a binary alone, without an active mutant.
func (p *program) trace(ctx context.Context, b *binary, parallel int) error {
	out, err := b.run(ctx, time.Minute, "-test.list", "^(Test|Fuzz|Example)")
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", b.pkg, err, out)
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, name := range lines(out) {
		if needsCluster.MatchString(name) {
			continue
		}
		file := filepath.Join(p.work, fmt.Sprintf("trace-%d", i))
		group.Go(func() error {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			defer os.Remove(file)
			start := time.Now()
			out, err := b.runWith(ctx, 5*time.Minute, []string{"KT_MUTANT_TRACE=" + file}, "-test.run", exactly(name))
			if err != nil {
				return fmt.Errorf("%s fails without a mutant: %w\n%s", name, err, out)
			}
			reached, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			for _, line := range lines(reached) {
				id, err := strconv.Atoi(line)
				if err != nil {
					return err
				}
				m := p.mutants[id-1]
				m.tests = append(m.tests, testOf{binary: b, name: name, took: time.Since(start)})
			}
			return nil
		})
	}
	return group.Wait()
}

var needsCluster = regexp.MustCompile("^Test(Acc|Eco|E2E)")

func exactly(names ...string) string {
	for i := range names {
		names[i] = regexp.QuoteMeta(names[i])
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

func (b *binary) run(ctx context.Context, limit time.Duration, args ...string) ([]byte, error) {
	return b.runWith(ctx, limit, nil, args...)
}

func (b *binary) runWith(ctx context.Context, limit time.Duration, env []string, args ...string) ([]byte, error) {
	args = append(args, "-test.count=1", "-test.timeout="+limit.String())
	limited := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, memoryLimit)
	//nolint:gosec // the binary that traceTests has built
	command := exec.CommandContext(ctx, "bash", append([]string{"-c", limited, b.path}, args...)...)
	command.Dir = b.dir
	command.Env = append(append(os.Environ(), "GOMAXPROCS=2", "TF_ACC="), env...)
	command.WaitDelay = time.Second
	out, err := command.CombinedOutput()
	if errors.Is(err, exec.ErrWaitDelay) { // the tests passed, but a program that they started still runs
		err = nil
	}
	return out, err
}

// testAll tests mutants, several at a time.
func (p *program) testAll(ctx context.Context, chosen []*mutant, parallel int) []result {
	results := make([]result, len(chosen))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, m := range chosen {
		group.Go(func() error {
			results[i].test = test(ctx, m)
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return results
}

// test returns the first test that fails with a mutant. The tests of the mutant's own package run first.
func test(ctx context.Context, m *mutant) string {
	byBinary := map[*binary][]testOf{}
	var order []*binary
	for _, t := range m.tests {
		if byBinary[t.binary] == nil {
			order = append(order, t.binary)
		}
		byBinary[t.binary] = append(byBinary[t.binary], t)
	}
	slices.SortStableFunc(order, func(a, b *binary) int {
		return boolInt(a.pkg != m.pkg) - boolInt(b.pkg != m.pkg)
	})
	for _, b := range order {
		var names []string
		limit := 10 * time.Second
		for _, t := range byBinary[b] {
			names = append(names, t.name)
			limit += 5 * t.took // of a machine that is as busy as it was
		}
		out, err := b.runWith(ctx, limit, []string{"KT_MUTANT=" + strconv.Itoa(m.id)}, "-test.failfast", "-test.run",
			exactly(names...))
		if err != nil && ctx.Err() == nil {
			return failed(out)
		}
	}
	return ""
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

func failed(output []byte) string {
	if match := failure.FindSubmatch(output); match != nil {
		return string(match[1])
	}
	return "a panic or the time limit"
}
