package fields

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Some fields are given at creation and left to others from then on:
// spec.runPolicy.suspend of a training job in a queue, which Kueue turns off to
// start it. The server takes such a field from us when somebody else changes its
// value (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers).
// Until then it is ours: an apply that left it out would remove it, and start
// the job past its queue.

// Released returns those of paths that we applied and that manager no longer
// owns in live. Where manager owns nothing at all, its record was lost, not the
// fields. Each path is the names of fields, and goes through no list.
func (a Applied) Released(live *unstructured.Unstructured, manager string, paths [][]string) ([][]string, error) {
	owned, found, err := Owned(live, manager)
	if err != nil || !found || a.Set == nil {
		return nil, err
	}
	var released [][]string
	for _, names := range paths {
		path := named(names)
		if a.Set.Has(path) && !owned.Has(path) {
			released = append(released, names)
		}
	}
	return released, nil
}

// Without returns the memory without the fields at paths, so that they are no
// longer drift and are not sent again. Maps that are left empty go too.
func (a Applied) Without(paths [][]string) Applied {
	if len(paths) == 0 {
		return a
	}
	out := Applied{Object: runtime.DeepCopyJSON(a.Object), Admitted: maps.Clone(a.Admitted), Set: a.Set, Recorded: a.Recorded, Shared: a.Shared}
	gone := fieldpath.NewSet()
	for _, names := range paths {
		path := named(names)
		gone.Insert(path)
		delete(out.Admitted, String(path))
		prune(out.Object, names)
	}
	if a.Set != nil {
		out.Set = a.Set.RecursiveDifference(gone)
	}
	return out
}

func named(names []string) fieldpath.Path {
	path := make(fieldpath.Path, len(names))
	for i, name := range names {
		path[i] = fieldpath.FieldNameElement(name)
	}
	return path
}

// prune removes the field at names, and what it leaves empty.
func prune(obj map[string]any, names []string) {
	if len(names) == 0 {
		return
	}
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
