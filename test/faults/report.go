package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ktdev/terraform-provider-kt/test/faults/proxy"
)

// tally counts the results of all cycles.
type tally struct {
	out string // directory of the reports of violations

	mu         sync.Mutex
	cycles     int
	pairs      int // cycles with two faults
	injected   map[proxy.Kind]int
	violated   map[proxy.Kind]int
	slowest    map[proxy.Kind]time.Duration
	reached    map[string]bool // requests with an injected fault
	exits      map[string]map[step][2]int
	violations []violation
	deadlocks  int // of Terraform
	starved    int // commands to which the API server itself did not respond
	errors     []error
}

func newTally(out string) *tally {
	return &tally{
		out: out, injected: map[proxy.Kind]int{}, violated: map[proxy.Kind]int{},
		slowest: map[proxy.Kind]time.Duration{}, reached: map[string]bool{}, exits: map[string]map[step][2]int{},
	}
}

// add counts a cycle and writes reports of its violations.
func (t *tally) add(it item, r result) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cycles++
	if strings.HasPrefix(it.name, "pair-") && len(r.injected) > 0 && r.starved == 0 {
		t.pairs++
	}
	t.deadlocks += r.deadlocks
	t.starved += r.starved
	for kind, n := range r.injected {
		t.injected[kind] += n
		t.slowest[kind] = max(t.slowest[kind], r.slowest[kind])
	}
	for at, records := range r.requests {
		for _, record := range records {
			if record.Fault != "" {
				t.reached[string(at)+" "+record.Request.String()] = true
			}
		}
	}
	name, _, _ := strings.Cut(it.name, "-")
	if t.exits[name] == nil {
		t.exits[name] = map[step][2]int{}
	}
	for at, code := range r.exits {
		count := t.exits[name][at]
		count[0]++
		if code == 0 {
			count[1]++
		}
		t.exits[name][at] = count
	}
	for _, v := range r.violations {
		v.file = filepath.Join(t.out, fmt.Sprintf("violation-%03d.txt", len(t.violations)+1))
		for _, kind := range v.kinds {
			t.violated[kind]++
		}
		t.violations = append(t.violations, v)
		if err := t.write(v); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "VIOLATION %s: %s %v: %s (%s)\n", it.name, v.step, v.kinds, v.what, v.file)
	}
	return nil
}

func (t *tally) fail(it item, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, fmt.Errorf("%s: %w", it.name, err))
}

func (t *tally) write(v violation) error {
	text := fmt.Sprintf("violation: %s\nstep: %s\nfaults: %v\nseed: %d\nreproduce: make faults FAULTS='%s'\n%s",
		v.what, v.step, v.kinds, v.item.seed, v.item.reproduce, v.detail)
	if err := os.MkdirAll(t.out, 0o755); err != nil {
		return err
	}
	return os.WriteFile(v.file, []byte(text), 0o600)
}

// print prints the tables.
func (t *tally) print(w io.Writer, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.Debug)
	fmt.Fprintln(table, "fault\tinjected\tsurvived\tviolations\tslowest command\t")
	injected := 0
	for _, kind := range append(proxy.Kinds(), proxy.Restart) {
		if n := t.injected[kind]; n > 0 {
			injected += n
			fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%.1f s\t\n", kind, n, max(0, n-t.violated[kind]), t.violated[kind],
				t.slowest[kind].Seconds())
		}
	}
	fmt.Fprintf(table, "all\t%d\t\t%d\t\t\n", injected, len(t.violations))
	_ = table.Flush() // into memory or to stdout
	for _, name := range slices.Sorted(maps.Keys(t.exits)) {
		if !strings.HasPrefix(name, "rate") {
			continue
		}
		var parts []string
		for _, at := range []step{create, plan, update, destroy} {
			if count := t.exits[name][at]; count[0] > 0 {
				parts = append(parts, fmt.Sprintf("%s %d of %d", at, count[1], count[0]))
			}
		}
		fmt.Fprintf(w, "\nsuccess with %s %% of requests failing: %s\n", strings.TrimPrefix(name, "rate"),
			strings.Join(parts, ", "))
	}
	fmt.Fprintf(w, "\n%d cycles, %d faults at %d different requests, %d violations, %s\n",
		t.cycles, injected, len(t.reached), len(t.violations), took.Round(time.Second))
	if t.deadlocks > 0 {
		fmt.Fprintf(w, "%d cycles ended in a deadlock of Terraform by an interrupt while it closes providers\n",
			t.deadlocks)
	}
	if t.starved > 0 {
		fmt.Fprintf(w, "%d cycles ended because the API server did not respond in time, without a fault\n", t.starved)
	}
	for _, v := range t.violations {
		fmt.Fprintf(w, "\n%s %v: %s\n  %s\n  make faults FAULTS='%s'\n", v.step, v.kinds, v.what, v.file,
			v.item.reproduce)
	}
	for _, err := range t.errors {
		fmt.Fprintln(w, "\nerror of the bench:", err)
	}
}

// enough returns an error if the bench did too little to show anything: if it injected no faults, if it completed no
// pair, or if more than a tenth of the cycles ended early.
func (t *tally) enough(pairs bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch early := t.starved + t.deadlocks; {
	case len(t.injected) == 0:
		return errors.New("no faults were injected")
	case pairs && t.pairs == 0:
		return errors.New("no cycle with a pair of faults ended")
	case early > t.cycles/10:
		return fmt.Errorf("%d of %d cycles ended early", early, t.cycles)
	}
	return nil
}

// violate records a violation and returns errEnded.
func (c *cycle) violate(at step, what string) error {
	what = strings.ReplaceAll(what, c.namespace+"/", "")
	var kinds []proxy.Kind
	for _, record := range c.last {
		if record.Fault != "" && !slices.Contains(kinds, record.Fault) {
			kinds = append(kinds, record.Fault)
		}
	}
	c.result.violations = append(c.result.violations, violation{item: c.item, step: at, kinds: kinds, what: what,
		detail: c.log.String()})
	return errEnded
}
