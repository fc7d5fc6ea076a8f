package owned

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// named returns objects with these names, whose content has a version.
func named(t *testing.T, version string, names ...string) Objects {
	t.Helper()
	out := Objects{}
	for _, name := range names {
		object, err := ObjectOf(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "namespace": "ml"}, "data": map[string]any{"version": version},
		}})
		if err != nil {
			t.Fatal(err)
		}
		out[object.Key] = object
	}
	return out
}

func keys(objects Objects) []string { return slices.Sorted(maps.Keys(objects)) }

// updated returns the change from prior objects to others that all have another content. Nothing is created or deleted,
// so no cluster is needed. The object failing fails with err.
func updated(t *testing.T, memory Memory, failing string, err error) (change *Change, sent []string) {
	t.Helper()
	change = &Change{Memory: memory, Creation: &Creation{Type: "kt_thing", ID: "ml/x"},
		Rank:         func(obj *unstructured.Unstructured) int { return int(obj.GetName()[0]) },
		DeletionRank: func(*unstructured.Unstructured) int { return 0 },
		Incomplete:   "The resource is in state.",
		Send: func(_ context.Context, obj *unstructured.Unstructured, _ *Object) (diag.Diagnostics, error) {
			sent = append(sent, obj.GetName())
			if obj.GetName() == failing {
				return nil, err
			}
			return nil, nil
		}}
	change.Apply(t.Context(), named(t, "2", "b", "a", "c"), named(t, "1", "a", "b", "c"))
	return change, sent
}

func TestChangeSendsObjectsInTheOrderOfTheirRanks(t *testing.T) {
	t.Parallel()
	change, sent := updated(t, Memory{}, "", nil)
	if !slices.Equal(sent, []string{"a", "b", "c"}) {
		t.Errorf("sent %v", sent)
	}
	if change.Diags.HasError() || len(change.Existing) != 3 || len(change.Deleted) > 0 {
		t.Errorf("existing %v, deleted %v, %v", keys(change.Existing), change.Deleted, change.Diags)
	}
}

func TestFailedUpdateKeepsThePriorVersionOfTheRest(t *testing.T) {
	t.Parallel()
	prior := named(t, "1", "a", "b", "c")
	change, sent := updated(t, Memory{}, "b", &kube.Error{Class: kube.Unreachable, Err: errors.New("reset")})
	if !slices.Equal(sent, []string{"a", "b"}) || !change.Diags.HasError() || change.Interrupted {
		t.Errorf("sent %v, %v", sent, change.Diags)
	}
	after := change.After(prior)
	for key, want := range map[string]string{"ConfigMap/ml/a": "2", "ConfigMap/ml/b": "1", "ConfigMap/ml/c": "1"} {
		got, _, _ := unstructured.NestedString(after[key].Content.Object, "data", "version")
		if got != want {
			t.Errorf("%s has version %s in state, want %s", key, got, want)
		}
	}
}

func TestChangeSendsNoUnchangedObject(t *testing.T) {
	t.Parallel()
	change := &Change{Memory: Memory{}, Rank: func(*unstructured.Unstructured) int { return 0 },
		DeletionRank: func(*unstructured.Unstructured) int { return 0 }}
	same := named(t, "1", "a", "b")
	change.Apply(t.Context(), same, same) // a nil Send would panic
	if !slices.Equal(keys(change.Existing), keys(same)) || len(change.Diags) > 0 {
		t.Errorf("existing %v, %v", keys(change.Existing), change.Diags)
	}
}

