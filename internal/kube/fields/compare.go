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
	// Equal means that applying the object changes no field.
	Equal
	// Undecided means that the two differ only inside atomic values, in fields that the server may have set to their
	// defaults. A dry run decides.
	Undecided
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
	c := comparison{}
	switch {
	case !c.children(next, live, set):
		return Different
	case c.undecided:
		return Undecided
	default:
		return Equal
	}
}

type comparison struct {
	undecided bool
}

// children compares two maps, or two lists whose items have keys.
func (c *comparison) children(next, live any, set *fieldpath.Set) bool {
	elements := elements(set)
	for _, pe := range elements {
		wanted, wants := child(next, pe)
		is, has := child(live, pe)
		inner, hasInner := set.Children.Get(pe)
		switch {
		case hasInner && !c.children(wanted, is, inner), !hasInner && !c.leaf(wanted, wants, is, has):
			return false
		}
	}
	switch next := next.(type) {
	case map[string]any:
		for name := range next {
			if !contains(set, fieldpath.FieldNameElement(name)) {
				return false
			}
		}
	case []any:
		is, _ := live.([]any)
		return len(next) == len(is) && slices.Equal(names(next, elements), names(is, elements))
	}
	return true
}

func contains(set *fieldpath.Set, pe fieldpath.PathElement) bool {
	_, isParent := set.Children.Get(pe)
	return isParent || set.Members.Has(pe)
}

// leaf compares the values of an atomic field.
func (c *comparison) leaf(wanted any, wants bool, is any, has bool) bool {
	switch {
	case wants && has:
		return c.value(wanted, is)
	case wants:
		return Empty(wanted)
	default:
		return !has
	}
}

// value compares two values for whose contents no ownership is recorded.
func (c *comparison) value(wanted, is any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		return ok && c.mapValue(wanted, is)
	case []any:
		is, ok := is.([]any)
		return ok && slices.EqualFunc(wanted, is, c.value)
	default:
		return equal(wanted, is)
	}
}

// mapValue compares two maps like value. A key that only one of them has leaves the result undecided, unless it is
// wanted and not empty.
func (c *comparison) mapValue(wanted, is map[string]any) bool {
	for key := range is {
		if _, wants := wanted[key]; !wants {
			c.undecided = true
		}
	}
	for key, item := range wanted {
		value, has := is[key]
		switch {
		case has && !c.value(item, value), !has && !Empty(item):
			return false
		case !has:
			c.undecided = true
		}
	}
	return true
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
