package kube

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// applied returns a Deployment after an apply by a manager, with the annotation
// of that creation.
func applied(manager, id string) *unstructured.Unstructured {
	obj := MarkUnfinished(kubetest.Deployment("1", 0), id)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(
			`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}},"f:spec":{"f:replicas":{}}}`),
	}})
	return obj
}

func TestOnlyAnAnnotationAppliedByTheProviderMeansUnfinished(t *testing.T) {
	t.Parallel()
	if got := UnfinishedCreation(applied(Manager, "a")); got != "a" {
		t.Errorf("the creation is %q, want a", got)
	}
	if got := UnfinishedCreation(applied("kubectl-rollout", "a")); got != "" {
		t.Errorf("the annotation of another client is creation %q", got)
	}
	if got := UnfinishedCreation(kubetest.Deployment("1", 0)); got != "" {
		t.Errorf("an object without the annotation is creation %q", got)
	}
}

func TestAnnotationIsNotAmongTheRememberedFields(t *testing.T) {
	t.Parallel()
	set, ours, err := OwnedFields(applied(Manager, "a"))
	if want := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas")); err != nil || !ours || !set.Equals(want) {
		t.Errorf("fields %v, ours %t, error %v; want %v", set, ours, err, want)
	}
}

func TestCreationIsKnownByItsAnnotations(t *testing.T) {
	t.Parallel()
	marked := MarkCreation(kubetest.Deployment("1", 0), "b")
	marked.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: Manager,
		Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1:  metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:kt.dev/creation":{}}}}`)}})
	broken := marked.DeepCopy()
	broken.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: Manager,
		Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1:  metav1.NewFieldsV1(`[]`)}})
	for name, test := range map[string]struct {
		obj            *unstructured.Unstructured
		creation, mark string
	}{
		"an unfinished object":             {applied(Manager, "a"), "a", ""},
		"an additional object":             {marked, "b", "b"},
		"an object of another client":      {applied("kubectl-rollout", "a"), "", ""},
		"an object with unreadable fields": {broken, "", ""},
		"no annotation":                    {kubetest.Deployment("1", 0), "", ""},
	} {
		if creation, mark := CreationOf(test.obj), MarkedCreation(test.obj); creation != test.creation ||
			mark != test.mark {
			t.Errorf("%s: %q and %q, want %q and %q", name, creation, mark, test.creation, test.mark)
		}
	}
	if _, ours, err := OwnedFields(broken); ours || err == nil {
		t.Errorf("unreadable fields: %t, %v", ours, err)
	}
	if _, ours, err := OwnedFields(applied("kubectl", "a")); ours || err != nil {
		t.Errorf("fields of another client: %t, %v", ours, err)
	}
	if set, _, err := OwnedFields(marked); err != nil || !set.Empty() {
		t.Errorf("fields %v, %v", set, err)
	}
	a, b := NewCreationID(), NewCreationID()
	if a == b || len(a) < 20 || strings.ToLower(a) != a {
		t.Errorf("the creations %q and %q", a, b)
	}
}

func TestObjectWithoutTheAnnotationIsAsBeforeIt(t *testing.T) {
	t.Parallel()
	plain := kubetest.Deployment("1", 0)
	if got := withoutUnfinished(MarkUnfinished(plain, "a")); !reflect.DeepEqual(got, plain) {
		t.Errorf("got %v", got)
	}
	noted := kubetest.Deployment("1", 0)
	noted.SetAnnotations(map[string]string{"note": "x"})
	if got := withoutUnfinished(MarkUnfinished(noted, "a")); !reflect.DeepEqual(got, noted) {
		t.Errorf("got %v", got)
	}
	if got := withoutUnfinished(plain); got != plain {
		t.Error("an object without the annotation was copied")
	}
}
