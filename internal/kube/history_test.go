package kube

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestLastChangeIsTheLatestOfAllWrites(t *testing.T) {
	t.Parallel()
	at := func(second int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC)}
	}
	for want, writes := range map[int][]*metav1.Time{1: {nil, at(0)}, 5: {at(2), nil, at(5), at(3)}} {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetCreationTimestamp(*at(1))
		var entries []metav1.ManagedFieldsEntry
		for _, when := range writes {
			entries = append(entries, metav1.ManagedFieldsEntry{Manager: "a", Time: when})
		}
		obj.SetManagedFields(entries)
		if got := LastChange(obj); !got.Equal(at(want).Time) {
			t.Errorf("%v, want second %d", got, want)
		}
	}
}

func TestHistoryOfACreationIsThatOfNoOtherObject(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later := metav1.NewTime(at.Add(time.Second))
	elsewhere := metav1.NewTime(at.In(time.FixedZone("east", 3600)))
	entry := func(manager string, when metav1.Time, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Time: &when,
			APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set)}
	}
	updated := func(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		e.Operation = metav1.ManagedFieldsOperationUpdate
		return e
	}
	history := func(id string, entries ...metav1.ManagedFieldsEntry) string {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetAnnotations(map[string]string{CreationAnnotation: id})
		obj.SetManagedFields(entries)
		out, err := CreationHistory(obj)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const (
		marked = `{"f:metadata":{"f:annotations":{"f:kt.dev/creation":{},"f:kt.dev/unfinished":{}}},` +
			`"f:data":{"f:A":{}}}`
		data = `{"f:metadata":{"f:annotations":{"f:kt.dev/creation":{}}},"f:data":{"f:A":{}}}`
		// with the map itself, as the server records it for some writes
		emptied   = `{"f:metadata":{"f:annotations":{".":{},"f:kt.dev/creation":{}}},"f:data":{"f:A":{}}}`
		annotated = `{"f:metadata":{"f:annotations":{"f:a":{},"f:kt.dev/creation":{}}},"f:data":{"f:A":{}}}`
		without   = `{"f:data":{"f:A":{}}}`
	)
	created := history("some", entry(Manager, at, marked))
	if created == "" {
		t.Error("the created object has no history")
	}
	for name, same := range map[string]string{
		"removed":              history("some", entry(Manager, at, data)),
		"emptied":              history("some", entry(Manager, at, emptied)),
		"in another time zone": history("some", entry(Manager, elsewhere, data)),
	} {
		if same != created {
			t.Errorf("%s: another history", name)
		}
	}
	for name, other := range map[string]string{
		"applied again":           history("some", entry(Manager, later, data)),
		"by another state":        history("other", entry(Manager, at, data)),
		"without its annotation":  history("some", entry(Manager, at, without)),
		"taken by another":        history("some", entry(Manager, at, data), entry("kubectl", later, data)),
		"in the same second":      history("some", entry(Manager, at, data), entry("kubectl", at, data)),
		"an update":               history("some", updated(entry(Manager, at, data))),
		"and updated":             history("some", entry(Manager, at, data), updated(entry(Manager, at, data))),
		"other annotation":        history("some", entry(Manager, at, annotated)),
		"managed fields reset":    history("some"),
		"other manager, same set": history("some", entry("kubectl", at, data)),
	} {
		if other == created {
			t.Errorf("%s: the history is the same", name)
		}
	}
}
