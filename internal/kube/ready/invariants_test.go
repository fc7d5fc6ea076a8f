package ready

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
)

// checkVerdict checks the properties of every verdict, regardless of the objects.
func checkVerdict(t *testing.T, v Verdict) {
	t.Helper()
	c := v.Cause
	switch {
	case v.Message == "":
		t.Error("no message")
	case v.Ready && v.Suspended:
		t.Error("both ready and suspended")
	case (v.Complete || v.Succeeds) && !v.Ready:
		t.Error("complete or about to be, but not ready")
	case v.Ready && c != nil:
		t.Errorf("ready, but blocked by %s", c.Reason)
	}
	if c == nil {
		return
	}
	if c.Reason == "" || c.Object == "" || c.Summary == "" || !strings.HasPrefix(c.Command, "kubectl ") {
		t.Errorf("the cause is incomplete: %+v", *c)
	}
	if !isAction(c.Hint.In()) {
		t.Errorf("the next step is not an imperative: %q", c.Hint)
	}
	if !c.Terminal && c.Grace != 0 || c.Grace < 0 || c.Grace > recoverGrace {
		t.Errorf("grace of %s, terminal %t", c.Grace, c.Terminal)
	}
	if (c.Reason == ReasonQueued || c.Reason == ReasonQueueInactive) && c.Terminal {
		t.Error("queued in an existing queue, but terminal")
	}
	if len(c.Events) > maxEvents {
		t.Errorf("%d events", len(c.Events))
	}
	for _, text := range append([]string{c.Summary, c.Hint.In()}, c.Events...) {
		if utf8.RuneCountInString(text) > 1500 || strings.ContainsAny(text, "\n\x1b") {
			t.Errorf("text that does not fit on a line: %q", text)
		}
	}
	for _, part := range []string{c.Summary, c.Object, c.Command} {
		if !strings.Contains(Explain(c, nil), part) {
			t.Errorf("Explain omits %q", part)
		}
	}
}

// isAction reports whether a next step is empty or an imperative.
func isAction(hint string) bool {
	verb, _, _ := strings.Cut(hint, " ")
	return hint == "" || slices.Contains([]string{
		"Add", "Bind", "Change", "Check", "Configure", "Contact", "Correct", "Create", "Delete", "Free", "Increase",
		"Install", "Match", "Pull", "Raise", "Read", "Reduce", "Relax", "Release", "Remove", "Repair", "Replace",
		"Request", "Restore", "Resume", "Select", "Set", "Sign", "Start", "Uncordon", "Use", "Wait",
	}, verb)
}

func TestVerdictsAreComplete(t *testing.T) {
	t.Parallel()
	all, names := readFixtures(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkVerdict(t, Assess(all.snapshot(t, name)))
		})
	}
}

// TestOrderDoesNotMatter: a server returns lists in any order, which must not
// restart a grace period.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	all, names := readFixtures(t)
	for _, name := range names {
		s := all.snapshot(t, name)
		want := Assess(s)
		for range 5 {
			shuffle(random, s.Pods)
			shuffle(random, s.Nodes)
			shuffle(random, s.ReplicaSets)
			shuffle(random, s.Parts)
			if s.Queue != nil {
				shuffle(random, s.Queue.Queues)
				shuffle(random, s.Queue.Holds)
			}
			got := Assess(s)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: in another order the verdict is %+v, not %+v", name, got, want)
			}
		}
	}
}

// A wait assesses a snapshot without, and then with the related objects.
func TestAssessorOfAWorkloadAssessesSeveralSnapshots(t *testing.T) {
	t.Parallel()
	all, names := readFixtures(t)
	for _, name := range names {
		s := all.snapshot(t, name)
		assess := Assessor(s.Workload)
		for _, s := range []Snapshot{{Workload: s.Workload}, s, s} {
			if got, want := assess(s), Assess(s); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the verdict is %+v, not %+v", name, got, want)
			}
		}
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestSnapshotIsNotModified: the objects belong to a shared cache.
func TestSnapshotIsNotModified(t *testing.T) {
	t.Parallel()
	all, names := readFixtures(t)
	for _, name := range names {
		f := all.fixture(t, name)
		s, untouched := f.snapshot(t), all.snapshot(t, name)
		Assess(s)
		if !reflect.DeepEqual(s, untouched) {
			t.Errorf("%s: Assess has changed its input", name)
		}
	}
}

// TestEnvironmentIsNeverShown: values of environment variables may be secret.
func TestEnvironmentIsNeverShown(t *testing.T) {
	t.Parallel()
	const canary = "canary-5f2b"
	all, names := readFixtures(t)
	for _, name := range names {
		f := all.fixture(t, name)
		for _, p := range f.Pods {
			for i := range p.Spec.Containers {
				p.Spec.Containers[i].Env = []corev1.EnvVar{{Name: "TOKEN", Value: canary}}
			}
		}
		v := Assess(f.snapshot(t))
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text)+Explain(v.Cause, nil), canary) {
			t.Errorf("%s: the verdict shows a value of the environment", name)
		}
	}
}

