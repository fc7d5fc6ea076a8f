package fields

import (
	stdcmp "cmp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

// wholeFields is the set of spec.groups, a list whose schema does not identify items, and of spec.nodeSelector.
func wholeFields() *fieldpath.Set {
	return fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "groups"), fieldpath.MakePathOrDie("spec", "nodeSelector"))
}

func fromYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

const sentGroups = `spec: {groups: [{name: a, size: 2, labels: {team: ml}, empty: 0}], nodeSelector: {zone: x}}`

func TestAdditionsInsideOurListsAreNotDrift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live    string
		shared  bool
		changes []string
		doc     string
	}{
		"defaults and labels in an item": {
			live: `spec: {groups: [{name: a, size: 2, hosts: 1, labels: {team: ml, queue: q}}], nodeSelector: {zone: ` +
				`x}}`,
			doc: sentGroups,
		},
		"a value of ours": {
			live: `spec: {groups: [{name: a, size: 3, hosts: 1, labels: {team: ml, queue: q}}], nodeSelector: {zone: ` +
				`x}}`,
			changes: []string{"spec.groups"},
			doc:     `spec: {groups: [{name: a, size: 3, labels: {team: ml}}], nodeSelector: {zone: x}}`,
		},
		"another item": {
			live:    `spec: {groups: [{name: a, size: 2, labels: {team: ml}}, {name: b}], nodeSelector: {zone: x}}`,
			changes: []string{"spec.groups"},
			doc: `spec: {groups: [{name: a, size: 2, labels: {team: ml}, empty: 0}, {name: b}], nodeSelector: {zone: ` +
				`x}}`,
		},
		"a removed label of ours": {
			live:    `spec: {groups: [{name: a, size: 2, labels: {}}], nodeSelector: {zone: x}}`,
			changes: []string{"spec.groups"},
			doc:     `spec: {groups: [{name: a, size: 2, labels: {}}], nodeSelector: {zone: x}}`,
		},
		"a removed value of ours": {
			live:    `spec: {groups: [{name: a, labels: {team: ml}}], nodeSelector: {zone: x}}`,
			changes: []string{"spec.groups"},
			doc:     `spec: {groups: [{name: a, labels: {team: ml}}], nodeSelector: {zone: x}}`,
		},
		"a map instead of a list": {
			live:    `spec: {groups: {name: a}, nodeSelector: {zone: x}}`,
			changes: []string{"spec.groups"},
			doc:     `spec: {groups: {name: a}, nodeSelector: {zone: x}}`,
		},
		"a list instead of a map": {
			live:    `spec: {groups: [{name: a, size: 2, labels: {team: ml}}], nodeSelector: [x]}`,
			changes: []string{"spec.nodeSelector"},
			doc:     `spec: {groups: [{name: a, size: 2, labels: {team: ml}, empty: 0}], nodeSelector: [x]}`,
		},
		"a foreign node selector": {
			live:    `spec: {groups: [{name: a, size: 2, labels: {team: ml}}], nodeSelector: {zone: x, pool: y}}`,
			changes: []string{"spec.nodeSelector"},
			doc: `spec: {groups: [{name: a, size: 2, labels: {team: ml}, empty: 0}], nodeSelector: {zone: x,` +
				` pool: y}}`,
		},
		"a node selector of the queue": {
			live:   `spec: {groups: [{name: a, size: 2, labels: {team: ml}}], nodeSelector: {zone: x, pool: y}}`,
			shared: true,
			doc:    sentGroups,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applied := Applied{Object: fromYAML(t, sentGroups), Set: wholeFields(), Shared: c.shared}
			doc, found := applied.Drift(&unstructured.Unstructured{Object: fromYAML(t, c.live)})
			var changes []string
			for _, change := range found {
				changes = append(changes, change.Path)
			}
			if diff := cmp.Diff(c.changes, changes); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(withFloats(fromYAML(t, c.doc)), withFloats(doc)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A queue appends the tolerations of its nodes to ours when it admits a workload, also inside lists such as worker
// groups.
func TestTolerationsOfAQueueAreNotDrift(t *testing.T) {
	t.Parallel()
	const sent = `spec: {tolerations: [{key: a}], groups: [{name: g, tolerations: [{key: a}]}], args: [x]}`
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "tolerations"), fieldpath.MakePathOrDie("spec", "groups"),
		fieldpath.MakePathOrDie("spec", "args"))
	for name, c := range map[string]struct {
		live, doc string // doc is sent if empty
		next      string // sent if empty
		merged    string
		shared    bool
	}{
		"after the admission": {
			live: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}, {key: q}]}], ` +
				`args: [x]}`,
			merged: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}, ` +
				`{key: q}]}], args: [x]}`,
			shared: true,
		},
		"a changed one of ours": {
			live: `spec: {tolerations: [{key: b}, {key: q}], groups: [{name: g, tolerations: [{key: a}]}], ` +
				`args: [x]}`,
			doc: `spec: {tolerations: [{key: b}], groups: [{name: g, tolerations: [{key: a}]}], args: [x]}`,
			merged: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}]}], ` +
				`args: [x]}`,
			shared: true,
		},
		"a removed one of ours": {
			live:   `spec: {tolerations: [], groups: [{name: g, tolerations: [{key: a}]}], args: [x]}`,
			doc:    `spec: {tolerations: [], groups: [{name: g, tolerations: [{key: a}]}], args: [x]}`,
			merged: sent,
			shared: true,
		},
		"changed in the configuration": {
			live: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}]}], ` +
				`args: [x]}`,
			next:   `spec: {tolerations: [{key: b}], groups: [{name: g, tolerations: []}], args: [x]}`,
			merged: `spec: {tolerations: [{key: b}, {key: q}], groups: [{name: g, tolerations: []}], args: [x]}`,
			shared: true,
		},
		"added to the configuration": {
			live: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}]}], ` +
				`args: [x]}`,
			next: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}]}], ` +
				`args: [x]}`,
			merged: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}]}], ` +
				`args: [x]}`,
			shared: true,
		},
		"another list": {
			live:   `spec: {tolerations: [{key: a}], groups: [{name: g, tolerations: [{key: a}]}], args: [x, y]}`,
			doc:    `spec: {tolerations: [{key: a}], groups: [{name: g, tolerations: [{key: a}]}], args: [x, y]}`,
			merged: sent,
			shared: true,
		},
		"without a queue": {
			live: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}, {key: q}]}], ` +
				`args: [x]}`,
			doc: `spec: {tolerations: [{key: a}, {key: q}], groups: [{name: g, tolerations: [{key: a}, {key: q}]}], ` +
				`args: [x]}`,
			merged: sent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applied := Applied{Object: fromYAML(t, sent), Set: set, Shared: c.shared}
			live := &unstructured.Unstructured{Object: fromYAML(t, c.live)}
			doc, changes := applied.Drift(live)
			if diff := cmp.Diff(fromYAML(t, stdcmp.Or(c.doc, sent)), doc); diff != "" {
				t.Error(diff)
			}
			if (len(changes) > 0) != (c.doc != "") {
				t.Errorf("changes: %v", changes)
			}
			if _, rewritten := Admit(applied.Object, live, set); (len(rewritten) > 0) != (c.shared && c.doc != "") {
				t.Errorf("rewritten by the server: %v", rewritten)
			}
			merged := applied.MergeForeign(fromYAML(t, stdcmp.Or(c.next, sent)), live)
			if diff := cmp.Diff(fromYAML(t, c.merged), merged); diff != "" {
				t.Errorf("merged:\n%s", diff)
			}
		})
	}
}

