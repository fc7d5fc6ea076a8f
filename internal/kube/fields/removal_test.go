package fields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// shared is an object with entries of several managers. REST are those of the others, after ours.
const shared = `
apiVersion: v1
kind: Pod
metadata:
  name: trainer
  managedFields:
  - {manager: terraform-provider-kt, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {
      f:spec: {f:hostname: {}, f:subdomain: {}, f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:image: {}}}}}}
REST
spec:
  hostname: h
  subdomain: s
  priority: 1
  containers:
  - {name: a, image: i, stdin: true}
  - {name: sidecar, image: i}
`

func sharedWith(t *testing.T, rest ...string) *unstructured.Unstructured {
	t.Helper()
	for i, entry := range rest {
		rest[i] = "  - {" + entry + "}"
	}
	return &unstructured.Unstructured{Object: objectOf(t, strings.Replace(shared, "REST", strings.Join(rest, "\n"), 1))}
}

const (
	byEdit = `manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: ` +
		`{f:hostname: {}, f:priority: {}}}`
	byApply = `manager: argo, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: ` +
		`{f:hostname: {}, f:priority: {}}}`
	byScale = `manager: hpa, operation: Update, subresource: scale, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: ` +
		`{f:spec: {f:hostname: {}}}`
	inItem = `manager: kubectl-edit, operation: Update, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {f:spec: ` +
		`{f:containers: {'k:{"name":"a"}': {.: {}, f:name: {}, f:stdin: {}},
        'k:{"name":"sidecar"}': {.: {}, f:name: {}, f:image: {}}}}}`
)

func hostname() *fieldpath.Set {
	return fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "hostname"))
}

// records returns the paths that each manager owns.
func records(t *testing.T, obj *unstructured.Unstructured) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, entry := range obj.GetManagedFields() {
		set, err := fields.Parse(entry.FieldsV1.GetRawBytes())
		if err != nil {
			t.Fatal(err)
		}
		who := entry.Manager + " " + string(entry.Operation) + entry.Subresource
		out[who] = []string{}
		for _, path := range fields.Paths(set) {
			out[who] = append(out[who], fields.String(path))
		}
	}
	return out
}

func TestRemovedFieldsAreTakenFromManagersThatOnlyUpdatedThem(t *testing.T) {
	t.Parallel()
	const container = `spec.containers["a"]`
	own := []string{container, container + ".image", container + ".name", "spec.hostname", "spec.subdomain"}
	withoutHostname := []string{container, container + ".image", container + ".name", "spec.subdomain"}
	item := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "containers", fieldpath.KeyByFields("name", "a")))
	for name, c := range map[string]struct {
		rest    []string
		removed *fieldpath.Set
		lost    bool // somebody took the field from us
		changed bool
		want    map[string][]string
	}{
		"nobody else": {nil, hostname(), false, false, map[string][]string{ourApply: own}},
		"another manager's update": {[]string{byEdit}, hostname(), false, true,
			map[string][]string{ourApply: own, "kubectl-edit Update": {"spec.priority"}}},
		"an update that took the field": {[]string{byEdit}, hostname(), true, true,
			map[string][]string{ourApply: own, "kubectl-edit Update": {"spec.priority"}}},
		"another manager's apply": {[]string{byApply}, hostname(), false, false,
			map[string][]string{ourApply: own, "argo Apply": {"spec.hostname", "spec.priority"}}},
		"a subresource": {[]string{byScale}, hostname(), false, false,
			map[string][]string{ourApply: own, "hpa Updatescale": {"spec.hostname"}}},
		"an absent field": {[]string{byEdit}, fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "nodeName")), false,
			false, map[string][]string{ourApply: own, "kubectl-edit Update": {"spec.hostname", "spec.priority"}}},
		"an item with its content": {[]string{inItem}, item, false, true,
			map[string][]string{ourApply: own, "kubectl-edit Update": {`spec.containers["sidecar"]`,
				`spec.containers["sidecar"].image`, `spec.containers["sidecar"].name`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := sharedWith(t, c.rest...)
			if c.lost {
				live = withRecord(t, live, withoutHostname)
			}
			entries, changed, err := fields.ClaimRemoved(live, c.removed, false)
			if err != nil || changed != c.changed {
				t.Fatalf("changed: %v (error %v)", changed, err)
			}
			if changed {
				live.SetManagedFields(entries)
			}
			if diff := cmp.Diff(c.want, records(t, live)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

const ourApply = ours + " Apply"

// withRecord returns the object after somebody has taken from us what is not in paths.
func withRecord(t *testing.T, obj *unstructured.Unstructured, paths []string) *unstructured.Unstructured {
	t.Helper()
	text := strings.Replace(shared, "f:hostname: {}, ", "", 1)
	obj.SetManagedFields(append((&unstructured.Unstructured{Object: objectOf(t,
		strings.Replace(text, "REST", "", 1))}).GetManagedFields(), obj.GetManagedFields()[1:]...))
	if diff := cmp.Diff(paths, records(t, obj)[ourApply]); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	return obj
}

func TestFieldsThatOthersManageAreRetained(t *testing.T) {
	t.Parallel()
	got, err := fields.Retained(sharedWith(t, byEdit, byApply, byScale), hostname())
	want := []fields.RetainedField{{Path: "spec.hostname", Manager: "argo"},
		{Path: "spec.hostname", Manager: "hpa", Subresource: "scale"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestARetainedItemOfAListIsNamedOnce(t *testing.T) {
	t.Parallel()
	item := func(path ...any) fieldpath.Path {
		return fieldpath.MakePathOrDie(append([]any{"spec", "containers", fieldpath.KeyByFields("name", "sidecar")},
			path...)...)
	}
	removed := fieldpath.NewSet(item(), item("image"), item("name"), fieldpath.MakePathOrDie("spec", "hostname"),
		fieldpath.MakePathOrDie("spec", "priority"))
	applied := strings.Replace(inItem, "operation: Update", "operation: Apply", 1)
	// The field comes after the item in the order of the message.
	withField := strings.Replace(applied, "{f:spec: {", "{f:spec: {f:priority: {}, ", 1)
	got, err := fields.Retained(sharedWith(t, byApply, withField), removed)
	want := []fields.RetainedField{{Path: "spec.hostname", Manager: "argo"}, {Path: "spec.priority", Manager: "argo"},
		{Path: `spec.containers["sidecar"]`, Manager: "kubectl-edit"}, {Path: "spec.priority", Manager: "kubectl-edit"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestAdoptionRemovesOtherOwnersOfAppliedFields(t *testing.T) {
	t.Parallel()
	live := sharedWith(t, byEdit, byApply, byScale, inItem)
	entries, changed, err := fields.TakeOver(live)
	if err != nil || !changed {
		t.Fatalf("changed: %v (error %v)", changed, err)
	}
	live.SetManagedFields(entries)
	got := records(t, live)
	delete(got, ourApply)
	want := map[string][]string{
		"argo Apply":      {"spec.priority"},
		"hpa Updatescale": {"spec.hostname"},
		"kubectl-edit Update": {
			`spec.containers["a"]`, `spec.containers["a"].stdin`,
			`spec.containers["sidecar"]`, `spec.containers["sidecar"].image`, `spec.containers["sidecar"].name`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, changed, err := fields.TakeOver(live); changed || err != nil {
		t.Errorf("again: %v (error %v)", changed, err)
	}
}