// An error would taint the resource, and the next apply would replace it.
func TestFailureOfTheServerAfterTheFirstObjectIsAWarning(t *testing.T) {
	t.Parallel()
	planned := named(t, "1", "a", "b", "c")
	outage := &kube.Error{Class: kube.Unreachable, Err: errors.New("reset")}
	for name, test := range map[string]struct {
		existing    Objects
		err         error
		creating    bool
		interrupted bool
	}{
		"the second object of a creation": {named(t, "1", "a"), outage, true, true},
		"the first object of a creation":  {Objects{}, outage, true, false},
		"a rejection": {named(t, "1", "a"), &kube.Error{Class: kube.Invalid, Err: errors.New("bad")}, true,
			false},
		"an update": {named(t, "1", "a"), outage, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := &Change{Memory: Memory{}, Creation: &Creation{}, Existing: test.existing,
				Incomplete: "The resource is in state."}
			change.reportFailure(test.err, planned, test.creating)
			if change.Interrupted != test.interrupted || change.Diags.HasError() == test.interrupted {
				t.Errorf("interrupted: %t, %v", change.Interrupted, change.Diags)
			}
			if !test.interrupted {
				return
			}
			if !slices.Equal(keys(change.Existing), keys(planned)) {
				t.Errorf("the state contains %v, want all planned objects", keys(change.Existing))
			}
			if key := manifest.Key(planned["ConfigMap/ml/c"].Content); !change.Memory.Expects(key) {
				t.Errorf("the outcome of %s is not expected", key)
			}
			if change.Memory.Expects(keyOf("a")) {
				t.Error("the outcome of an existing object is unknown")
			}
		})
	}
}

func TestReleasedObjectStaysInTheClusterWithoutState(t *testing.T) {
	t.Parallel()
	prior := named(t, "1", "a", "b")
	change := &Change{Memory: Memory{"ConfigMap/ml/b": {UID: "u"}}, Existing: Objects{},
		Rank:         func(*unstructured.Unstructured) int { return 0 },
		DeletionRank: func(*unstructured.Unstructured) int { return 0 },
		Release: func(_ context.Context, obj *unstructured.Unstructured) (bool, error) {
			return obj.GetName() == "b", nil
		}}
	change.Apply(t.Context(), named(t, "1", "a"), prior) // a deletion would need a cluster
	if got := keys(change.After(prior)); !slices.Equal(got, []string{"ConfigMap/ml/a"}) || len(change.Memory) > 0 {
		t.Errorf("state %v, memory %v", got, change.Memory)
	}
}

// The live objects are unchanged after a failed update, so the state must still contain the released one.
func TestReleasedObjectStaysInStateAfterAFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ send, release error }{
		"of the update":  {send: errors.New("rejected")},
		"of the release": {release: errors.New("unavailable")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prior := named(t, "1", "a", "b")
			change := &Change{Memory: Memory{"ConfigMap/ml/a": {UID: "v"}, "ConfigMap/ml/b": {UID: "u"}},
				Creation:     &Creation{Type: "kt_thing", ID: "ml/x"},
				Rank:         func(*unstructured.Unstructured) int { return 0 },
				DeletionRank: func(*unstructured.Unstructured) int { return 0 },
				Send: func(context.Context, *unstructured.Unstructured, *Object) (diag.Diagnostics, error) {
					return nil, test.send
				},
				Release: func(context.Context, *unstructured.Unstructured) (bool, error) {
					return test.release == nil, test.release
				}}
			change.Apply(t.Context(), named(t, "2", "a"), prior)
			if _, kept := change.Existing[keyOf("b")]; kept != (test.release != nil) {
				t.Errorf("existing %v", keys(change.Existing))
			}
			if got := keys(change.After(prior)); len(got) != 2 || len(change.Memory) != 2 || !change.Diags.HasError() {
				t.Errorf("state %v, memory %v, %v", got, change.Memory, change.Diags)
			}
		})
	}
}

// changing returns a change of the objects of a resource in a cluster.
func (r *testRun) changing(memory Memory) *Change {
	change := &Change{Run: r.Run, Memory: memory, Creation: creation(), Incomplete: "The resource is in state.",
		Rank:         func(obj *unstructured.Unstructured) int { return -int(obj.GetName()[0]) },
		DeletionRank: func(obj *unstructured.Unstructured) int { return -int(obj.GetName()[0]) }}
	change.Send = func(ctx context.Context, obj *unstructured.Unstructured, before *Object) (diag.Diagnostics, error) {
		if before != nil {
			_, diags, err := apply(ctx, r.Run, memory, obj)
			return diags, err
		}
		_, diags, err := Create(ctx, r.Run, memory, change.Creation, obj)
		return diags, err
	}
	return change
}

