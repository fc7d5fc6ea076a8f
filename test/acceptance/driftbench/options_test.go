package driftbench_test

import (
	"bufio"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// options select the changes of one run.
type options struct {
	seed          uint64
	must, mustNot int                 // numbers of changes that plans must and must not show
	complete      bool                // makes all changes instead, and the combined ones
	only          string              // prefix of the names of the specimens
	end           time.Time           // no new round starts after it, unless it is zero
	among         func(mutation) bool // nil for all
	binary        string              // directory of the provider; "" for the one that was built
}

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// chosen returns the options of TestAccDriftBench.
func chosen(t *testing.T) options {
	t.Helper()
	o := options{
		seed: uint64(setting(t, "KT_DRIFT_SEED", 1+rand.IntN(1_000_000))),
		must: setting(t, "KT_DRIFT_MUST", 60), mustNot: setting(t, "KT_DRIFT_MUST_NOT", 30),
		complete: setting(t, "KT_DRIFT_COMPLETE", 0) > 0, only: os.Getenv("KT_DRIFT_ONLY"),
	}
	if minutes := setting(t, "KT_DRIFT_MINUTES", 0); minutes > 0 {
		o.end = time.Now().Add(time.Duration(minutes) * time.Minute)
	}
	return o
}

// repeat is the command that runs the bench with the same changes again.
func (o options) repeat() string {
	command := fmt.Sprintf("make drift SEED=%d", o.seed)
	if !o.complete {
		command += fmt.Sprintf(" MUST=%d MUST_NOT=%d", o.must, o.mustNot)
	}
	if o.only != "" {
		command = "KT_DRIFT_ONLY=" + o.only + " " + command
	}
	return command
}

func (o options) expired() bool { return !o.end.IsZero() && time.Now().After(o.end) }

// shortfall describes what a run did not reach of what its options ask for. A run that was limited to some specimens
// makes as many changes as these have, and one whose time is up makes fewer: neither needs to reach the numbers.
func (b *bench) shortfall(minimum map[string]int) []string {
	var out []string
	o := b.options
	if len(b.subjects) == 0 {
		out = append(out, fmt.Sprintf("no subject has a name that begins with %q", o.only))
	}
	if o.expired() {
		fmt.Println("the time is up: the numbers of changes are not checked")
		return out
	}
	for _, s := range b.subjects {
		if b.table.bySubject[s.address] == 0 {
			out = append(out, s.address+" was not changed")
		}
	}
	if o.only != "" {
		return out
	}
	if o.complete {
		for _, class := range slices.Sorted(maps.Keys(minimum)) {
			if got := b.table.byClass[class]; got < minimum[class] {
				out = append(out, fmt.Sprintf("%d changes of class %q, want %d", got, class, minimum[class]))
			}
		}
		return out
	}
	if b.table.must < o.must || b.table.mustNot < o.mustNot {
		out = append(out, fmt.Sprintf("%d changes that plans must show and %d that they must not show, want %d and %d",
			b.table.must, b.table.mustNot, o.must, o.mustNot))
	}
	return out
}

// minimumByClass reads how many changes of each class a complete run makes at least.
func minimumByClass(t *testing.T) map[string]int {
	t.Helper()
	file, err := os.Open(classesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	out := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		number, class, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		if out[class], err = strconv.Atoi(number); err != nil {
			t.Fatalf("%s: %v", classesFile, err)
		}
	}
	return out
}

// writeClasses records the numbers of a complete run, less a tenth: which changes the server rejects depends on the
// seed.
func (b *table) writeClasses(t *testing.T) {
	t.Helper()
	var text strings.Builder
	for _, class := range slices.Sorted(maps.Keys(b.byClass)) {
		fmt.Fprintf(&text, "%4d %s\n", b.byClass[class]-b.byClass[class]/10, class)
	}
	writeFile(t, classesFile, text.String())
}

func TestRunThatDoesNotReachItsNumbersFails(t *testing.T) {
	const address = "kt_volume.volume-0"
	one := []*subject{{address: address}}
	changed := &table{
		must: 1, mustNot: 1, bySubject: map[string]int{address: 2}, byClass: map[string]int{"finalizer": 1},
	}
	for name, c := range map[string]struct {
		bench bench
		want  string // of the only shortfall; "" for none
	}{
		"no subject":                 {bench{options: options{only: "nosuch"}, table: changed}, `begins with "nosuch"`},
		"a subject without a change": {bench{subjects: one, table: &table{}}, address + " was not changed"},
		"reached":                    {bench{options: options{must: 1, mustNot: 1}, subjects: one, table: changed}, ""},
		"too few must": {
			bench{options: options{must: 2}, subjects: one, table: changed}, "want 2 and 0",
		},
		"too few must not": {
			bench{options: options{mustNot: 2}, subjects: one, table: changed}, "want 0 and 2",
		},
		"too few, of some specimens": {
			bench{options: options{must: 2, only: "volume"}, subjects: one, table: changed}, ""},
		"time is up": {
			bench{options: options{must: 2, end: time.Unix(1, 0)}, subjects: one, table: &table{}}, ""},
		"complete": {bench{options: options{complete: true}, subjects: one, table: changed},
			`1 changes of class "finalizer", want 2`},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.bench.shortfall(map[string]int{"finalizer": 2})
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
