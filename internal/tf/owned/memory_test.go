package owned

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// labelled returns a Service with one label, which the manager owns.
func labelled(manager, team string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	return live(manager, append([]func(*unstructured.Unstructured){func(obj *unstructured.Unstructured) {
		obj.SetLabels(map[string]string{"team": team})
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(
				`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}},"f:labels":{"f:team":{}}}}`),
		}})
	}}, change...)...)
}

// If the response to a creation is lost, the object has no entry. A complete object may belong to another state.
func TestRefreshRemembersTheObjectOfACreationWithoutResponse(t *testing.T) {
	t.Parallel()
	sent := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	sent.SetNamespace("ml")
	sent.SetName("x")
	sent.SetLabels(map[string]string{"team": "ml"})
	key := manifest.Key(sent)
	for name, c := range map[string]struct {
		live    *unstructured.Unstructured
		uid     types.UID // in the entry; "" for no entry
		changes int
	}{
		"an unfinished object":                      {labelled(kube.Manager, "ml", unfinished), "u", 0},
		"an unfinished object with a changed label": {labelled(kube.Manager, "web", unfinished), "u", 1},
		"a complete object":                         {labelled(kube.Manager, "ml"), "", 0},
		"an object of another manager":              {labelled("kubectl", "ml"), "", 0},
		"an unfinished object of another manager":   {labelled("kubectl", "ml", unfinished), "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := Memory{}
			first, err := memory.Refresh(key, sent, c.live)
			if err != nil {
				t.Fatal(err)
			}
			entry := memory[key]
			if entry.UID != c.uid || first.MemoryChanged != (c.uid != "") || len(first.Changes) != c.changes {
				t.Errorf("entry %+v, memory changed %t, changes %v", entry, first.MemoryChanged, first.Changes)
			}
			if memory.Applied(key) != (c.uid != "") || (entry.Sent != nil) != (c.changes > 0) {
				t.Errorf("applied %t, sent %s", memory.Applied(key), entry.Sent)
			}
			again, err := memory.Refresh(key, first.Object, c.live)
			if err != nil || again.MemoryChanged || len(again.Changes) != c.changes {
				t.Errorf("next refresh: memory changed %t, changes %v, %v", again.MemoryChanged, again.Changes, err)
			}
		})
	}
}

// Without a response to the creation, it is unknown which empty values the server has stored. Therefore none of them
// is a change.
func TestEmptyValuesOfAnAssumedObjectAreNotChanges(t *testing.T) {
	t.Parallel()
	sent := labelled(kube.Manager, "ml")
	stored := labelled(kube.Manager, "ml", unfinished, func(obj *unstructured.Unstructured) {
		obj.SetLabels(map[string]string{"team": "ml", "empty": ""})
		records := obj.GetManagedFields()
		records[0].FieldsV1 = metav1.NewFieldsV1(
			`{"f:metadata":{"f:labels":{"f:empty":{},"f:team":{}},"f:annotations":{"f:kt.dev/unfinished":{}}}}`)
		obj.SetManagedFields(records)
	})
	memory := Memory{}
	for range 2 {
		fresh, err := memory.Refresh(manifest.Key(sent), sent, stored)
		if err != nil || len(fresh.Changes) > 0 {
			t.Errorf("changes %v, %v", fresh.Changes, err)
		}
	}
	entry := memory[manifest.Key(sent)]
	entry.Assumed = false // as after a response
	memory[manifest.Key(sent)] = entry
	if fresh, err := memory.Refresh(manifest.Key(sent), sent, stored); err != nil || len(fresh.Changes) != 1 {
		t.Errorf("after a response: changes %v, %v", fresh.Changes, err)
	}
}

// Otherwise, the next apply would remove the annotation of the creation from the object.
func TestReleaseOfAFieldKeepsTheRestOfTheEntry(t *testing.T) {
	t.Parallel()
	sent := labelled(kube.Manager, "ml")
	key := manifest.Key(sent)
	both := []byte(`{"f:metadata":{"f:labels":{"f:queue":{},"f:team":{}}}}`)
	sent.SetLabels(map[string]string{"team": "ml", "queue": "a"})
	memory := Memory{key: {UID: "u", Set: both, Creation: "some", Assumed: true}}
	kept, released, err := memory.Release(key, sent, labelled(kube.Manager, "ml"),
		[][]string{{"metadata", "labels", "queue"}})
	if err != nil || !released || kept.GetLabels()["queue"] != "" || kept.GetLabels()["team"] != "ml" {
		t.Fatalf("released %t, kept %v, %v", released, kept, err)
	}
	if entry := memory[key]; entry.UID != "u" || entry.Creation != "some" || !entry.Assumed {
		t.Errorf("entry %+v", entry)
	}
	if marked := memory.Marked(key, kept); marked.GetAnnotations()[kube.CreationAnnotation] != "some" {
		t.Errorf("the next apply sends the annotations %v", marked.GetAnnotations())
	}
}
