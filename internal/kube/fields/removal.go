package fields

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An apply that omits a field removes it only if no other manager owns it
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields and the preceding
// sections). Others own fields of ours after an adoption, and after another client edited a field:
//
//  - An entry of operation Update states only which client wrote the field last. It is therefore deleted for the fields
//    to remove.
//  - An entry of operation Apply, or one of a subresource such as scale, belongs to a manager that continues to manage
//    the field. It is preserved, and the field with it.

// ClaimRemoved returns the managedFields of live changed so that we own the fields of removed by apply, and
// no manager owns them by update, nor by apply if the object is adopted. It returns false if nothing changes.
func ClaimRemoved(
	live *unstructured.Unstructured, removed *fieldpath.Set, adopted bool,
) ([]metav1.ManagedFieldsEntry, bool, error) {
	removed = present(live, removed)
	if removed.Empty() {
		return nil, false, nil
	}
	entries, changed, err := withoutFields(live, removed, func(entry metav1.ManagedFieldsEntry) bool {
		return adopted || entry.Operation == metav1.ManagedFieldsOperationUpdate
	})
	if err != nil {
		return nil, false, err
	}
	own := slices.IndexFunc(entries, isOurs)
	if own < 0 {
		own, entries = len(entries), append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: live.GetAPIVersion(),
			FieldsType: "FieldsV1",
		})
	}
	ours, err := Decode(entries[own])
	if err != nil {
		return nil, false, err
	}
	all := ours.Union(removed)
	entries[own].FieldsV1 = metav1.NewFieldsV1(string(Format(all)))
	return entries, changed || !all.Equals(ours), nil
}

// TakeOver returns the managedFields of live changed so that only we own the fields that we apply;
// subresources are not changed. It returns false if nothing changes. It is for the adoption of an object: any
// manager that applies the fields again owns them again.
func TakeOver(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
	ours, found, err := Owned(live)
	if !found {
		return nil, false, err
	}
	return withoutFields(live, ours.Leaves(), func(metav1.ManagedFieldsEntry) bool { return true })
}

// RetainedField is a field that remains in an object although it is no longer applied.
type RetainedField struct {
	Path        string // in the format of String
	Manager     string // the owner
	Subresource string // the subresource of the owner; "" for the object itself
}

// Retained returns the fields of removed that live has and that others manage. Only these managers can remove them.
func Retained(live *unstructured.Unstructured, removed *fieldpath.Set) ([]RetainedField, error) {
	var retained []RetainedField
	for _, entry := range live.GetManagedFields() {
		if isOurs(entry) || entry.Subresource == "" &&
			entry.Operation == metav1.ManagedFieldsOperationUpdate {
			continue
		}
		theirs, err := Decode(entry)
		if err != nil {
			return nil, err
		}
		for _, path := range named(theirs.Intersection(removed)) {
			retained = append(retained, RetainedField{Path: String(path), Manager: entry.Manager,
				Subresource: entry.Subresource})
		}
	}
	return retained, nil
}

// named returns the fields of a set that a message names: list items without the fields in them, and leaves.
func named(set *fieldpath.Set) []fieldpath.Path {
	var out []fieldpath.Path
	for _, path := range Paths(set) {
		within := func(item fieldpath.Path) bool { return isItem(item) && isPrefix(item, path) }
		if (isItem(path) || !hasChildren(set, path)) && !slices.ContainsFunc(out, within) {
			out = append(out, path)
		}
	}
	return out
}

// isOurs reports whether an entry contains the fields that we own by server-side apply.
func isOurs(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// present returns the fields of set that obj has.
func present(obj *unstructured.Unstructured, set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, path := range Paths(set) {
		if _, there := lookup(obj.Object, path); there {
			out.Insert(path)
		}
	}
	return out
}

// withoutFields returns the managedFields of live without set, in the entries of others for the object itself that
// mayTake selects. A list item is taken with everything in it, because the rest of it would not be a valid item.
func withoutFields(
	live *unstructured.Unstructured, set *fieldpath.Set, mayTake func(metav1.ManagedFieldsEntry) bool,
) ([]metav1.ManagedFieldsEntry, bool, error) {
	items := fieldpath.NewSet()
	for _, path := range Paths(set) {
		if isItem(path) {
			items.Insert(path)
		}
	}
	var out []metav1.ManagedFieldsEntry
	changed := false
	for _, entry := range live.GetManagedFields() {
		if isOurs(entry) || entry.Subresource != "" || !mayTake(entry) {
			out = append(out, entry)
			continue
		}
		theirs, err := Decode(entry)
		if err != nil {
			return nil, false, err
		}
		rest := theirs.Difference(set).RecursiveDifference(items)
		if rest.Equals(theirs) {
			out = append(out, entry)
			continue
		}
		changed = true
		if rest.Empty() {
			continue
		}
		entry.FieldsV1 = metav1.NewFieldsV1(string(Format(rest)))
		out = append(out, entry)
	}
	return out, changed, nil
}

// An apply that omits a field of its manager removes it, and the API server sets its default. A field that another
// client shall set from now on, such as the number of pods by an autoscaler, is given up before
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership). The second manager of
// that page would remain an owner.

// Leave returns the managedFields of live changed so that we no longer own a field. It returns false if nothing
// changes. The path consists of field names, and contains no list.
func Leave(live *unstructured.Unstructured, field []string) ([]metav1.ManagedFieldsEntry, bool, error) {
	entries, changed := live.GetManagedFields(), false
	for i, entry := range entries {
		if !isOurs(entry) {
			continue
		}
		ours, err := Decode(entry)
		if err != nil {
			return nil, false, err
		}
		if ours.Has(fieldPath(field)) {
			entries[i].FieldsV1, changed = metav1.NewFieldsV1(string(Format(Without(ours, field)))), true
		}
	}
	return entries, changed, nil
}

// Without returns a set without a field.
func Without(set *fieldpath.Set, field []string) *fieldpath.Set {
	return set.Difference(fieldpath.NewSet(fieldPath(field)))
}
