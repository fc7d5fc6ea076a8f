package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// training is a job that we applied suspended. FIELDS are the fields that are ours.
const training = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: trainer
  namespace: ml
  managedFields:
  - {manager: terraform-provider-kt, operation: Apply, time: "2026-01-01T10:00:00Z", fieldsType: FieldsV1,
fieldsV1: {"f:spec": FIELDS}}
  - {manager: kueue, operation: Update, time: "2026-01-01T10:01:00Z", fieldsType: FieldsV1,
fieldsV1: {"f:spec": {"f:runPolicy": {"f:suspend": {}}}}}
spec: {nprocPerNode: "1", runPolicy: {suspend: false}}
`

const (
	allFields       = `{"f:nprocPerNode": {}, "f:runPolicy": {"f:suspend": {}}}`
	remainingFields = `{"f:nprocPerNode": {}}`
)

func suspend() [][]string { return [][]string{{"spec", "runPolicy", "suspend"}} }

func applied(t *testing.T) fields.Applied {
	t.Helper()
	obj := parse(t, strings.Replace(training, "FIELDS", allFields, 1))
	set, _, err := fields.Owned(obj)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]any{
		"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
		"metadata": map[string]any{"name": "trainer", "namespace": "ml"},
		"spec":     map[string]any{"nprocPerNode": "1", "runPolicy": map[string]any{"suspend": true}},
	}
	return fields.Applied{Object: sent, Set: set, Admitted: map[string]any{"spec.runPolicy.suspend": true},
		Recorded: true}
}

func TestFieldsTakenByOthersAreReleased(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live  string
		paths [][]string
		want  [][]string
	}{
		"still ours: a queued job": {strings.Replace(training, "FIELDS", allFields, 1), suspend(), nil},
		"taken: an admitted job":   {strings.Replace(training, "FIELDS", remainingFields, 1), suspend(), suspend()},
		"a field that we never applied": {strings.Replace(training, "FIELDS", remainingFields, 1),
			[][]string{{"spec", "suspend"}}, nil},
		"our entry was lost": {strings.Replace(training, "manager: terraform-provider-kt", "manager: other", 1),
			suspend(), nil},
		"no paths": {strings.Replace(training, "FIELDS", remainingFields, 1), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := parse(t, strings.Replace(test.live, "FIELDS", remainingFields, 1))
			got, err := applied(t).Released(live, test.paths)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestReleasedFieldsAreNeitherDriftNorSent(t *testing.T) {
	t.Parallel()
	live := parse(t, strings.Replace(training, "FIELDS", remainingFields, 1))
	before := applied(t)
	if _, changes := before.Drift(live); len(changes) != 1 {
		t.Fatalf("%v: expected drift before the release", changes)
	}
	after := before.Without(suspend())
	doc, changes := after.Drift(live)
	if len(changes) > 0 {
		t.Errorf("drift in %v", changes)
	}
	want := map[string]any{
		"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
		"metadata": map[string]any{"name": "trainer", "namespace": "ml"},
		"spec":     map[string]any{"nprocPerNode": "1"},
	}
	if diff := cmp.Diff(want, doc); diff != "" {
		t.Errorf("next object (-want +got)\n%s", diff)
	}
	if len(after.Admitted) > 0 || len(before.Admitted) != 1 ||
		before.Object["spec"].(map[string]any)["runPolicy"] == nil {
		t.Errorf("admitted: %v; record before: %v", after.Admitted, before.Object)
	}
	live.Object["spec"].(map[string]any)["nprocPerNode"] = "8"
	if _, changes := after.Drift(live); len(changes) != 1 {
		t.Errorf("%v: expected drift of a field that is not released", changes)
	}
	if diff := cmp.Diff(before.Object, before.Without(nil).Object); diff != "" {
		t.Errorf("without paths (-want +got)\n%s", diff)
	}
}
