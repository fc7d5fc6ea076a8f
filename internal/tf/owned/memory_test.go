package owned

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
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

// changed makes another client an owner of the labels.
func changed(obj *unstructured.Unstructured) {
	theirs := labelled(somebody, "").GetManagedFields()
	obj.SetManagedFields(append(obj.GetManagedFields(), theirs...))
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
		"an unfinished object with a changed label": {labelled(kube.Manager, "web", unfinished, changed), "u", 1},
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
			entry, remembered := memory[key], maps.Clone(memory)
			if entry.UID != c.uid || (len(memory) > 0) != (c.uid != "") || len(first.Changes) != c.changes {
				t.Errorf("memory %+v, changes %v", memory, first.Changes)
			}
			if memory.Applied(key) != (c.uid != "") || (entry.Sent != nil) != (c.changes > 0) {
				t.Errorf("applied %t, sent %s", memory.Applied(key), entry.Sent)
			}
			again, err := memory.Refresh(key, first.Object, c.live)
			if err != nil || !reflect.DeepEqual(memory, remembered) || len(again.Changes) != c.changes {
				t.Errorf("next refresh: memory %v, changes %v, %v", memory, again.Changes, err)
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
	kept, err := memory.Release(key, sent, labelled(kube.Manager, "ml"),
		[][]string{{"metadata", "labels", "queue"}})
	released := kept != sent
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

// Otherwise, server-side apply removes annotations that nobody manages together with the last one of ours.
func TestRemovalOfAllAnnotationsOfAnAdoptedObjectKeepsOne(t *testing.T) {
	t.Parallel()
	labels, annotations := `{"f:metadata":{"f:labels":{"f:team":{}}}}`, `{"f:metadata":{"f:annotations":{"f:team":{}}}}`
	sent := labelled(kube.Manager, "ml")
	key := manifest.Key(sent)
	annotated := sent.DeepCopy()
	annotated.SetAnnotations(map[string]string{"team": "ml"})
	for name, c := range map[string]struct {
		entry Entry
		sent  *unstructured.Unstructured
		want  string
	}{
		"none before":        {Entry{UID: "u", Set: []byte(labels)}, sent, ""},
		"all of them":        {Entry{UID: "u", Set: []byte(annotations)}, sent, "u"},
		"not all":            {Entry{UID: "u", Set: []byte(annotations)}, annotated, ""},
		"of a created one":   {Entry{UID: "u", Set: []byte(annotations), Creation: "some"}, sent, "some"},
		"of an unknown one":  {Entry{}, sent, ""},
		"already marked one": {Entry{UID: "u", Set: []byte(labels), Creation: "u"}, sent, "u"},
	} {
		got := Memory{key: c.entry}.Marked(key, c.sent).GetAnnotations()[kube.CreationAnnotation]
		if got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A refresh shows what others have changed, and stores what was sent, so that the next plan restores it.
func TestRefreshFollowsTheChangesOfOthers(t *testing.T) {
	t.Parallel()
	type step struct {
		team                                         string
		changes                                      int
		differs, changed, drift, inState, unrecorded bool
	}
	const restored = "ml" // what was sent
	for name, c := range map[string]struct {
		author string
		steps  []step
	}{
		"another client": {somebody, []step{
			{team: restored}, // unchanged
			{team: "web", changes: 1, differs: true, changed: true, drift: true},
			{team: "web", changes: 1, drift: true, inState: true},  // still changed, as in state
			{team: "shop", changes: 1, differs: true, drift: true}, // changed again
			{team: restored, differs: true, changed: true},         // changed back
			{team: restored},
		}},
		"a killed run of the provider": {kube.Manager, []step{
			{team: restored},
			{team: "web", changes: 1, differs: true, changed: true, unrecorded: true},
			{team: "web"}, // it is what was sent last
			{team: "shop", changes: 1, differs: true, changed: true, unrecorded: true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := labelled(kube.Manager, restored)
			key := manifest.Key(sent)
			memory := Memory{}
			if _, err := memory.Remember(key, sent, sent); err != nil {
				t.Fatal(err)
			}
			inState := sent
			for i, step := range c.steps {
				live := labelled(kube.Manager, step.team)
				if step.team != restored {
					live = labelled(c.author, step.team)
				}
				remembered := maps.Clone(memory)
				fresh, err := memory.Refresh(key, inState, live)
				if err != nil {
					t.Fatal(err)
				}
				if fresh.Object.GetLabels()["team"] != step.team || len(fresh.Changes) != step.changes ||
					fresh.Differs != step.differs || reflect.DeepEqual(memory, remembered) == step.changed ||
					fresh.InState != step.inState || fresh.Unrecorded != step.unrecorded ||
					memory.Drifted(key) != step.drift {
					t.Errorf("step %d: %+v, drifted %t", i, fresh, memory.Drifted(key))
				}
				if step.drift && memory[key].Sent.GetLabels()["team"] != restored {
					t.Errorf("step %d: the next plan restores %v", i, memory[key].Sent)
				}
				inState, memory = fresh.Object, saved(t, memory)
			}
		})
	}
}

// The object may belong to another state, so the drift is only shown.
func TestDriftOfAnObjectWithoutEntryIsNotRemembered(t *testing.T) {
	t.Parallel()
	memory, sent := Memory{}, labelled(kube.Manager, "ml")
	fresh, err := memory.Refresh(manifest.Key(sent), sent, labelled(kube.Manager, "web"))
	if err != nil || !fresh.Differs || len(fresh.Changes) != 1 || len(memory) > 0 {
		t.Errorf("%+v, memory %v, %v", fresh, memory, err)
	}
	theirs, err := memory.Refresh(manifest.Key(sent), sent, labelled(somebody, "web"))
	if err != nil || theirs.Differs || theirs.Object != sent || len(theirs.Changes) > 0 {
		t.Errorf("an object of another client: %+v, %v", theirs, err)
	}
}

// A queue adds node selectors to the workload that it admits.
func TestAdditionsOfAQueueAreNoDrift(t *testing.T) {
	t.Parallel()
	for queue, changes := range map[string]int{"": 1, "a": 0} {
		for _, known := range []bool{false, true} {
			workload := func(selector map[string]any) *unstructured.Unstructured {
				obj := labelled(kube.Manager, "ml", func(obj *unstructured.Unstructured) {
					obj.SetKind("PyTorchJob")
					obj.SetAPIVersion("kubeflow.org/v1")
					if queue != "" {
						obj.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": queue})
					}
					obj.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{
						"nodeSelector": selector}}}
					records := obj.GetManagedFields()
					records[0].FieldsV1 = metav1.NewFieldsV1(
						`{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{}}}}}`)
					obj.SetManagedFields(records)
				})
				return obj
			}
			sent, memory := workload(map[string]any{"a": "b"}), Memory{}
			if known {
				if _, err := memory.Remember(manifest.Key(sent), sent, sent); err != nil {
					t.Fatal(err)
				}
			}
			fresh, err := memory.Refresh(manifest.Key(sent), sent, workload(map[string]any{"a": "b", "c": "d"}))
			if err != nil || len(fresh.Changes) != changes {
				t.Errorf("queue %q, known %t: %v, %v", queue, known, fresh.Changes, err)
			}
		}
	}
}

func TestEntryOfAnUnknownFormatIsAnError(t *testing.T) {
	t.Parallel()
	obj := labelled(kube.Manager, "ml")
	key := manifest.Key(obj)
	memory := Memory{key: {UID: "u", Set: []byte(unreadable)}}
	if _, err := memory.Refresh(key, obj, obj); err == nil {
		t.Error("refreshed")
	}
	if _, err := memory.MergeForeign(key, obj, obj, obj); err == nil {
		t.Error("merged")
	}
	kept, err := memory.Release(key, obj, obj, [][]string{{"metadata", "labels", "team"}})
	if err == nil || kept != obj {
		t.Error("released")
	}
	if got := memory.Compare(key, obj, obj); got != fields.Different {
		t.Errorf("compared as %d", got)
	}
}

func TestComparisonUsesTheFieldsOfTheEntry(t *testing.T) {
	t.Parallel()
	obj := labelled(kube.Manager, "ml")
	delete(obj.Object, "metadata")
	obj.SetNamespace("ml")
	obj.SetName("x")
	obj.SetLabels(map[string]string{"team": "ml"})
	key := manifest.Key(obj)
	memory := Memory{key: {Set: []byte(`{"f:metadata":{"f:labels":{"f:team":{}}}}`)}}
	other := obj.DeepCopy()
	other.SetLabels(map[string]string{"team": "web"})
	if got := memory.Compare(key, obj, obj); got != fields.Equal {
		t.Errorf("the same object: %d", got)
	}
	if got := memory.Compare(key, other, obj); got != fields.Different {
		t.Errorf("another value: %d", got)
	}
}

// An apply without it would remove what others have added inside a list.
func TestAdditionsOfOthersAreSentAgain(t *testing.T) {
	t.Parallel()
	items := func(keys ...string) *unstructured.Unstructured {
		obj := live(kube.Manager)
		item := map[string]any{"name": "c"}
		for _, key := range keys {
			item[key] = "v"
		}
		obj.Object["spec"] = map[string]any{"items": []any{item}}
		return obj
	}
	memory := Memory{manifest.Key(live(kube.Manager)): {UID: "u", Set: []byte(`{"f:spec":{"f:items":{}}}`)}}
	for name, c := range map[string]struct {
		memory Memory
		want   bool
	}{"an applied object": {memory, true}, "an object without entry": {Memory{}, false}} {
		next := items("ours")
		out, err := c.memory.MergeForeign(manifest.Key(next), items("ours"), next, items("ours", "theirs"))
		if err != nil {
			t.Fatal(err)
		}
		list, _, _ := unstructured.NestedSlice(out.Object, "spec", "items")
		item, _ := list[0].(map[string]any)
		if _, found := item["theirs"]; found != c.want {
			t.Errorf("%s: sends %v", name, item)
		}
	}
}

// A workload that was suspended outside of its queue keeps what the queue has appended to its tolerations.
func TestResumptionInAQueueSendsItsTolerationsAgain(t *testing.T) {
	t.Parallel()
	job := func(queue string, tolerations ...any) *unstructured.Unstructured {
		obj := kind.Job().Named("ml", "x")
		obj.SetUID("u")
		obj.SetLabels(map[string]string{kind.KueueQueueLabel: queue})
		kind.SetAt(obj.Object, []string{"spec", "template", "spec", "tolerations"}, tolerations)
		return obj
	}
	ours, theirs := map[string]any{"key": "ours"}, map[string]any{"key": "theirs"}
	set := []byte(`{"f:spec":{"f:template":{"f:spec":{"f:tolerations":{}}}}}`)
	for queue, want := range map[string]int{"": 1, "team": 2} {
		next := job(queue, ours)
		memory := Memory{manifest.Key(next): {UID: "u", Set: set}}
		out, err := memory.MergeForeign(manifest.Key(next), job("", ours), next, job("", ours, theirs))
		if err != nil {
			t.Fatal(err)
		}
		sent, _, _ := unstructured.NestedSlice(out.Object, "spec", "template", "spec", "tolerations")
		if len(sent) != want {
			t.Errorf("in the queue %q: sends %v", queue, sent)
		}
	}
}

func TestOnlyFieldsThatOthersHaveTakenOverAreReleased(t *testing.T) {
	t.Parallel()
	sent := labelled(kube.Manager, "ml")
	key := manifest.Key(sent)
	team := [][]string{{"metadata", "labels", "team"}}
	theirs := labelled(kube.Manager, "ml", func(obj *unstructured.Unstructured) {
		records := obj.GetManagedFields()
		records[0].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{}}`)
		obj.SetManagedFields(records)
	})
	broken := labelled(kube.Manager, "ml", func(obj *unstructured.Unstructured) {
		records := obj.GetManagedFields()
		records[0].FieldsV1 = metav1.NewFieldsV1(unreadable)
		obj.SetManagedFields(records)
	})
	for name, c := range map[string]struct {
		live     *unstructured.Unstructured
		paths    [][]string
		noEntry  bool
		released bool
		failed   bool
	}{
		"taken over":        {live: theirs, paths: team, released: true},
		"no paths":          {live: theirs},
		"still ours":        {live: sent, paths: team},
		"without an entry":  {live: theirs, paths: team, noEntry: true},
		"the owner unknown": {live: broken, paths: team, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := Memory{}
			if !c.noEntry {
				if _, err := memory.Remember(key, sent, sent); err != nil {
					t.Fatal(err)
				}
				entry := memory[key]
				entry.Sent = sent
				memory[key] = entry
			}
			kept, err := memory.Release(key, sent, c.live, c.paths)
			if (err != nil) != c.failed || (kept == sent) == c.released {
				t.Fatalf("%v, kept %v", err, kept)
			}
			if c.released && (kept.GetLabels()["team"] != "" || memory.Drifted(key) ||
				strings.Contains(string(memory[key].Set), "team")) {
				t.Errorf("kept %v, entry %+v", kept, memory[key])
			}
		})
	}
}

func TestEntriesAreRecoveredFromTheState(t *testing.T) {
	t.Parallel()
	objects := named(t, "1", "a", "b").Value()
	first := func(obj *unstructured.Unstructured) bool { return obj.GetName() == "a" }
	memory := Memory{}
	memory.RecoverObjects(objects, "u", first)
	if a, b := memory[mapKey], memory["ConfigMap/ml/b"]; a.UID != "u" || !a.Recovered || b.UID != "" || !b.Recovered {
		t.Errorf("recovered %+v and %+v", a, b)
	}
	for name, c := range map[string]struct {
		memory Memory
		uid    types.UID
	}{"with entries": {Memory{"other": {}}, "u"}, "without a UID": {Memory{}, ""}} {
		before := len(c.memory)
		if c.memory.RecoverObjects(objects, c.uid, first); len(c.memory) != before {
			t.Errorf("%s: %v", name, c.memory)
		}
	}
}

func TestObjectOfTheClusterIsFoundByItsName(t *testing.T) {
	t.Parallel()
	text := basetypes.NewStringValue
	memory := Memory{"ClusterQueue//x": {}, "Service/ml/y": {}}
	for identity, want := range map[Identity]bool{
		{text("web"), text("x")}: true, {text("ml"), text("y")}: true, {text("web"), text("y")}: false,
		{text("ml"), text("z")}: false,
	} {
		if memory.Contains(identity) != want {
			t.Errorf("%v: %t", identity, !want)
		}
	}
}

func TestPrivateStateIsSavedAndLoaded(t *testing.T) {
	t.Parallel()
	state := private{}
	memory, diags := LoadMemory(t.Context(), state)
	if memory == nil || len(memory) > 0 || len(diags) > 0 {
		t.Fatalf("without private state: %v, %v", memory, diags)
	}
	memory[mapKey] = Entry{UID: "u"}
	if diags := memory.Save(t.Context(), state); len(diags) > 0 {
		t.Fatal(diags)
	}
	if again, diags := LoadMemory(t.Context(), state); again[mapKey].UID != "u" || len(diags) > 0 {
		t.Errorf("loaded %v, %v", again, diags)
	}
	state[memoryKey] = []byte("{")
	broken, diags := LoadMemory(t.Context(), state)
	if len(broken) > 0 || len(diags) != 1 || diags.HasError() ||
		diags[0].Summary() != "Cannot read the provider's private state" {
		t.Errorf("unreadable: %v, %v", broken, diags)
	}
	if _, diags := LoadMemory(t.Context(), failing{}); !diags.HasError() {
		t.Error("the private state is read")
	}
	if _, diags := LoadMemory(t.Context(), failing{data: "{}"}); !diags.HasError() {
		t.Error("the error is lost")
	}
	if diags := memory.Save(t.Context(), failing{}); !diags.HasError() {
		t.Error("the private state is written")
	}
	partly := private{"n": []byte(`{"UID":"u","Server":1}`)}
	if value, diags := Load[kube.Identity](t.Context(), partly, "n"); value.UID != "" || len(diags) != 1 {
		t.Errorf("partly readable: %v, %v", value, diags)
	}
	if diags := Save(t.Context(), state, "x", make(chan int)); !diags.HasError() || state["x"] != nil {
		t.Errorf("saved %v, %v", state["x"], diags)
	}
}
