package fields

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// AppliedAgain reports whether changes come from a later apply of ours that is not recorded. If so, it returns those
// fields of the set that we own in live. A changed value of which we are the only owner proves such an apply,
// because the server makes other clients the owners of what they change. A removed field proves nothing.
func (a Applied) AppliedAgain(live *unstructured.Unstructured, changes []Change) (*fieldpath.Set, bool, error) {
	owned, found, err := Owned(live)
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

// WithGained returns the record with the fields that a later apply of ours has added and that is not recorded, with
// their live values, and a change for each of them. Without such fields, it returns the record itself. Fields of except
// are not counted.
func (a Applied) WithGained(live *unstructured.Unstructured, except *fieldpath.Set) (Applied, []Change) {
	gained := fieldpath.NewSet()
	eachUnknown(make(fieldpath.Path, 0, maxDepth), ownedFields(live), a.Set, func(path fieldpath.Path) {
		if now, hasIt := lookup(live.Object, path); hasIt && !except.Has(path) && !a.has(path, now) {
			gained.Insert(path.Copy())
		}
	})
	if gained.Empty() {
		return a, nil
	}
	a.Object, a.Admitted = runtime.DeepCopyJSON(a.Object), maps.Clone(a.Admitted)
	a.Set = a.Set.Union(gained)
	for _, path := range Paths(gained) {
		if now, _ := lookup(live.Object, path); !hasChildren(gained, path) {
			a.Object, _ = set(a.Object, path, runtime.DeepCopyJSONValue(now)).(map[string]any)
		}
	}
	var changes []Change
	for _, path := range named(gained) {
		changes = append(changes, Change{Path: String(path), Gained: true, path: path})
		if isItem(path) {
			list := path[:len(path)-1]
			a.Object = inOrderOf(live.Object, a.Object, list, keys(within(a.Set, list)))
			delete(a.Admitted, String(list))
		}
	}
	return a, changes
}

// has reports whether the field was sent with this value, or contains other fields of ours. The server may have
// recorded it in another granularity since, because the schema of its type has changed.
func (a Applied) has(path fieldpath.Path, now any) bool {
	e := a.expected(path)
	return hasChildren(a.Set, path) || e.wasSent && e.matchedBy(now, locationOf(path, a.Shared))
}

// maxDepth is more than the depth of nearly all fields, so that a path is allocated once.
const maxDepth = 20

// ownedFields returns the fields of obj that we own by server-side apply, as the decoded JSON of FieldsV1. Most
// objects have no unknown field, which is seen in it in a fraction of the time that its set would take.
func ownedFields(obj *unstructured.Unstructured) map[string]any {
	for _, entry := range kind.ListAt(obj.Object, "metadata", "managedFields") {
		if entry["manager"] == manager && entry["operation"] == "Apply" && kind.TextAt(entry, "subresource") == "" {
			return kind.FieldsAt(entry, "fieldsV1")
		}
	}
	return nil
}

// eachUnknown calls visit for each field in the decoded JSON of FieldsV1 that a set lacks.
func eachUnknown(at fieldpath.Path, fieldsV1 map[string]any, set *fieldpath.Set, visit func(fieldpath.Path)) {
	for key, value := range fieldsV1 {
		if key == "." {
			continue // the field itself
		}
		pe, err := fieldpath.DeserializePathElement(key)
		if err != nil {
			continue // of a newer server
		}
		inner, _ := value.(map[string]any)
		path := append(at, pe) //nolint:gocritic // the next one overwrites it, so visit copies it
		if _, member := inner["."]; (member || len(inner) == 0) && !set.Members.Has(pe) {
			visit(path)
		}
		eachUnknown(path, inner, set.WithPrefix(pe), visit)
	}
}
