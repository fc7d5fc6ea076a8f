package owned

import (
	"context"
	"errors"
	"maps"
	"slices"
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
	change.Run(t.Context(), named(t, "2", "b", "a", "c"), named(t, "1", "a", "b", "c"))
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
	change.Run(t.Context(), same, same) // a nil Send would panic
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
	change.Run(t.Context(), named(t, "1", "a"), prior) // a deletion would need a cluster
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
			change.Run(t.Context(), named(t, "2", "a"), prior)
			if got := keys(change.After(prior)); len(got) != 2 || len(change.Memory) != 2 || !change.Diags.HasError() {
				t.Errorf("state %v, memory %v, %v", got, change.Memory, change.Diags)
			}
		})
	}
}
