package compute

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// apiField is a boolean, a number or a string of an API type: its path in an object, its zero, and another value. A
// step "*" is the item of a list of named items, "-" of another list.
type apiField struct {
	path        []string
	zero, other any
}

func (f apiField) String() string { return strings.Join(f.path, ".") }

// with returns an object that contains only the field. Items of lists have names by which a template can address them.
func (f apiField) with(value any) map[string]any {
	for i, step := range slices.Backward(f.path) {
		if step != "*" && step != "-" {
			value = map[string]any{step: value}
			continue
		}
		item, ok := value.(map[string]any)
		if !ok || step == "-" {
			value = []any{value}
			continue
		}
		name := "x"
		if f.path[i-1] == "containers" {
			name = "kubetorch"
		}
		if _, named := item["name"]; !named {
			item["name"] = name
		}
		value = []any{item}
	}
	object, _ := value.(map[string]any)
	return object
}

// fieldsOf returns the fields of a type below a path.
func fieldsOf(kind reflect.Type, path []string, within ...reflect.Type) []apiField {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	scalar := func(zero, other any) []apiField { return []apiField{{path: path, zero: zero, other: other}} }
	switch kind {
	case reflect.TypeFor[intstr.IntOrString]():
		return scalar(int64(0), int64(1))
	case reflect.TypeFor[resource.Quantity]():
		return scalar("0", "1")
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.FieldsV1]():
		return nil // set only by the server
	}
	if slices.Contains(within, kind) {
		return nil
	}
	within = append(slices.Clone(within), kind)
	below := func(kind reflect.Type, step string) []apiField {
		return fieldsOf(kind, append(slices.Clone(path), step), within...)
	}
	switch kind.Kind() {
	case reflect.Bool:
		return scalar(false, true)
	case reflect.String:
		return scalar("", "x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		return scalar(int64(0), int64(1))
	case reflect.Map:
		return below(kind.Elem(), "key")
	case reflect.Slice:
		if kind.Elem().Kind() == reflect.Struct {
			if _, named := kind.Elem().FieldByName("Name"); named {
				return below(kind.Elem(), "*")
			}
			return below(kind.Elem(), "-")
		}
		return nil // items are not fields
	case reflect.Struct:
		var out []apiField
		for member := range kind.Fields() {
			name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
			switch {
			case name == "" && member.Anonymous:
				out = append(out, fieldsOf(member.Type, path, within...)...)
			case name != "" && name != "-" && !(name == "status" && len(path) == 0):
				out = append(out, below(member.Type, name)...)
			}
		}
		return out
	default:
		return nil
	}
}

func TestExplicitZeroOfEveryFieldIsAChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind reflect.Type
		set  func(m *model, template map[string]any)
		same []string // the zero is the default, or is replaced by one
		skip []string // fields of the pods whose types are already tested
	}{
		"service_template of a Deployment": {
			reflect.TypeFor[appsv1.Deployment](), func(m *model, template map[string]any) {
				text, _ := json.Marshal(template)
				m.ServiceTemplate = jsontypes.NewNormalizedValue(string(text))
			}, []string{"spec.template.spec.containers.*.startupProbe.initialDelaySeconds"}, []string{"initContainers",
				"ephemeralContainers"},
		},
		"manifest of a Job": {
			reflect.TypeFor[batchv1.Job](), func(m *model, template map[string]any) {
				job := map[string]any{"apiVersion": "batch/v1", "kind": "Job"}
				maps.Copy(job, template)
				text, _ := json.Marshal(job)
				m.Manifest = tf.DocumentOf(string(text))
			}, []string{
				"spec.template.spec.containers.*.startupProbe.initialDelaySeconds",
				"spec.template.spec.containers.*.image",
				"spec.template.spec.restartPolicy", "spec.template.spec.serviceAccountName",
			}, []string{"initContainers", "ephemeralContainers", "volumes", "affinity"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := func(template map[string]any) (owned.Objects, bool) {
				m := planned(t)
				c.set(m, template)
				out, diags := render(t.Context(), m, renderOptions{defaults: defaults})
				return out, !diags.HasError()
			}
			tested := 0
			withParent := map[string]owned.Objects{}
			for _, f := range fieldsOf(c.kind, nil) {
				if f.path[0] != "spec" || len(f.path) > 3 && slices.Contains(c.skip, f.path[3]) {
					continue
				}
				zero, ok := with(f.with(f.zero))
				if !ok {
					continue // the provider sets this field
				}
				tested++
				parent := apiField{path: f.path[:len(f.path)-1]}
				without, known := withParent[parent.String()]
				if !known {
					without, _ = with(parent.with(map[string]any{}))
					withParent[parent.String()] = without
				}
				other, ok := with(f.with(f.other))
				if !ok {
					other = nil // not a valid value of this field
				}
				if equalObjects(zero, without) && !slices.Contains(c.same, f.String()) {
					t.Errorf("%s: %v is not a change", f, f.zero)
				}
				if other != nil && equalObjects(zero, other) {
					t.Errorf("%s: %v instead of %v is not a change", f, f.zero, f.other)
				}
			}
			if tested < 200 {
				t.Errorf("only %d fields tested", tested)
			}
		})
	}
}

// equalObjects reports whether a plan from a to b has no changes.
func equalObjects(a, b owned.Objects) bool {
	changed, obsolete := a.ChangedFrom(b)
	return len(changed) == 0 && len(obsolete) == 0
}

func TestExplicitZeroIsAChangeBetweenTwoRenderings(t *testing.T) {
	t.Parallel()
	before := rendered(t, planned(t), defaults)
	after := rendered(t, planned(t, func(m *model) {
		m.ServiceTemplate = jsontypes.NewNormalizedValue(
			`{"spec":{"template":{"spec":{"hostNetwork":false,"hostname":"","terminationGracePeriodSeconds":0}}}}`)
	}), defaults)
	for _, step := range []struct{ from, to owned.Objects }{{before, after}, {after, before}} {
		changed, _ := step.to.ChangedFrom(step.from)
		if got := slices.Collect(maps.Keys(changed)); !slices.Equal(got, []string{"Deployment/ml/trainer"}) {
			t.Errorf("changed: %v", got)
		}
	}
	var spec struct {
		Spec struct{ Template struct{ Spec map[string]any } }
	}
	if err := json.Unmarshal([]byte(after["Deployment/ml/trainer"].Text), &spec); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]any{"hostNetwork": false, "hostname": "",
		"terminationGracePeriodSeconds": 0.0} {
		if got, there := spec.Spec.Template.Spec[field]; !there || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v (%v), want %v", field, got, there, want)
		}
	}
}