func TestMergeForeignKeepsOnlyForeignFields(t *testing.T) {
	t.Parallel()
	before := Applied{Object: fromYAML(t, sentGroups), Set: wholeFields()}
	live := fromYAML(t, `spec: {groups: [{name: a, size: 2, hosts: 1, labels: {team: ml, queue: q}}], nodeSelector: `+
		`{zone: x, pool: y}}`)
	for name, c := range map[string]struct {
		next, want string
		shared     bool
	}{
		"a changed value": {
			next: `spec: {groups: [{name: a, size: 4, labels: {team: ml}}], nodeSelector: {zone: x}}`,
			want: `spec: {groups: [{name: a, size: 4, hosts: 1, labels: {team: ml, queue: q}}], nodeSelector: {zone: ` +
				`x}}`,
		},
		"a removed label": {
			next: `spec: {groups: [{name: a, size: 2, labels: {}}], nodeSelector: {zone: x}}`,
			want: `spec: {groups: [{name: a, size: 2, hosts: 1, labels: {queue: q}}], nodeSelector: {zone: x}}`,
		},
		"another number of items": {
			next: `spec: {groups: [{name: a}, {name: b}], nodeSelector: {zone: x}}`,
			want: `spec: {groups: [{name: a, hosts: 1}, {name: b}], nodeSelector: {zone: x}}`,
		},
		"a queue's node selector": {
			next: `spec: {nodeSelector: {zone: z}}`, shared: true,
			want: `spec: {nodeSelector: {zone: z, pool: y}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := before
			before.Shared = c.shared
			got := before.MergeForeign(fromYAML(t, c.next), &unstructured.Unstructured{Object: live})
			if diff := cmp.Diff(withFloats(fromYAML(t, c.want)), withFloats(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// withFloats returns a JSON value with all integers as floats, so that cmp compares them like [equal].
func withFloats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = withFloats(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withFloats(item)
		}
		return out
	default:
		return v
	}
}
