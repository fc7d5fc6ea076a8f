package fields

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// AppliedAgain reports whether changes come from a later apply of manager that is not recorded. If so, it returns those
// fields of the set that manager owns in live. A changed value of which manager is the only owner proves such an apply,
// because the server makes other clients the owners of what they change. A removed field proves nothing.
func (a Applied) AppliedAgain(
	live *unstructured.Unstructured, manager string, changes []Change,
) (*fieldpath.Set, bool, error) {
	owned, found, err := Owned(live, manager)
	if !found {
		return nil, false, err
	}
	isForeign := func(c Change) bool { return c.Added || c.Manager != "" }
	proves := func(c Change) bool {
		return !c.Removed && !c.Reordered && (owned.Has(c.path) || hasChildren(owned, c.path))
	}
	if slices.ContainsFunc(changes, isForeign) || !slices.ContainsFunc(changes, proves) {
		return nil, false, nil
	}
	return a.Set.Intersection(owned), true, nil
}
