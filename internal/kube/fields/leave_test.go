package fields_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

func TestAFieldIsLeftOnlyByItsManager(t *testing.T) {
	t.Parallel()
	const with, without = `{"f:spec":{"f:paused":{},"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, set string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(set)}
	}
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("other", metav1.ManagedFieldsOperationApply, with),
		entry(ours, metav1.ManagedFieldsOperationUpdate, with),
		entry(ours, metav1.ManagedFieldsOperationApply, with),
	})
	left, changed, err := fields.Leave(live, []string{"spec", "replicas"})
	if err != nil || !changed {
		t.Fatalf("changed %v: %v", changed, err)
	}
	for i, want := range []string{with, with, without} {
		if got := left[i].FieldsV1.String(); got != want {
			t.Errorf("entry %d is %s, want %s", i, got, want)
		}
	}
	live.SetManagedFields(left)
	if _, changed, err = fields.Leave(live, []string{"spec", "replicas"}); changed || err != nil {
		t.Errorf("a field that is not owned was left again: %v", err)
	}
}
