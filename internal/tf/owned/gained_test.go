package owned

import (
	"maps"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Otherwise, nothing would show the label until a later apply removes it together with an unrelated change.
func TestRefreshFindsTheAdditionsOfARunThatWasKilled(t *testing.T) {
	t.Parallel()
	const team, both = `{"f:team":{}}`, `{"f:debug":{},"f:team":{}}`
	object := func(labels map[string]string, ours, theirs string) *unstructured.Unstructured {
		obj := live(kube.Manager)
		obj.SetLabels(labels)
		obj.SetAnnotations(map[string]string{kube.CreationAnnotation: "some"})
		var entries []metav1.ManagedFieldsEntry
		for manager, owned := range map[string]string{kube.Manager: ours, somebody: theirs} {
			if owned != "" {
				entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, FieldsType: "FieldsV1",
					Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(
						`{"f:metadata":{"f:annotations":{"f:kt.dev/creation":{}},"f:labels":` + owned + `}}`)})
			}
		}
		obj.SetManagedFields(entries)
		return obj
	}
	before, debug := map[string]string{"team": "ml"}, map[string]string{"team": "ml", "debug": "1"}
	sent := object(before, team, "")
	sent.SetManagedFields(nil)
	sent.SetAnnotations(nil)
	key := manifest.Key(sent)
	for name, c := range map[string]struct {
		live       *unstructured.Unstructured
		change     func(*Entry)
		changes    int
		unrecorded bool
	}{
		"a killed run that added a label": {live: object(debug, both, ""), changes: 1, unrecorded: true},
		"a killed run that added a label that another client owns as well": {
			live: object(debug, both, `{"f:debug":{}}`), changes: 1, unrecorded: true},
		"a killed run and another client": {
			live: object(map[string]string{"team": "web", "debug": "1"}, `{"f:debug":{}}`, team), changes: 2},
		"nothing but the annotation":   {live: object(before, team, "")},
		"a label of another client":    {live: object(debug, team, `{"f:debug":{}}`)},
		"a field without a value":      {live: object(before, both, "")},
		"an object without our fields": {live: object(debug, "", both)},
		"an adopted object":            {live: object(debug, both, ""), change: func(e *Entry) { e.Adopted = true }},
		"an object without response":   {live: object(debug, both, ""), change: func(e *Entry) { e.Assumed = true }},
		"an imported one of someone else": {live: object(debug, both, ""),
			change: func(e *Entry) { e.Set = []byte("{}") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory := Memory{}
			if _, err := memory.Remember(key, sent, object(before, team, "")); err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				entry := memory[key]
				c.change(&entry)
				memory[key] = entry
			}
			fresh, err := memory.Refresh(key, sent, c.live)
			if err != nil || len(fresh.Changes) != c.changes || fresh.Unrecorded != c.unrecorded ||
				fresh.Differs != (c.changes > 0) {
				t.Fatalf("%+v, %v", fresh, err)
			}
			if c.changes > 0 && !maps.Equal(fresh.Object.GetLabels(), c.live.GetLabels()) {
				t.Errorf("labels %v", fresh.Object.GetLabels())
			}
			memory = saved(t, memory)
			remembered := maps.Clone(memory)
			again, err := memory.Refresh(key, fresh.Object, c.live)
			if err != nil || again.Differs || again.Unrecorded || !reflect.DeepEqual(memory, remembered) ||
				len(DriftWarning(kube.Ref{}, again)) > 0 {
				t.Errorf("next refresh: %+v, %v", again, err)
			}
		})
	}
}
