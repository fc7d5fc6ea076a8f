package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The product and its tests. Each line with a mutant that its tests do not notice says so.
const product = `package sums

import "errors"

// Sum adds the positive numbers up to a limit.
func Sum(numbers []int, limit int) (int, error) {
	if len(numbers) == 0 ||
		limit == 0 {
		return 0, errors.New("nothing to add")
	}
	sum := 0
	for _, n := range numbers {
		if n < 0 { // boundary, constant survives: no test has a zero
			continue
		}
		sum += n
	}
	if sum > limit { // boundary survives: no test reaches the limit exactly
		sum = limit
	}
	note(sum) // remove survives: no test looks
	return sum, nil
}

func note(int) {}

func unused() bool { return true } // negate survives: no test calls it
`

const productTest = `package sums

import "testing"

func TestSum(t *testing.T) {
	for _, c := range []struct {
		numbers     []int
		limit, want int
	}{{[]int{1, 2, -5}, 9, 3}, {[]int{7, 8}, 9, 9}, {nil, 9, 0}, {[]int{1}, 0, 0}} {
		got, err := Sum(c.numbers, c.limit)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("Sum(%v, %d) = %d, %v", c.numbers, c.limit, got, err)
		}
	}
}
`

func TestSurvivorsAreThoseThatNoTestNotices(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/sums\n\ngo 1.26.0\n", "sums.go": product, "sums_test.go": productTest,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := newProgram(dir, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.load(t.Context(), []string{"./..."}); err != nil {
		t.Fatal(err)
	}
	if err := p.compile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.traceTests(t.Context(), nil, 2); err != nil {
		t.Fatal(err)
	}
	var survived []string
	for i, r := range p.testAll(t.Context(), p.mutants, 2) {
		m := p.mutants[i]
		if r.test == "" {
			line, _, _ := strings.Cut(m.position, ":")
			survived = append(survived, line+" "+m.operator)
		}
	}
	var want []string
	for i, line := range strings.Split(product, "\n") {
		if _, comment, ok := strings.Cut(line, "// "); ok {
			operators, _, ok := strings.Cut(comment, " survives")
			for operator := range strings.SplitSeq(operators, ", ") {
				if ok {
					want = append(want, fmt.Sprintf("%d %s", i+1, operator))
				}
			}
		}
	}
	slices.Sort(survived)
	if !slices.Equal(survived, want) {
		t.Errorf("survived: %q\nwant:     %q", survived, want)
	}
	if len(p.mutants) < 15 {
		t.Errorf("only %d mutants", len(p.mutants))
	}
}

// With a mutant, a test may leave such a program behind. It has the standard output of the test.
func TestProgramsThatOutliveATestAreNotAwaited(t *testing.T) {
	dir := t.TempDir()
	b := &binary{path: filepath.Join(dir, "tests"), dir: dir}
	script := "#!/bin/sh\nsleep 900 &\necho $! >pid\necho passed\n"
	if err := os.WriteFile(b.path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(filepath.Join(dir, "pid"))
		if id, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			if program, err := os.FindProcess(id); err == nil {
				_ = program.Kill()
			}
		}
	})
	if out, err := b.run(t.Context(), time.Minute); err != nil || string(out) != "passed\n" {
		t.Errorf("%q, %v", out, err)
	}
}
