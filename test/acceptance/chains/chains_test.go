package chains_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

const (
	// batch is how many chains run in one state at a time.
	batch = 25
	// sample is how many run with all other acceptance tests. Some seeds, such as 715948, replace none of so few.
	sample = 3
	// samples limits how many samples are drawn until one has updated and replaced resources.
	samples = 5
	// rounds is how often declarations are drawn until a plan accepts one.
	rounds = 200
)

func TestAccChains(t *testing.T) {
	expectEveryAttribute(t)
	cluster.Started(t).WithComputes(t)
	cluster.Apply(t, acctest.FleetCRD)
	cluster.Established(t, "fleets.example.com")
	class := cluster.StorageClass(t, cluster.Namespace(t), "provisioner: kubernetes.io/host-path\n"+
		"allowVolumeExpansion: true")
	chains, seed := int(number(t, "KT_CHAINS", sample)), number(t, "KT_CHAINS_SEED", rand.Uint64N(1_000_000))
	var done totals
	ran := 0
	for n := 0; n*batch < chains || chains == sample && n < samples && !done.varied(); n++ {
		// Each batch has a seed of its own, so that it can be repeated alone.
		seed, count := seed+uint64(n), min(batch, chains)
		if left := chains - n*batch; left > 0 {
			count = min(batch, left)
		}
		ran += count
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			for _, s := range subjects(t, class) {
				b := &bench{t: t, subject: s, count: count, done: &done,
					random: rand.New(rand.NewPCG(seed, 0)), later: rand.New(rand.NewPCG(seed, 1))}
				b.chains()
			}
			if t.Failed() {
				t.Logf("repeat it with: make chains N=%d SEED=%d", count, seed)
			}
		})
	}
	t.Logf("%d chains of each type of resource from seed %d: %+v", ran, seed, done)
	if chains >= sample && !t.Failed() && !done.varied() {
		t.Error("no chain updated, or none replaced, or none had values that only the apply knew")
	}
}

// number returns the number in an environment variable, or another one if it is not set.
func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// totals counts what all chains did.
type totals struct {
	Created, Updated, Replaced, Unchanged, Refused int
	Drawn                                          int // declarations, with those that a plan rejected
	Unknown                                        int // changes with values that only the apply knew
	Late                                           int // those that only the apply found to be replacements
}

// varied reports whether chains changed resources in each way, and with values that only the apply knew.
func (n *totals) varied() bool { return n.Updated > 0 && n.Replaced > 0 && n.Unknown > 0 }

// bench runs a batch of chains.
type bench struct {
	subject

	t      *testing.T
	random *rand.Rand
	later  *rand.Rand // draws the values that only the apply knows
	count  int
	done   *totals
}

// chains runs A -> B -> C -> A for each resource, and compares its objects with those of a resource that is created
// with the same declaration.
func (b *bench) chains() {
	changed := b.newState()
	steps := b.declarations(4)
	steps[3] = maps.Clone(steps[0])
	planned := slices.Clone(steps) // with values that only the apply knows
	var earlier map[string]string
	var first, before, want map[string]map[string]object
	for i, bodies := range steps {
		planned[i] = b.withUnknown(earlier, bodies)
		failed := changed.change(planned[i])
		if i > 0 {
			b.keepRefused(changed, failed, earlier, bodies)
		}
		earlier = bodies
		b.report(i, planned, failed)
		after := changed.objects()
		switch i {
		case 0:
			first, want = after, after
		case 3:
			want = b.asCreated(first, want, steps)
		default:
			fresh := b.newState()
			b.report(i, steps, fresh.change(bodies))
			want = fresh.objects()
			fresh.destroy()
		}
		for name := range bodies {
			if failed[name] == "" {
				b.compare(i, planned, name, changed.plans[name], want[name], before[name], after[name])
			}
		}
		before = after
	}
	changed.destroy()
}

