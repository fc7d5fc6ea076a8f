package fields

import (
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
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
			for manager, owned := range map[string]string{manager: c.ours, "kubectl": c.theirs} {
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
			_, changes := applied.Drift(live)
			remaining, again, err := applied.AppliedAgain(live, changes)
			if err != nil || again != c.again {
				t.Fatalf("%t, %v, changes %v", again, err, changes)
			}
			if again && string(Format(remaining)) != c.remains {
				t.Errorf("remaining fields %s, want %s", Format(remaining), c.remains)
			}
		})
	}
}

// A later apply can add items anywhere in a list.
func TestGainedFieldsAreThoseOfALaterApply(t *testing.T) {
	t.Parallel()
	item := func(name string) string { return `"k:{\"name\":\"` + name + `\"}":{".":{},"f:name":{},"f:value":{}}` }
	env := func(names ...string) any {
		var out []any
		for _, name := range names {
			out = append(out, map[string]any{"name": name, "value": "$(A)"})
		}
		return out
	}
	for name, c := range map[string]struct {
		set, owned string
		sent, live map[string]any
		gained     []string
		changes    int // that are drift as well
	}{
		"nothing": {set: `{"f:a":{}}`, owned: `{"f:a":{}}`, sent: map[string]any{"a": "1"},
			live: map[string]any{"a": "1", "b": "2"}},
		"an item between others": {set: `{"f:env":{` + item("A") + `,` + item("C") + `}}`,
			owned: `{"f:env":{` + item("A") + `,` + item("B") + `,` + item("C") + `}}`,
			sent:  map[string]any{"env": env("A", "C")}, live: map[string]any{"env": env("A", "B", "C")},
			gained: []string{`env["B"]`}},
		"a struct, without what others have added to it": {set: `{"f:a":{}}`, owned: `{"f:a":{},"f:b":{"f:c":{}}}`,
			sent: map[string]any{"a": "1"}, live: map[string]any{"a": "1", "b": map[string]any{"c": "1", "d": "2"}},
			gained: []string{"b.c"}},
		"a field of an empty struct": {set: `{"f:b":{}}`, owned: `{"f:b":{"f:c":{}}}`,
			sent: map[string]any{"b": map[string]any{}}, live: map[string]any{"b": map[string]any{"c": "1"}},
			gained: []string{"b.c"}},
		"an excepted field": {set: `{"f:a":{}}`, owned: `{"f:a":{},"f:mark":{}}`, sent: map[string]any{"a": "1"},
			live: map[string]any{"a": "1", "mark": "x"}},
		"a map that is no longer atomic": {set: `{"f:b":{}}`, owned: `{"f:b":{"f:c":{}}}`,
			sent: map[string]any{"b": map[string]any{"c": "1"}}, live: map[string]any{"b": map[string]any{"c": "1"}}},
		"a map that has become atomic": {set: `{"f:b":{"f:c":{}}}`, owned: `{"f:b":{}}`,
			sent: map[string]any{"b": map[string]any{"c": "1"}}, live: map[string]any{"b": map[string]any{"c": "1"}}},
		"a field with another change": {set: `{"f:a":{}}`, owned: `{"f:a":{},"f:b":{}}`,
			sent: map[string]any{"a": "1"}, live: map[string]any{"a": "9", "b": "2"},
			gained: []string{"b"}, changes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := &unstructured.Unstructured{Object: c.live}
			live.SetManagedFields([]metav1.ManagedFieldsEntry{
				{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
					FieldsV1: metav1.NewFieldsV1(`{"f:other":{}}`)},
				{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status",
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:other":{}}`)},
				{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
					FieldsV1: metav1.NewFieldsV1(c.owned)},
			})
			c.live["other"] = "theirs"
			set, err := Parse([]byte(c.set))
			if err != nil {
				t.Fatal(err)
			}
			applied := Applied{Object: c.sent, Set: set, Recorded: true, Admitted: map[string]any{"env": []any{"x"}}}
			mark := fieldpath.NewSet(fieldpath.MakePathOrDie("mark"))
			with, changes := applied.WithGained(live, mark)
			var gained []string
			for _, change := range changes {
				gained = append(gained, change.Path)
			}
			doc, drift := with.Drift(live)
			if !slices.Equal(gained, c.gained) || len(drift) != c.changes {
				t.Fatalf("gained %q, drift %v", gained, drift)
			}
			if gained == nil {
				return
			}
			delete(c.live, "metadata")
			delete(c.live, "other")
			if b, ok := c.live["b"].(map[string]any); ok {
				delete(b, "d")
			}
			if !reflect.DeepEqual(doc, c.live) {
				t.Errorf("%v, want %v", doc, c.live)
			}
		})
	}
}
