package driftbench_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

// bench is one run: a cluster, one state with all subjects, and the results.
type bench struct {
	options  options
	cli      *acctest.CLI
	clients  clients
	subjects []*subject
	random   *rand.Rand
	table    *table
	config   func(string) string
}

// TestAccDriftBench runs a small bench with a random seed; `make drift` runs the complete one.
//
//   - KT_DRIFT_SEED selects the changes.
//   - KT_DRIFT_MUST and KT_DRIFT_MUST_NOT are the numbers of changes that the plan must and must not show.
//   - KT_DRIFT_COMPLETE=1 makes all changes instead.
//   - KT_DRIFT_ONLY limits the bench to specimens with this name prefix. Then only each of these must be changed.
//   - After KT_DRIFT_MINUTES, no new round starts. Then the numbers of changes are not checked.
func TestAccDriftBench(t *testing.T) {
	o := chosen(t)
	fmt.Println("drift bench; to repeat it:", o.repeat())
	b := start(t, withCRDs.Started(t), o)
	b.rounds(t)
	if o.complete && !o.expired() {
		b.pairs(t)
		b.configured(t)
	}
	b.restarts(t)
	if *update && o.complete && o.only == "" {
		b.table.writeClasses(t)
	}
	b.table.print(t, o)
	for _, missing := range b.shortfall(minimumByClass(t)) {
		t.Error(missing)
	}
}

// start creates all subjects, and checks that the provider owns what the golden files list.
func start(t *testing.T, cluster *acctest.Cluster, o options) *bench {
	t.Helper()
	ns := cluster.WithComputes(t).Namespace(t)
	b := &bench{
		options: o, cli: acctest.NewAttachedCLI(t), clients: newClients(t, cluster.Kubeconfig()),
		random: rand.New(rand.NewPCG(o.seed, 0)), table: newTable(),
		config: func(text string) string { return cluster.Config(ns, text) },
	}
	if o.binary != "" {
		b.cli = acctest.NewCLIWith(t, o.binary)
	}
	for _, s := range subjects() {
		if strings.HasPrefix(s.name, o.only) {
			b.subjects = append(b.subjects, s)
		}
	}
	b.cli.Write(t, b.config(configuration(b.subjects)))
	if out, err := b.cli.Run(t, "apply", "-auto-approve"); err != nil {
		t.Fatalf("%v\n%s", err, failures(out))
	}
	if report := b.plan(t); report.changes() > 0 || len(report.warnings) > 0 || len(report.errors) > 0 {
		t.Fatalf("the plan after the creation is not empty: %v", report)
	}
	b.identify(t)
	for _, s := range b.subjects {
		s.learn(t, b.random, o.seed)
	}
	return b
}