func keyOf(name string) string { return "ConfigMap/ml/" + name }

func TestChangeCreatesUpdatesAndDeletes(t *testing.T) {
	t.Parallel()
	server, memory := newRun(t), Memory{}
	first := server.changing(memory)
	first.Apply(t.Context(), named(t, "1", "a", "b", "c"), nil)
	first.Creation.Complete(server.Run)
	if first.Diags.HasError() || len(server.Paths()) != 3 || len(memory) != 3 || len(first.Existing) != 3 {
		t.Fatalf("%v, %v, memory %v", first.Diags, server.Paths(), memory)
	}
	r := again(t, server.Server)
	change, planned := r.changing(memory), named(t, "2", "a", "d")
	change.Apply(t.Context(), planned, first.Existing)
	if len(change.Diags) > 0 || !slices.Equal(keys(change.Existing), []string{keyOf("a"), keyOf("d")}) ||
		!slices.Equal(change.Deleted, []string{keyOf("b"), keyOf("c")}) {
		t.Errorf("existing %v, deleted %v, %v", keys(change.Existing), change.Deleted, change.Diags)
	}
	if got := slices.Sorted(maps.Keys(memory)); !slices.Equal(got, []string{keyOf("a"), keyOf("d")}) {
		t.Errorf("memory %v", got)
	}
	inOrder := []string{"delete " + mapPath + "c", "delete " + mapPath + "b"}
	if deleted := r.Requests("delete"); !slices.Equal(deleted, inOrder) {
		t.Errorf("requests %v", deleted)
	}
	if got := r.Paths(); !slices.Equal(got, []string{mapPath + "a", mapPath + "d"}) {
		t.Errorf("objects %v", got)
	}
}

// The creation of one object determines which others may be adopted, so all are checked first.
func TestNothingIsSentIfOneObjectCannotBeCreated(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.Server.Apply(t, somebody, configMap("a"))
	change := r.changing(Memory{})
	change.Apply(t.Context(), named(t, "1", "a", "b"), nil)
	if len(change.Diags) != 1 || change.Diags[0].Summary() != "ConfigMap ml/a was not created by this provider" ||
		len(change.Existing) > 0 || len(r.Requests("apply")) > 0 {
		t.Errorf("%v, existing %v, requests %v", change.Diags, keys(change.Existing), r.Requests("apply"))
	}
}

func TestObjectThatMayRemainStaysInState(t *testing.T) {
	t.Parallel()
	server, memory := newRun(t), Memory{}
	first := server.changing(memory)
	first.Apply(t.Context(), named(t, "1", "a", "b", "c"), nil)
	r := again(t, server.Server)
	r.fails("delete", "/b", http.StatusForbidden)
	change := r.changing(memory)
	change.Apply(t.Context(), named(t, "1", "a"), first.Existing)
	if !change.Diags.HasError() || !slices.Equal(keys(change.Existing), []string{keyOf("a"), keyOf("b")}) ||
		!slices.Equal(change.Deleted, []string{keyOf("c")}) || memory[keyOf("b")].UID == "" {
		t.Errorf("existing %v, deleted %v, %v", keys(change.Existing), change.Deleted, change.Diags)
	}
}

// It is another client's, and the configuration never changed it.
func TestImportedObjectThatWasNeverAppliedIsNotDeleted(t *testing.T) {
	t.Parallel()
	r, memory, prior := newRun(t), Memory{}, Objects{}
	live := r.Server.Apply(t, somebody, configMap("b"))
	if _, _, err := prior.Import(memory, live); err != nil {
		t.Fatal(err)
	}
	change := r.changing(memory)
	change.Release = func(context.Context, *unstructured.Unstructured) (bool, error) {
		t.Error("an object that is not ours is released")
		return false, nil
	}
	change.Apply(t.Context(), Objects{}, prior)
	if len(change.Diags) > 0 || len(change.Existing) > 0 || r.Object(mapPath+"b") == nil {
		t.Errorf("existing %v, %v", keys(change.Existing), change.Diags)
	}
}

