package owned

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestObsoleteObjectsAreDeletedBeforeOthersAreApplied changes a, and deletes b and c.
func TestObsoleteObjectsAreDeletedBeforeOthersAreApplied(t *testing.T) {
	t.Parallel()
	const apply, deleteB, deleteC = "apply " + mapPath + "a", "delete " + mapPath + "b", "delete " + mapPath + "c"
	afterwards, oneFirst := []string{apply, deleteC, deleteB}, []string{deleteB, apply, deleteC}
	isNamed := func(names ...string) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool { return slices.Contains(names, obj.GetName()) }
	}
	releases := func(release bool, err error) func(context.Context, *unstructured.Unstructured) (bool, error) {
		return func(context.Context, *unstructured.Unstructured) (bool, error) { return release, err }
	}
	for name, test := range map[string]struct {
		first    func(*unstructured.Unstructured) bool
		release  func(context.Context, *unstructured.Unstructured) (bool, error)
		refused  string // the object whose deletion is refused
		want     []string
		existing []string
		failed   bool
	}{
		"none without the function": {want: afterwards, existing: []string{"a"}},
		"none":                      {first: isNamed(), want: afterwards, existing: []string{"a"}},
		"one":                       {first: isNamed("b"), want: oneFirst, existing: []string{"a"}},
		"all, in their order": {first: isNamed("b", "c"), want: []string{deleteC, deleteB, apply},
			existing: []string{"a"}},
		"a planned object stays": {first: isNamed("a"), want: afterwards, existing: []string{"a"}},
		"a released one stays": {first: isNamed("b"), release: releases(true, nil), want: []string{apply},
			existing: []string{"a"}},
		"a refused deletion ends it": {first: isNamed("b"), refused: "/b", want: []string{deleteB},
			existing: []string{"b"}, failed: true},
		"a failed release ends it": {first: isNamed("b"), release: releases(false, errors.New("unavailable")),
			existing: []string{"b"}, failed: true},
		"a refused deletion of another one": {first: isNamed("b"), refused: "/c", want: oneFirst,
			existing: []string{"a", "c"}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, memory := newRun(t), Memory{}
			created := server.changing(memory)
			created.Apply(t.Context(), named(t, "1", "a", "b", "c"), nil)
			r := again(t, server.Server)
			before := len(r.Requests("apply", "delete"))
			if test.refused != "" {
				r.fails("delete", test.refused, http.StatusForbidden)
			}
			change := r.changing(memory)
			change.DeletesFirst, change.Release = test.first, test.release
			change.Apply(t.Context(), named(t, "2", "a"), created.Existing)
			if got := r.Requests("apply", "delete")[before:]; !slices.Equal(got, test.want) {
				t.Errorf("requests %q, want %q", got, test.want)
			}
			var existing []string
			for _, name := range test.existing {
				existing = append(existing, keyOf(name))
			}
			if got := keys(change.Existing); !slices.Equal(got, existing) || change.Diags.HasError() != test.failed {
				t.Errorf("existing %q, want %q, %v", got, existing, change.Diags)
			}
			// What was not reached stays in state, for the next apply.
			want := map[bool]int{false: len(test.existing), true: 3 - len(change.Deleted)}[test.failed]
			if got := keys(change.After(created.Existing)); len(got) != want || len(memory) != want {
				t.Errorf("state %q, memory %v", got, memory)
			}
		})
	}
}
