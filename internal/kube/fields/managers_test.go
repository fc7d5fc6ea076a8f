package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

const (
	byEditOnly = `manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: ` +
		`{f:hostname: {}}}`
	unreadable = `operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: []`
)

func pathsOf(set *fieldpath.Set) []string {
	var out []string
	for _, path := range fields.Paths(set) {
		out = append(out, fields.String(path))
	}
	return out
}

func TestGivenFieldsAreThoseOfClients(t *testing.T) {
	t.Parallel()
	given, err := fields.Given(sharedWith(t, byEdit, byApply, byScale, inItem), ours, "argo")
	want := []string{`spec.containers["a"]`, `spec.containers["a"].name`, `spec.containers["a"].stdin`,
		`spec.containers["sidecar"]`, `spec.containers["sidecar"].image`, `spec.containers["sidecar"].name`,
		"spec.hostname", "spec.priority"}
	if diff := cmp.Diff(want, pathsOf(given)); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	only, err := fields.Given(sharedWith(t, byScale), ours)
	if err != nil || !only.Empty() {
		t.Errorf("a subresource gives %v, %v", pathsOf(only), err)
	}
}

func TestEntryWithoutFieldsOwnsNothing(t *testing.T) {
	t.Parallel()
	obj := &unstructured.Unstructured{Object: objectOf(t, `{metadata: {managedFields: [
        {manager: terraform-provider-kt, operation: Update, fieldsType: FieldsV1, fieldsV1: {f:a: {}}},
        {manager: terraform-provider-kt, operation: Apply, subresource: status, fieldsV1: {f:b: {}}},
        {manager: other, operation: Apply, fieldsV1: {f:c: {}}},
        {manager: terraform-provider-kt, operation: Apply}]}}`)}
	set, ok, err := fields.Owned(obj)
	if err != nil || !ok || !set.Empty() {
		t.Errorf("%v, %t, %v", set, ok, err)
	}
}

// A record that cannot be read must not look as if nobody owned the fields.
func TestUnreadableRecordsAreErrors(t *testing.T) {
	t.Parallel()
	own, others := sharedWith(t, "manager: other, "+unreadable), sharedWith(t, "manager: other, "+unreadable)
	entries := own.GetManagedFields()
	entries[1].Manager = ours
	own.SetManagedFields(entries[1:])
	for name, do := range map[string]func() error{
		"owned": func() error { _, _, err := fields.Owned(own); return err },
		"given": func() error { _, err := fields.Given(others); return err },
		"claimed": func() error {
			_, _, err := fields.ClaimRemoved(others, hostname(),
				true)
			return err
		},
		"claimed of ours":  func() error { _, _, err := fields.ClaimRemoved(own, hostname(), false); return err },
		"taken over":       func() error { _, _, err := fields.TakeOver(others); return err },
		"taken over, ours": func() error { _, _, err := fields.TakeOver(own); return err },
		"retained":         func() error { _, err := fields.Retained(others, hostname()); return err },
		"applied again":    func() error { _, _, err := applied(t).AppliedAgain(own, nil); return err },
		"released":         func() error { _, err := applied(t).Released(own, suspend()); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "is not FieldsV1 JSON") ||
			!strings.Contains(err.Error(), "managed fields of") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, changed, err := fields.ClaimRemoved(others, hostname(), false); err != nil || changed {
		t.Errorf("an entry that is not touched: %t, %v", changed, err)
	}
}

func TestProjectionKeepsAValueOfAnotherType(t *testing.T) {
	t.Parallel()
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "a", "b"), fieldpath.MakePathOrDie("none", "x"))
	want := map[string]any{"spec": map[string]any{"a": "text"}}
	if diff := cmp.Diff(want, fields.Project(objectOf(t, `{spec: {a: text, c: 1}}`), set)); diff != "" {
		t.Error(diff)
	}
}

func TestRemovalIsContestedOnlyIfAnotherManagerHasTheField(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rest []string
		want bool
	}{
		"nobody else":              {nil, false},
		"another manager's update": {[]string{byEdit}, true},
		"another manager's apply":  {[]string{byApply}, false}, // it stays: see Retained
	} {
		_, got, err := fields.ClaimRemoved(sharedWith(t, test.rest...), hostname(), false)
		if err != nil || got != test.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}

func TestRemovedFieldsAreClaimedFromLostAndForeignRecords(t *testing.T) {
	t.Parallel()
	const container = `spec.containers["a"]`
	own := []string{container, container + ".image", container + ".name", "spec.hostname", "spec.subdomain"}
	withoutHostname := []string{container, container + ".image", container + ".name", "spec.subdomain"}
	lost := withRecord(t, sharedWith(t, byApply), withoutHostname)
	unrecorded := sharedWith(t)
	unrecorded.SetManagedFields(nil)
	for name, test := range map[string]struct {
		live    *unstructured.Unstructured
		adopted bool
		changed bool
		want    map[string][]string
	}{
		"an apply took the field": {lost, false, true, map[string][]string{ourApply: own,
			"argo Apply": {"spec.hostname", "spec.priority"}}},
		"an apply to an adopted object": {sharedWith(t, byApply), true, true, map[string][]string{ourApply: own,
			"argo Apply": {"spec.priority"}}},
		"an update of this field only": {sharedWith(t, byEditOnly), false, true, map[string][]string{ourApply: own}},
		"an update of another field": {sharedWith(t, byEditOnly,
			`manager: x, operation: Update, fieldsType: FieldsV1, `+
				`fieldsV1: {f:spec: {f:priority: {}}}`), false, true, map[string][]string{ourApply: own,
			"x Update": {"spec.priority"}}},
		"no record": {unrecorded, false, true, map[string][]string{ourApply: {"spec.hostname"}}},
	} {
		entries, changed, err := fields.ClaimRemoved(test.live, hostname(), test.adopted)
		if err != nil || changed != test.changed {
			t.Errorf("%s: changed %t, %v", name, changed, err)
			continue
		}
		test.live.SetManagedFields(entries)
		if diff := cmp.Diff(test.want, records(t, test.live)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if last := entries[len(entries)-1]; last.Manager == ours && last.APIVersion != "v1" {
			t.Errorf("%s: the entry %+v is not valid", name, last)
		}
	}
}

// Imports keep no record of what the server admitted. A field without a value in
// them may be a zero that its type omits.
func TestZeroOfAnImportedObjectIsNotDrift(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		live     string
		recorded bool
		want     []string
	}{
		"the zero is absent":  {`spec: {replicas: 1}`, false, nil},
		"the zero is present": {`spec: {replicas: 1, hostNetwork: false}`, false, nil},
		"another value": {`spec: {replicas: 1, hostNetwork: true}`, false,
			[]string{"spec.hostNetwork"}},
		"a zero that was known to be none": {`spec: {replicas: 1, hostNetwork: false}`, true,
			[]string{"spec.hostNetwork"}},
	} {
		record := fields.Applied{Object: objectOf(t, `spec: {replicas: 1}`), Recorded: test.recorded,
			Set: fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas"),
				fieldpath.MakePathOrDie("spec", "hostNetwork"))}
		var got []string
		_, changes := record.Drift(&unstructured.Unstructured{Object: objectOf(t, test.live)})
		for _, change := range changes {
			got = append(got, change.Path)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