func TestKeyIsStableWhileTheCauseIsTheSame(t *testing.T) {
	t.Parallel()
	first := Assess(load(t, "image-pull")).Cause
	s := load(t, "image-pull")
	s.Pods[0].Name += "-replaced"
	if again := Assess(s).Cause; again.Key() != first.Key() {
		t.Errorf("another pod of the same image: %q became %q", first.Key(), again.Key())
	}
	s.Pods[0].Spec.Containers[0].Image = "other:1"
	if other := Assess(s).Cause; other.Key() == first.Key() {
		t.Errorf("another image has the same key %q", other.Key())
	}
	temporary := Assess(load(t, "image-qps")).Cause
	if temporary.Key() == first.Key() {
		t.Errorf("a temporary cause has the key %q of a permanent cause", first.Key())
	}
	if a, b := (&Cause{Reason: "A", Object: "Pod ml/a"}),
		(&Cause{Reason: "A", Object: "Pod ml/b"}); a.Key() == b.Key() {
		t.Error("causes of different objects without a subject have the same key")
	}
}

func TestMissingPermissionsNeverMakeVerdictsPermanent(t *testing.T) {
	t.Parallel()
	all, names := readFixtures(t)
	for _, name := range names {
		s := all.snapshot(t, name)
		full := Assess(s)
		s.ReplicaSets, s.Events, s.Nodes, s.Claims, s.Parts, s.Queue = nil, nil, nil, nil, nil, nil
		less := Assess(s)
		// The status of a tensor server has no generation. Without the StatefulSet
		// of its operator, it is reported as ready after a change if it was before.
		if milder := less.Ready && s.Workload.GetKind() == "Compute"; full.Ready != less.Ready && !milder {
			t.Errorf("%s: ready is %t with all permissions, %t with few", name, full.Ready, less.Ready)
		}
		if less.Cause != nil && less.Cause.Terminal && (full.Cause == nil || !full.Cause.Terminal) {
			t.Errorf("%s: %s is permanent only because of missing permissions", name, less.Cause.Reason)
		}
	}
}

// FuzzAssess mutates fixtures at random. No snapshot may cause a panic, and each
// verdict must be complete.
func FuzzAssess(f *testing.F) {
	var fixtures [][]byte
	all, names := readFixtures(f)
	for i, name := range names {
		fixtures = append(fixtures, all[name])
		f.Add(uint16(i), uint64(i), uint8(3))
	}
	f.Fuzz(func(t *testing.T, which uint16, seed uint64, times uint8) {
		var tree any
		if err := json.Unmarshal(fixtures[int(which)%len(fixtures)], &tree); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range times % 16 {
			mutate(random, tree)
		}
		data, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		var fx fixture
		if json.Unmarshal(data, &fx) != nil {
			return // not decodable as a typed list
		}
		var workload struct{ Kind string }
		if fx.Workload != nil && (json.Unmarshal(fx.Workload, &workload) != nil || workload.Kind == "") {
			return // not possible in a cluster
		}
		if slices.Contains(fx.Pods, nil) || slices.Contains(fx.Nodes, nil) || slices.Contains(fx.Events, nil) ||
			slices.Contains(fx.ReplicaSets, nil) {
			return // not possible in a snapshot
		}
		checkVerdict(t, Assess(fx.snapshot(t)))
	})
}

// mutate changes a random node of a JSON tree.
func mutate(random *rand.Rand, node any) {
	switch n := node.(type) {
	case map[string]any:
		if len(n) == 0 {
			return
		}
		keys := make([]string, 0, len(n))
		for k := range n {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		key := keys[random.IntN(len(keys))]
		if branch(n[key]) && random.IntN(8) > 0 {
			mutate(random, n[key])
			return
		}
		if random.IntN(2) == 0 {
			delete(n, key)
			return
		}
		n[key] = changed(random, n[key])
	case []any:
		if len(n) == 0 {
			return
		}
		i := random.IntN(len(n))
		if branch(n[i]) && random.IntN(8) > 0 {
			mutate(random, n[i])
			return
		}
		n[i] = changed(random, n[i])
	}
}

func branch(node any) bool {
	switch n := node.(type) {
	case map[string]any:
		return len(n) > 0
	case []any:
		return len(n) > 0
	}
	return false
}

// changed returns another value, mostly of the same type.
func changed(random *rand.Rand, old any) any {
	switch old.(type) {
	case string:
		choices := []string{"", "x", "True", "False", "CrashLoopBackOff", "ErrImagePull", "FailedMount", "Pending",
			"Failed",
			"kai-scheduler", "2026-11-21T08:00:00Z", "0", "-1"}
		return choices[random.IntN(len(choices))]
	case float64:
		return []float64{0, -1, 1, 2, 1 << 30}[random.IntN(5)]
	case bool:
		return random.IntN(2) == 0
	}
	return []any{nil, "x", 1.0, map[string]any{}, []any{}}[random.IntN(5)]
}
