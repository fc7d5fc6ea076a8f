package compute

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// stored returns a Deployment as the API server stores it, without the zeros that its type omits.
func stored(t *testing.T, sent map[string]any) (*unstructured.Unstructured, bool) {
	t.Helper()
	var typed appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(sent, &typed); err != nil {
		return nil, false
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}, true
}

func deploymentWith(f apiField, value any) map[string]any {
	object := f.with(value)
	object["apiVersion"], object["kind"] = "apps/v1", "Deployment"
	if object["metadata"] == nil {
		object["metadata"] = map[string]any{"name": "trainer", "namespace": "ml"}
	}
	return object
}

// deleteAt removes a field. It reports whether the field existed.
func deleteAt(object any, path []string) bool {
	for _, step := range path[:len(path)-1] {
		switch at := object.(type) {
		case map[string]any:
			object = at[step]
		case []any:
			object = at[0]
		}
	}
	at, ok := object.(map[string]any)
	if !ok {
		return false
	}
	_, there := at[path[len(path)-1]]
	delete(at, path[len(path)-1])
	return there
}

func TestDriftOfEveryExplicitZeroShows(t *testing.T) {
	t.Parallel()
	converter := applyconfigurations.NewTypeConverter(scheme.Scheme)
	owned := func(object map[string]any) (*fieldpath.Set, error) {
		typed, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: object})
		if err != nil {
			return nil, err
		}
		return typed.ToFieldSet()
	}
	tested, removed := 0, 0
	for _, f := range fieldsOf(reflect.TypeFor[appsv1.Deployment](), nil) {
		if f.path[0] != "spec" || isKey(f) {
			continue
		}
		sent := deploymentWith(f, f.zero)
		set, err := owned(sent)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		live, ok := stored(t, sent)
		if !ok {
			continue // not a valid value of this field
		}
		raw := fields.Format(set)
		record := []metav1.ManagedFieldsEntry{{
			Manager: kube.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(raw)),
		}}
		live.SetManagedFields(record)
		applied, _ := fields.Admit(sent, live, set)
		tested++
		if _, changes := applied.Drift(live); len(changes) > 0 {
			t.Errorf("%s: no change, but drift %v", f, changes)
		}
		if other, ok := stored(t, deploymentWith(f, f.other)); ok {
			other.SetManagedFields(record)
			if _, changes := applied.Drift(other); len(changes) == 0 {
				t.Errorf("%s: no drift for %v instead of %v", f, f.other, f.zero)
			}
		}
		if gone := live.DeepCopy(); deleteAt(gone.Object, f.path) {
			removed++
			if _, changes := applied.Drift(gone); len(changes) == 0 {
				t.Errorf("%s: no drift if %v is removed", f, f.zero)
			}
		}
	}
	if tested < 500 || removed < 50 {
		t.Errorf("only %d fields tested, %d of them stored", tested, removed)
	}
}

// isKey reports whether a field identifies the list item that contains it.
func isKey(f apiField) bool {
	last := f.path[len(f.path)-1]
	return strings.Contains("*-", f.path[len(f.path)-2]) &&
		strings.Contains(" name mountPath devicePath ip topologyKey containerPort protocol key type uid "+
			"whenUnsatisfiable ", " "+last+" ")
}