func TestObjectThatIsNotReleasedIsDeleted(t *testing.T) {
	t.Parallel()
	server, memory := newRun(t), Memory{}
	first := server.changing(memory)
	first.Apply(t.Context(), named(t, "1", "a", "b", "c"), nil)
	r := again(t, server.Server)
	change := r.changing(memory)
	change.Release = func(_ context.Context, obj *unstructured.Unstructured) (bool, error) {
		return obj.GetName() == "c", nil
	}
	change.Apply(t.Context(), named(t, "1", "a"), first.Existing)
	if got := r.Paths(); len(change.Diags) > 0 || !slices.Equal(got, []string{mapPath + "a", mapPath + "c"}) {
		t.Errorf("objects %v, %v", got, change.Diags)
	}
	slices.Sort(change.Deleted)
	if !slices.Equal(change.Deleted, []string{keyOf("b"), keyOf("c")}) || len(memory) != 1 {
		t.Errorf("deleted %v, memory %v", change.Deleted, memory)
	}
}

// Only an object in state can be deleted.
func TestObjectWithAnUnknownOutcomeIsInState(t *testing.T) {
	t.Parallel()
	lost := &kube.Error{Class: kube.Unreachable, OutcomeUnknown: true, Err: errors.New("reset")}
	rejected := &kube.Error{Class: kube.Invalid, Err: errors.New("bad")}
	for name, c := range map[string]struct {
		err   error
		prior Objects
		want  []string
	}{
		"a new object":      {lost, Objects{}, []string{keyOf("a")}},
		"a rejected object": {rejected, Objects{}, nil},
		"an existing object keeps its prior version": {lost, named(t, "1", "a"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := newRun(t).changing(Memory{})
			change.Send = func(
				_ context.Context, _ *unstructured.Unstructured, before *Object,
			) (diag.Diagnostics, error) {
				if (before != nil) != (len(c.prior) > 0) {
					t.Errorf("before is %v", before)
				}
				return diag.Diagnostics{diag.NewWarningDiagnostic("Sent", "")}, c.err
			}
			change.Apply(t.Context(), named(t, "2", "a"), c.prior)
			if got := keys(change.Existing); !slices.Equal(got, c.want) || change.Diags.WarningsCount() != 1 ||
				change.Diags.ErrorsCount() != 1 || change.Interrupted {
				t.Errorf("existing %v, want %v, %v", got, c.want, change.Diags)
			}
		})
	}
}

func TestInterruptedCreationKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	r.fails("apply", "/b", http.StatusInternalServerError)
	change := r.changing(memory)
	change.Apply(t.Context(), named(t, "1", "a", "b", "c"), nil) // in the order c, b, a
	if !change.Interrupted || change.Diags.HasError() || len(change.Diags) != 1 ||
		!strings.Contains(change.Diags[0].Detail(), "The resource is in state.") || len(change.Existing) != 3 {
		t.Fatalf("existing %v, %v", keys(change.Existing), change.Diags)
	}
	if memory[keyOf("c")].UID == "" || !memory.Expects(keyOf("a")) || !memory.Expects(keyOf("b")) {
		t.Errorf("memory %+v", memory)
	}
	if memory[keyOf("a")].Creation != r.Object(mapPath + "c").GetAnnotations()[kube.UnfinishedAnnotation] {
		t.Errorf("memory %+v, object %v", memory, r.Object(mapPath+"c"))
	}
	change.Creation.Complete(r.Run)
	for _, name := range []string{"a", "b", "c"} { // which a replaced or renamed resource also has
		deleted, err := r.DeleteUnlessClaimed(t.Context(), refOf(t, configMap(name)), func() error { return nil })
		if deleted || err != nil {
			t.Errorf("%s in state: deleted %t, %v", name, deleted, err)
		}
	}
}
