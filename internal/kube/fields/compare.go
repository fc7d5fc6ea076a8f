package fields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Match is the result of [Compare].
type Match int

const (
	// Different means that applying the object changes a field.
	Different Match = iota
	// Undecided means that the two differ only inside atomic values, in fields that the server may have set to their
	// defaults. A dry run decides.
	Undecided
	// Equal means that applying the object changes no field.
	Equal
)

// Compare reports whether applying next would change a field of live. live contains the values of the fields in set.
// next may add fields to these, or omit some.
//
// A field that live lacks equals a zero or empty value only if it is in set: the server recorded that it was
// applied, and its type does not store zeros. Any other zero is a value that was never applied.
func Compare(next, live map[string]any, set *fieldpath.Set) Match {
	for _, names := range identity() {
		set = set.Union(fieldpath.NewSet(fieldPath(names)))
	}
	return compareChildren(next, live, set)
}

// compareChildren compares two maps, or two lists whose items have keys.
func compareChildren(next, live any, set *fieldpath.Set) Match {
	match, elements := Equal, elements(set)
	for _, pe := range elements {
		wanted, wants := child(next, pe)
		is, has := child(live, pe)
		if inner, hasInner := set.Children.Get(pe); hasInner {
			match = min(match, compareChildren(wanted, is, inner))
		} else {
			match = min(match, compareLeaf(wanted, wants, is, has))
		}
	}
	switch next := next.(type) {
	case map[string]any:
		for name := range next {
			pe := fieldpath.FieldNameElement(name)
			if _, isParent := set.Children.Get(pe); !isParent && !set.Members.Has(pe) {
				return Different
			}
		}
	case []any:
		is, _ := live.([]any)
		if len(next) != len(is) || !slices.Equal(names(next, elements), names(is, elements)) {
			return Different
		}
	}
	return match
}

// compareLeaf compares the values of an atomic field, for whose contents no ownership is recorded. It is undecided
// about what only one of them has inside, unless that is wanted and not empty.
func compareLeaf(wanted any, wants bool, is any, has bool) Match {
	switch {
	case wants && has && equal(wanted, is), wants && !has && Empty(wanted), !wants && !has:
		return Equal
	case wants && has && isContainer(wanted) && expectSent(wanted).matchedBy(is, location{shared: true}):
		return Undecided
	}
	return Different
}

// SameContent reports whether two versions of an object differ only in status and in the metadata that the server
// writes at each update.
func SameContent(a, b *unstructured.Unstructured) bool {
	return equal(Content(a), Content(b))
}

// Content returns an object without status, and without the metadata that the server writes at each update.
func Content(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy()
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	return out.Object
}
