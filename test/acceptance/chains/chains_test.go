package chains_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
	"github.com/ktdev/terraform-provider-kt/test/acctest/core"
)

// resourceName is the name of a resource in that of an object, such as kt-image-c7.
var resourceName = regexp.MustCompile(`\bc\d+\b`)

// batch is how many chains run in one state at a time.
const batch = 25

func TestAccChains(t *testing.T) {
	expectEveryAttribute(t)
	chains, err := strconv.Atoi(os.Getenv("KT_CHAINS"))
	if err != nil || chains <= 0 {
		t.Skip("KT_CHAINS is the number of chains: see make chains")
	}
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv("KT_CHAINS_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for first := 0; first < chains; first += batch {
		// Each batch has a seed of its own, so that it can be repeated alone.
		number := seed + uint64(first/batch)
		t.Run(strconv.FormatUint(number, 10), func(t *testing.T) {
			for _, s := range subjects() {
				random := rand.New(rand.NewPCG(number, 0))
				(&bench{t: t, subject: s, random: random, count: min(batch, chains-first)}).chains()
			}
		})
	}
}

// bench runs a batch of chains.
type bench struct {
	subject

	t      *testing.T
	random *rand.Rand
	count  int
}

// chains runs A -> B -> C -> A for each resource, and compares it with one that is created with the same declaration.
func (b *bench) chains() {
	changed := newState(b.t, b.typ)
	steps := b.declarations(4)
	steps[3] = steps[0]
	for i, bodies := range steps {
		before := changed.objects()
		failed := changed.change(bodies)
		b.report(i, steps, failed)
		fresh := newState(b.t, b.typ)
		b.report(i, steps, fresh.change(bodies))
		after, want := changed.objects(), fresh.objects()
		for name := range bodies {
			if diff := cmp.Diff(want[name], after[name]); diff != "" && failed[name] == "" {
				b.report(i, steps, map[string]string{name: "differs from a new one (-new, +changed):\n" + diff})
			}
			if old, now := templates(before[name]), templates(after[name]); i > 0 && old != now &&
				!slices.Contains(changed.plans[name].Attributes(), "manifests") &&
				changed.plans[name].Action != core.Replace {
				b.report(i, steps, map[string]string{name: "pods are replaced, and the plan shows nothing"})
			}
		}
		fresh.destroy()
	}
	changed.destroy()
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
	drafts := newState(b.t, b.typ)
	all := make([]map[string]string, steps)
	for i := range all {
		all[i] = map[string]string{}
		for len(all[i]) < b.count {
			bodies := map[string]string{}
			for n := range b.count {
				name := fmt.Sprintf("c%d", n)
				if _, found := all[i][name]; !found {
					bodies[name] = b.declaration(b.random, name)
				}
			}
			plans, _ := drafts.TryPlan(b.t, bodies)
			for name := range plans {
				all[i][name] = bodies[name]
			}
		}
	}
	return all
}

// state is a state with resources in a namespace of its own.
type state struct {
	*acctest.Resources

	t     *testing.T
	ns    string
	plans map[string]*core.Plan
}

func newState(t *testing.T, typ string) *state {
	t.Helper()
	ns := cluster.Namespace(t)
	return &state{Resources: cluster.Resources(t, typ, ns, ""), t: t, ns: ns}
}

// change plans and applies declarations, and plans again. It returns what is wrong, by name.
func (s *state) change(bodies map[string]string) map[string]string {
	s.t.Helper()
	wrong := map[string]string{}
	note := func(what string, failed map[string]error) {
		for name, err := range failed {
			wrong[name] = fmt.Sprintf("%s: %v", what, err)
			delete(bodies, name)
		}
	}
	bodies = maps.Clone(bodies)
	plans, failed := s.TryPlan(s.t, bodies)
	note("plan", failed)
	s.plans = plans
	note("apply", s.TryApply(s.t, plans))
	second, failed := s.TryPlan(s.t, bodies)
	note("second plan", failed)
	for name, p := range second {
		if p.Action != core.NoOp {
			wrong[name] = fmt.Sprintf("the second plan is %s of %q", p.Action, acctest.AsPlan(s.t, p).Fields())
		}
	}
	return wrong
}

func (s *state) destroy() {
	s.t.Helper()
	s.Destroy(s.t)
	for name, left := range s.objects() {
		s.t.Errorf("%s is left behind: %v", name, slices.Sorted(maps.Keys(left)))
	}
}

// objects returns the objects of each resource, by kind and name, without what only the server or a creation sets.
func (s *state) objects() map[string]map[string]map[string]any {
	s.t.Helper()
	const kinds = "deployments,statefulsets,daemonsets,jobs,services,poddisruptionbudgets,ingresses,configmaps," +
		"secrets"
	var list struct {
		Items []map[string]any `json:"items"`
	}
	text := cluster.Kubectl(s.t, "get", kinds, "-n", s.ns, "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]map[string]map[string]any{}
	for _, item := range list.Items {
		metadata, _ := item["metadata"].(map[string]any)
		name := fmt.Sprint(metadata["name"])
		of := resourceName.FindString(name)
		if of == "" {
			continue // kube-root-ca.crt
		}
		if all[of] == nil {
			all[of] = map[string]map[string]any{}
		}
		acctest.RemoveServerFields(item)
		delete(metadata, "namespace")
		all[of][fmt.Sprint(item["kind"], " ", name)] = item
	}
	return all
}

// templates returns the pod templates of objects as a text.
func templates(objects map[string]map[string]any) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		spec, _ := objects[name]["spec"].(map[string]any)
		text, _ := json.Marshal(spec["template"]) // was decoded from JSON
		out.WriteString(string(text) + "\n")
	}
	return out.String()
}
