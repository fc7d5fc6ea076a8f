package fields

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestOnlyAValueThatNobodyElseOwnsProvesALaterApply(t *testing.T) {
	t.Parallel()
	const both, label, order = `{"f:spec":{"f:a":{},"f:b":{}}}`, `{"f:spec":{"f:a":{}}}`, `{"f:spec":{"f:list":{}}}`
	for name, c := range map[string]struct {
		ours, theirs string // FieldsV1 in live
		spec         map[string]any
		set, remains string
		again        bool
	}{
		"nothing changed": {ours: both, spec: map[string]any{"a": "1", "b": "2"}, set: both},
		"a changed value": {ours: both, spec: map[string]any{"a": "9", "b": "2"}, set: both, remains: both,
			again: true},
		"a changed value and a removed one": {ours: label, spec: map[string]any{"a": "9"}, set: both, remains: label,
			again: true},
		"a removed value":                        {ours: label, spec: map[string]any{"a": "1"}, set: both},
		"a removed value that is still recorded": {ours: both, spec: map[string]any{"a": "1"}, set: both},
		"a value that another client owns as well": {ours: both, theirs: label,
			spec: map[string]any{"a": "9", "b": "2"}, set: both},
		"two values, one of another client": {ours: `{"f:spec":{"f:b":{}}}`, theirs: label,
			spec: map[string]any{"a": "9", "b": "9"}, set: both},
		"a value that the provider no longer owns": {ours: label, spec: map[string]any{"a": "1", "b": "9"}, set: both},
		"a changed list": {ours: order,
			spec: map[string]any{"list": []any{"9"}}, set: order, remains: order, again: true},
		"no fields at all": {ours: "", spec: map[string]any{"a": "9"}, set: both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &unstructured.Unstructured{Object: map[string]any{"spec": c.spec}}
			var entries []metav1.ManagedFieldsEntry
			for manager, owned := range map[string]string{"provider": c.ours, "kubectl": c.theirs} {
				if owned != "" {
					entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, FieldsType: "FieldsV1",
						Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(owned)})
				}
			}
			live.SetManagedFields(entries)
			set, err := Parse([]byte(c.set))
			if err != nil {
				t.Fatal(err)
			}
			sent := map[string]any{"spec": map[string]any{"a": "1", "b": "2", "list": []any{"1"}}}
			applied := Applied{Object: sent, Set: set, Recorded: true}
			_, changes := applied.Drift(live, "provider")
			remaining, again, err := applied.AppliedAgain(live, "provider", changes)
			if err != nil || again != c.again {
				t.Fatalf("%t, %v, changes %v", again, err, changes)
			}
			if again && string(Format(remaining)) != c.remains {
				t.Errorf("remaining fields %s, want %s", Format(remaining), c.remains)
			}
		})
	}
}