// asCreated returns the objects that were created with A, and those of C where the plan refused to go back to A.
func (b *bench) asCreated(
	first, last map[string]map[string]object, steps []map[string]string,
) map[string]map[string]object {
	want := map[string]map[string]object{}
	for name, body := range steps[3] {
		want[name] = first[name]
		if body != steps[0][name] {
			want[name] = last[name]
		}
	}
	return want
}

// compare checks what a step did to the objects of a resource.
func (b *bench) compare(
	step int, steps []map[string]string, name string, p *core.Plan, want, before, after map[string]object,
) {
	b.t.Helper()
	b.done.count(p.Action)
	if diff := cmp.Diff(want, after, cmpopts.IgnoreFields(object{}, "UID")); diff != "" {
		b.report(step, steps, map[string]string{name: "differs from a new one (-new, +changed):\n" + diff})
	}
	if text := unplanned(b.t, p, before, after); text != "" {
		b.report(step, steps, map[string]string{name: text})
	}
}

func (n *totals) count(action core.Action) {
	switch action {
	case core.Create:
		n.Created++
	case core.Update:
		n.Updated++
	case core.Replace:
		n.Replaced++
	case core.NoOp, core.Delete:
		n.Unchanged++
	}
}

// keepRefused removes the failures that are refusals, and goes on with the declarations before. Their plan must be
// empty if the plan refused, because an apply may have changed other objects of the resource before.
func (b *bench) keepRefused(changed *state, failed, before, bodies map[string]string) {
	b.t.Helper()
	kept, byPlan := map[string]string{}, map[string]bool{}
	for name, text := range failed {
		refused := slices.ContainsFunc(b.refusals, func(r string) bool { return strings.Contains(text, r) })
		if refused && !strings.Contains(text, onlyUnknown) {
			kept[name], bodies[name] = before[name], before[name]
			byPlan[name] = strings.HasPrefix(text, "plan: ")
			delete(failed, name)
			b.done.Refused++
		}
	}
	if len(kept) == 0 {
		return
	}
	others := changed.plans
	for name, text := range changed.change(kept) {
		failed[name] = "after a refused change: " + text
	}
	for name, p := range changed.plans {
		if p.Action != core.NoOp && byPlan[name] {
			failed[name] = fmt.Sprintf("the plan after a change that the plan refused is %s", p.Action)
		}
	}
	maps.Copy(changed.plans, others)
}

// report reports failures of a step, with the declarations that lead to them.
func (b *bench) report(step int, steps []map[string]string, failed map[string]string) {
	b.t.Helper()
	for name, text := range failed {
		var path strings.Builder
		for i := range step + 1 {
			fmt.Fprintf(&path, "\n--- declaration %d\n%s", i+1, steps[i][name])
		}
		b.t.Errorf("%s %s, step %d: %s%s", b.typ, name, step+1, text, path.String())
	}
}

// declarations returns several declarations for each resource. A plan accepts each of them.
func (b *bench) declarations(steps int) []map[string]string {
	b.t.Helper()
	drafts := b.newState()
	homes := b.homes()
	first := b.random.IntN(len(homes))
	all := make([]map[string]string, steps)
	for i := range all {
		all[i] = map[string]string{}
		var rejected map[string]error
		for round := 0; len(all[i]) < b.count; round++ {
			if round == rounds {
				b.t.Fatalf("%s: no declaration is accepted: %v", b.typ, rejected)
			}
			bodies := map[string]string{}
			for n := range b.count {
				name := fmt.Sprintf("c%d", n)
				if _, found := all[i][name]; !found {
					bodies[name] = b.declaration(b.random, homes[(first+n)%len(homes)])
				}
			}
			b.done.Drawn += len(bodies)
			var plans map[string]*core.Plan
			plans, rejected = drafts.plan(bodies)
			for name := range plans {
				all[i][name] = bodies[name]
			}
		}
	}
	return all
}
