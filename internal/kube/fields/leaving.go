package fields

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An apply that leaves a field out removes it only if no other manager owns it
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#clearing-managedfields
// and the sections before). Others own fields of ours after an adoption, and
// after somebody edited a field:
//
//   - A record of an Update says only who wrote the field last. It is no claim
//     for the future, so it is removed for the fields that leave.
//   - A record of an Apply, and one of a subresource such as scale, belong to a
//     manager that goes on managing the field. They are kept, and so is the field.

// Leaving returns the fields of before that are not in after.
func Leaving(before, after *fieldpath.Set) *fieldpath.Set { return before.Difference(after) }

// Contested says whether manager may be unable to remove fields of set from live
// by an apply that leaves them out: another manager updated them, or manager
// does not own them any longer.
func Contested(live *unstructured.Unstructured, manager string, set *fieldpath.Set) (bool, error) {
	entries, changed, err := Claim(live, manager, set)
	return changed && len(entries) > 0, err
}

// Claim returns the managed fields of live in which manager owns the fields of
// leaving, by apply, and nobody by update; false where that is so already.
func Claim(live *unstructured.Unstructured, manager string, leaving *fieldpath.Set) ([]metav1.ManagedFieldsEntry, bool, error) {
	leaving = present(live, leaving)
	if leaving.Empty() {
		return nil, false, nil
	}
	entries, changed, err := without(live, manager, leaving, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationUpdate
	})
	if err != nil {
		return nil, false, err
	}
	own := slices.IndexFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return applies(entry, manager) })
	if own < 0 {
		own, entries = len(entries), append(entries, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: live.GetAPIVersion(), FieldsType: "FieldsV1",
		})
	}
	ours, err := decode(entries[own])
	if err != nil {
		return nil, false, err
	}
	all := ours.Union(leaving)
	if !all.Equals(ours) {
		changed = true
	}
	return entries, changed, encode(&entries[own], all)
}

// TakeOver returns the managed fields of live in which nobody but manager owns
// what manager applies, but for subresources; false where that is so already. It
// is for an object that is adopted: whoever goes on applying it owns the fields
// again after that.
func TakeOver(live *unstructured.Unstructured, manager string) ([]metav1.ManagedFieldsEntry, bool, error) {
	ours, found, err := Owned(live, manager)
	if err != nil || !found {
		return nil, false, err
	}
	return without(live, manager, ours.Leaves(), func(metav1.ManagedFieldsEntry) bool { return true })
}

// Kept is a field that stays in an object although we no longer apply it.
type Kept struct {
	Path        string // as String writes it
	Manager     string // who owns it
	Subresource string // through which; "" for the object itself
}

// Staying returns the fields of leaving that live has and that others manage:
// removing them is up to these.
func Staying(live *unstructured.Unstructured, manager string, leaving *fieldpath.Set) ([]Kept, error) {
	leaving = present(live, leaving)
	var kept []Kept
	for _, entry := range live.GetManagedFields() {
		if applies(entry, manager) || entry.Subresource == "" && entry.Operation == metav1.ManagedFieldsOperationUpdate {
			continue
		}
		theirs, err := decode(entry)
		if err != nil {
			return nil, err
		}
		for _, path := range Paths(theirs.Intersection(leaving).Leaves()) {
			kept = append(kept, Kept{Path: String(path), Manager: entry.Manager, Subresource: entry.Subresource})
		}
	}
	return kept, nil
}

func applies(entry metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// present are the fields of set that obj has.
func present(obj *unstructured.Unstructured, set *fieldpath.Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	for _, path := range Paths(set) {
		if _, there := lookup(obj.Object, path); there {
			out.Insert(path)
		}
	}
	return out
}

// without returns the managed fields of live without set in the records of
// others, as far as these are of the object itself and give way. A list item
// goes with all that is in it: what would be left of it is no item.
func without(live *unstructured.Unstructured, manager string, set *fieldpath.Set, givesWay func(metav1.ManagedFieldsEntry) bool) ([]metav1.ManagedFieldsEntry, bool, error) {
	items := fieldpath.NewSet()
	for _, path := range Paths(set) {
		if isItem(path) {
			items.Insert(path)
		}
	}
	var out []metav1.ManagedFieldsEntry
	changed := false
	for _, entry := range live.GetManagedFields() {
		if applies(entry, manager) || entry.Subresource != "" || !givesWay(entry) {
			out = append(out, entry)
			continue
		}
		theirs, err := decode(entry)
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
		if err := encode(&entry, rest); err != nil {
			return nil, false, err
		}
		out = append(out, entry)
	}
	return out, changed, nil
}

func encode(entry *metav1.ManagedFieldsEntry, set *fieldpath.Set) error {
	raw, err := Format(set)
	if err != nil {
		return err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return nil
}
