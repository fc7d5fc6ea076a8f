package driftbench_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

// setting reads a number from the environment.
func setting(name string, fallback int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return fallback
}

// bench is one run: a cluster, one state with all subjects, and the results.
type bench struct {
	cli      *acctest.CLI
	clients  clients
	subjects []*subject
	random   *rand.Rand
	table    *table
	config   func(string) string
}

// TestAccDriftBench runs a small bench; `make drift` runs the complete one.
// KT_DRIFT_MUST and KT_DRIFT_MUST_NOT are the numbers of changes that the plan must
// and must not show. KT_DRIFT_SEED selects the changes. KT_DRIFT_ONLY limits the
// bench to subjects with this name prefix. After KT_DRIFT_MINUTES, no new round starts.
func TestAccDriftBench(t *testing.T) {
	must, mustNot, seed := setting("KT_DRIFT_MUST", 60), setting("KT_DRIFT_MUST_NOT", 30), setting("KT_DRIFT_SEED", 1)
	cluster := withCRDs.Started(t)
	end := time.Now().Add(time.Duration(setting("KT_DRIFT_MINUTES", 120)) * time.Minute)
	b := start(t, cluster, seed)
	for round := 1; time.Now().Before(end) && (b.table.must < must || b.table.mustNot < mustNot); round++ {
		if !b.round(t, round, must, mustNot) {
			break
		}
	}
	b.restarts(t)
	b.table.print(t, seed)
}

// start creates all subjects.
func start(t *testing.T, cluster *acctest.Cluster, seed int) *bench {
	t.Helper()
	crd := acctest.Testdata("skytorch-compute-crd.yaml")
	cluster.Kubectl(t, "apply", "--server-side", "-f", crd)
	cluster.Kubectl(t, "wait", "--for=condition=Established", "crd/computes.compute.skytorch.dev")
	ns := cluster.Namespace(t)
	b := &bench{
		cli: acctest.NewCLI(t), clients: newClients(t, cluster.Kubeconfig()),
		random: rand.New(rand.NewPCG(uint64(seed), 0)),
		table:  &table{}, config: func(text string) string { return cluster.Config(ns, text) },
	}
	for _, s := range subjects() {
		if strings.HasPrefix(s.name, os.Getenv("KT_DRIFT_ONLY")) {
			b.subjects = append(b.subjects, s)
		}
	}
	b.cli.Write(t, b.config(configuration(b.subjects)))
	if out, err := b.cli.Run(t, "apply", "-auto-approve"); err != nil {
		t.Fatalf("%v\n%s", err, failures(out))
	}
	if report := b.plan(t); report.changes() > 0 || len(report.warnings) > 0 {
		t.Fatalf("the plan after the creation is not empty: %v %v", report.planned, report.warnings)
	}
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
			s.learn(t, b.random)
		}
	}
	return b
}

// failures returns the part of a run's output that contains the errors.
func failures(out string) string {
	if i := strings.Index(out, "Error:"); i >= 0 {
		return out[max(0, i-200):]
	}
	return out
}

// round makes one change to each subject, and checks the plan, the apply and the
// following plan. It returns false if no changes are left.
func (b *bench) round(t *testing.T, number, must, mustNot int) bool {
	t.Helper()
	var acts []act
	plannedMust, plannedNot := b.table.must, b.table.mustNot
	for _, s := range b.subjects {
		show := b.random.IntN(must+mustNot) < must
		wanted := func(m mutation) bool {
			return m.must == show && (m.must && plannedMust < must || !m.must && plannedNot < mustNot)
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
	if len(acts) == 0 {
		return false
	}
	report := b.plan(t)
	for range 10 {
		broken := report.failed(acts)
		if len(broken) == 0 {
			break
		}
		for _, a := range broken {
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
	for _, a := range acts {
		b.table.repaired(t, a, applied, after)
		if !a.must {
			a.undo(t)
		}
	}
	t.Logf("round %d: %d changes; so far %d that the plan must show, %d that it must not show, %d violations",
		number, len(acts), b.table.must, b.table.mustNot, len(b.table.violations))
	return true
}

// restarts scales computes whose lists were reordered by another client. It checks
// that the pod templates do not change.
func (b *bench) restarts(t *testing.T) {
	t.Helper()
	var acts []act
	for _, s := range b.subjects {
		if !slices.Contains([]string{"own-deployment", "stateful-set", "replica-set", "deployment"},
			s.specimen.kind()) {
			continue
		}
		s.todo = nil
		s.specimen.copies, s.copy = 1, 0
		s.learn(t, b.random)
		a, ok := s.next(t, b.random, func(m mutation) bool {
			return m.class == orderIrrelevant
		})
		if !ok {
			continue
		}
		a.before = a.object.get(t)
		acts = append(acts, a)
		s.more = "\n  deletion_protection = false\n  replicas = 3\n"
		if s.specimen.kind() != "deployment" {
			s.body = strings.Replace(s.body, "\n  replicas: 1", "\n  replicas: 3", 1)
			s.more = ""
		}
	}
	b.cli.Write(t, b.config(configuration(b.subjects)))
	report := b.plan(t)
	applied := b.run(t, "apply", "-json", "plan.bin")
	for _, a := range acts {
		b.table.restart(t, a, report, applied)
	}
}

func (s specimen) kind() string {
	if i := strings.LastIndex(s.name, "-"); i > 0 {
		return s.name[:i]
	}
	return s.name
}

// report is the output of one CLI run.
type report struct {
	planned  map[string]string // action by address
	warnings []diagnostic
	errors   []diagnostic
}

type diagnostic struct {
	Severity, Summary, Detail, Address string
}

func (r report) changes() int { return len(r.planned) }

func (b *bench) plan(t *testing.T) report {
	t.Helper()
	return b.run(t, "plan", "-json", "-out=plan.bin")
}

func (b *bench) run(t *testing.T, args ...string) report {
	t.Helper()
	out, _ := b.cli.Run(t, args...)
	r := report{planned: map[string]string{}}
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Type       string
			Diagnostic diagnostic
			Change     struct {
				Resource struct{ Addr string }
				Action   string
			}
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil {
			continue
		}
		switch {
		case line.Type == "planned_change":
			r.planned[line.Change.Resource.Addr] = line.Change.Action
		case line.Type == "diagnostic" && line.Diagnostic.Severity == "error":
			r.errors = append(r.errors, line.Diagnostic)
		case line.Type == "diagnostic" && !strings.HasPrefix(line.Diagnostic.Summary, "Provider development overrides"):
			r.warnings = append(r.warnings, line.Diagnostic)
		}
	}
	return r
}

// failed returns the changes that caused the errors of a plan. If no error
// identifies a change, it returns all of them.
func (r report) failed(acts []act) []act {
	if len(r.errors) == 0 {
		return nil
	}
	var out []act
	for _, a := range acts {
		if slices.ContainsFunc(r.errors, func(d diagnostic) bool { return d.about(a) }) {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return acts
	}
	return out
}

func (d diagnostic) about(a act) bool {
	return d.Address == a.subject.address || strings.Contains(d.Summary+d.Detail+" ", "/"+a.subject.name+" ")
}

func (d diagnostic) String() string { return fmt.Sprintf("%s: %s", d.Summary, d.Detail) }