// identify finds the objects of all subjects, and compares what the provider owns with the golden files.
func (b *bench) identify(t *testing.T) {
	t.Helper()
	var state struct {
		Values struct {
			RootModule struct {
				Resources []struct {
					Address string
					Values  struct{ Manifests map[string]string }
				}
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(b.cli.MustRun(t, "show", "-json")), &state); err != nil {
		t.Fatal(err)
	}
	for _, r := range state.Values.RootModule.Resources {
		for _, s := range b.subjects {
			if s.address != r.Address {
				continue
			}
			for _, key := range slices.Sorted(mapKeys(r.Values.Manifests)) {
				s.objects = append(s.objects, b.clients.object(t, r.Values.Manifests[key]))
			}
		}
	}
	for _, s := range b.subjects {
		live := s.owned(t)
		if *update {
			live.write(t, s.specimen.name)
		}
		s.golden = readGolden(t, s.specimen.name)
		for _, difference := range s.golden.compare(live) {
			b.table.fail("%s: %s", s.address, difference)
		}
	}
}

// failures returns the part of a run's output that contains the errors.
func failures(out string) string {
	if i := strings.Index(out, "Error:"); i >= 0 {
		return out[max(0, i-200):]
	}
	return out
}

// rounds makes the changes that the options ask for.
func (b *bench) rounds(t *testing.T) {
	t.Helper()
	must, mustNot := b.options.must, b.options.mustNot
	if b.options.complete {
		must, mustNot = 0, 0
		for _, s := range b.subjects {
			for _, task := range s.todo {
				if task.must {
					must++
				} else {
					mustNot++
				}
			}
		}
	}
	for round := 1; !b.options.expired() && (b.table.must < must || b.table.mustNot < mustNot); round++ {
		acts := b.next(t, must, mustNot)
		if len(acts) == 0 {
			return
		}
		b.round(t, acts)
		t.Logf("round %d: %d changes; so far %d that the plan must show, %d that it must not show, %d violations",
			round, len(acts), b.table.must, b.table.mustNot, len(b.table.violations))
	}
}

// next makes one change to each subject, unless none is left.
func (b *bench) next(t *testing.T, must, mustNot int) []act {
	t.Helper()
	var acts []act
	plannedMust, plannedNot := b.table.must, b.table.mustNot
	for _, s := range b.subjects {
		show := b.random.IntN(must+mustNot) < must
		wanted := func(m mutation) bool {
			return m.must == show && (m.must && plannedMust < must || !m.must && plannedNot < mustNot) &&
				(b.options.among == nil || b.options.among(m))
		}
		a, ok := s.next(t, b.random, wanted)
		if !ok {
			show = !show
			if a, ok = s.next(t, b.random, wanted); !ok {
				continue
			}
		}
		if a.must {
			plannedMust++
		} else {
			plannedNot++
		}
		acts = append(acts, a)
	}
	return acts
}

// round checks the plan after changes, the apply and the following plan.
func (b *bench) round(t *testing.T, acts []act) {
	t.Helper()
	report := b.plan(t)
	for range 10 {
		broken := report.failed(acts)
		if len(broken) == 0 {
			break
		}
		for _, a := range slices.Backward(broken) {
			b.table.planError(a, report.errors)
			a.undo(t)
			acts = slices.DeleteFunc(acts, func(o act) bool { return o.subject == a.subject })
		}
		report = b.plan(t)
	}
	for _, a := range acts {
		b.table.judge(a, report)
	}
	applied := b.run(t, "apply", "-json", "plan.bin")
	after := b.plan(t)
	b.table.unexplained(acts, "apply", applied)
	b.table.unexplained(acts, "plan after it", after)
	for _, a := range acts {
		b.table.repaired(t, a, applied, after)
		if !a.must {
			a.undo(t)
		}
	}
}

// restarts scales computes whose lists were reordered by another client. It checks
// that the pod templates do not change.
func (b *bench) restarts(t *testing.T) {
	t.Helper()
	var acts []act
	names, scaled := []string{"own-deployment", "stateful-set", "replica-set", "deployment"}, map[string]bool{}
	for _, s := range b.subjects {
		if !slices.Contains(names, s.specimen.name) {
			continue
		}
		s.todo = nil
		s.specimen.copies, s.copy = 1, 0
		s.learn(t, b.random, b.options.seed)
		a, ok := s.next(t, b.random, func(m mutation) bool {
			return m.class == orderIrrelevant
		})
		if !ok {
			b.table.violations = append(b.table.violations, s.address+" has no list to reorder")
			continue
		}
		a.before = a.object.get(t)
		acts, scaled[s.specimen.name] = append(acts, a), true
		s.more = "\n  deletion_protection = false\n  replicas = 3\n"
		if s.specimen.name != "deployment" {
			s.body = strings.Replace(s.body, "\n  replicas: 1", "\n  replicas: 3", 1)
			s.more = ""
		}
	}
	if len(scaled) != len(names) {
		t.Errorf("the scaled computes are %v, want %q", scaled, names)
	}
	b.cli.Write(t, b.config(configuration(b.subjects)))
	report := b.plan(t)
	applied := b.run(t, "apply", "-json", "plan.bin")
	for _, a := range acts {
		b.table.restart(t, a, report, applied)
	}
}
