package kube

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHistoryChangesWithEveryWriteButTheRemovalOfTheAnnotation(t *testing.T) {
	t.Parallel()
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	later := metav1.NewTime(at.Add(time.Second))
	entry := func(manager string, when metav1.Time, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Time: &when,
			APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(set)}
	}
	history := func(entries ...metav1.ManagedFieldsEntry) string {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetManagedFields(entries)
		out, err := HistoryOf(obj)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const (
		marked = `{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}},"f:data":{"f:A":{}}}`
		data   = `{"f:data":{"f:A":{}}}`
		// with the map itself, as the server records it for some writes
		emptied   = `{"f:metadata":{"f:annotations":{".":{}}},"f:data":{"f:A":{}}}`
		annotated = `{"f:metadata":{"f:annotations":{"f:a":{}}},"f:data":{"f:A":{}}}`
	)
	created := history(entry(Manager, at, marked))
	if created == "" {
		t.Error("an object with managed fields has no history")
	}
	for name, entries := range map[string][]metav1.ManagedFieldsEntry{
		"removed": {entry(Manager, at, data)}, "emptied": {entry(Manager, at, emptied)},
	} {
		if history(entries...) != created {
			t.Errorf("%s: the removal of the annotation changes the history", name)
		}
	}
	for name, entries := range map[string][]metav1.ManagedFieldsEntry{
		"applied again":           {entry(Manager, later, data)},
		"taken by another":        {entry(Manager, at, `{}`), entry("kubectl", later, data)},
		"other key":               {entry(Manager, at, data), entry("kubectl", later, `{"f:data":{"f:B":{}}}`)},
		"key removed":             {entry(Manager, at, `{}`)},
		"other annotation":        {entry(Manager, at, annotated)},
		"managed fields reset":    {},
		"other manager, same set": {entry("kubectl", at, data)},
	} {
		if history(entries...) == created {
			t.Errorf("%s: the history is the same", name)
		}
	}
}
