package fields

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An apply that omits a field of its manager removes it, and the API server sets its default. A field that another
// client shall set from now on, such as the number of pods by an autoscaler, is given up before
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership). The second manager of
// that page would remain an owner.

// Leave returns the managedFields of live changed so that manager no longer owns a field. It returns false if nothing
// changes. The path consists of field names, and contains no list.
func Leave(
	live *unstructured.Unstructured, manager string, field []string,
) ([]metav1.ManagedFieldsEntry, bool, error) {
	entries, changed := live.GetManagedFields(), false
	for i, entry := range entries {
		if !applies(entry, manager) {
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
