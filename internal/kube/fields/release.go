package fields

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Some fields are set at creation and then left to others: Kueue sets spec.runPolicy.suspend of a queued training
// job to false to start it. The server makes another client the owner of such a field when that client changes its
// value (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers). Until then it is ours, and an
// apply without it would remove it and start the job in spite of its queue.

// Released returns those of paths that were applied and that we no longer own in live. It returns none if
// we own nothing at all: then our entry was lost, not the fields. Each path consists of field names, and
// contains no list.
func (a Applied) Released(live *unstructured.Unstructured, paths [][]string) ([][]string, error) {
	owned, found, err := Owned(live)
	if !found {
		return nil, err
	}
	var released [][]string
	for _, names := range paths {
		path := fieldPath(names)
		if a.Set.Has(path) && !owned.Has(path) {
			released = append(released, names)
		}
	}
	return released, nil
}

// Without returns the record without the fields at paths, so that they are neither reported as drift nor sent again.
// Maps that become empty are removed.
func (a Applied) Without(paths [][]string) Applied {
	a.Object, a.Admitted = runtime.DeepCopyJSON(a.Object), maps.Clone(a.Admitted)
	gone := fieldpath.NewSet()
	for _, names := range paths {
		path := fieldPath(names)
		gone.Insert(path)
		delete(a.Admitted, String(path))
		prune(a.Object, names)
	}
	a.Set = a.Set.RecursiveDifference(gone)
	return a
}

func fieldPath(names []string) fieldpath.Path {
	return kind.Each(names, fieldpath.FieldNameElement)
}

// prune removes the field at names, and maps that become empty.
func prune(obj map[string]any, names []string) {
	if len(names) > 1 {
		inner, ok := obj[names[0]].(map[string]any)
		if !ok {
			return
		}
		if prune(inner, names[1:]); len(inner) > 0 {
			return
		}
	}
	delete(obj, names[0])
}
