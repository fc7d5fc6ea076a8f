package manifest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"drops nulls":                    {`{"a": null, "b": {"c": null}, "d": [null, 1]}`, `{"d": [1]}`},
		"drops empty fields, inside out": {`{"a": null, "b": {}, "c": [], "d": {"e": {"f": {}}}}`, `{}`},
		"keeps empty strings":            {`{"a": "", "d": {"e": {"f": ""}}}`, `{"a": "", "d": {"e": {"f": ""}}}`},
		"keeps false and zero":           {`{"a": false, "b": 0}`, `{"a": false, "b": 0}`},
		"keeps empty items of lists":     {`{"args": ["", "x"], "rules": [{}]}`, `{"args": ["", "x"], "rules": [{}]}`},
		"keeps empty values of labels": {`{"metadata": {"labels": {"a": "", "b": null}}}`,
			`{"metadata": {"labels": {"a": ""}}}`},
		"drops labels without a label": {`{"metadata": {"labels": {}, "annotations": {}}}`, `{}`},
		"keeps what is a choice": {`{"elasticPolicy": {}, "strategy": {"canary": {}}, "x": {}}`,
			`{"elasticPolicy": {}, "strategy": {"canary": {}}}`},
		"keeps an emptyDir": {`{"volumes": [{"name": "a", "emptyDir": {}}]}`, `{"volumes": [{"name": "a",
			"emptyDir": {}}]}`},
		"keeps a selector of everything": {`{"labelSelector": {}, "namespaceSelector": {"matchLabels": {}}}`,
			`{"labelSelector": {}, "namespaceSelector": {}}`},
		"drops a null selector":           {`{"labelSelector": null}`, `{}`},
		"keeps the storage class of none": {`{"storageClassName": ""}`, `{"storageClassName": ""}`},
		"leaves labels that look like them": {`{"labels": {"sizeLimit": "1000m", "requests": "1000m"}}`,
			`{"labels": {"sizeLimit": "1000m", "requests": "1000m"}}`},
		"leaves variables that look like it": {`{"env": [{"name": "limits", "value": "1000m"}]}`,
			`{"env": [{"name": "limits", "value": "1000m"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := manifest.Normalize(&unstructured.Unstructured{Object: fromJSON(t, tc.in)})
			if diff := cmp.Diff(integers(fromJSON(t, tc.want)), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNormalizeQuantities(t *testing.T) {
	t.Parallel()
	const (
		given = `{"limits": {"cpu": 2, "memory": 0.5, "a": true}, "requests": {"cpu": "0.5", "memory": "1024Mi",
			"a": "4gb"}}`
		canonical = `{"limits": {"cpu": "2", "memory": "500m", "a": true}, "requests": {"cpu": "500m", "memory": "1Gi",
			"a": "4gb"}}`
		list, canonicalList = `{"cpu": "0.5", "memory": "1024Mi"}`, `{"cpu": "500m", "memory": "1Gi"}`
		size, canonicalSize = `"1000000"`, `"1M"`
	)
	server := func(group string) string {
		return `{"apiVersion": "` + group + `/v1alpha1", "kind": "Compute", "spec": {"resources": %s}}`
	}
	for name, tc := range map[string]struct{ in, given, want string }{
		"containers": {`{"spec": {"template": {"spec": {"containers": [{"resources": %s}]}}}}`,
			given, canonical},
		"init containers":      {`{"spec": {"initContainers": [{"resources": %s}]}}`, given, canonical},
		"ephemeral containers": {`{"spec": {"ephemeralContainers": [{"resources": %s}]}}`, given, canonical},
		"a pod":                {`{"spec": {"containers": [{"name": "a"}], "resources": %s}}`, given, canonical},
		"overhead of a pod":    {`{"spec": {"containers": [{"name": "a"}], "overhead": %s}}`, list, canonicalList},
		"a claim": {`{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"resources": %s}}`,
			given, canonical},
		"claim templates": {`{"spec": {"volumeClaimTemplates": [{"spec": {"resources": %s}}]}}`, given, canonical},
		"an ephemeral volume": {`{"volumes": [{"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": %s}}}}]}`,
			given, canonical},
		"an empty directory": {`{"volumes": [{"emptyDir": {"sizeLimit": %s}}]}`, size, canonicalSize},
		"a divisor": {`{"env": [{"valueFrom": {"resourceFieldRef": {"divisor": %s}}}]}`,
			size, canonicalSize},
		"the autoscaler of Ray":  {`{"spec": {"autoscalerOptions": {"resources": %s}}}`, given, canonical},
		"a tensor server":        {server(kind.SkyTorchGroup), list, canonicalList},
		"a tensor server of KPU": {server(kind.KPUGroup), list, canonicalList},

		"limits of a custom resource":    {in: `{"spec": {"limits": {"version": %s}}}`, given: `"1.10"`},
		"requests of a custom resource":  {in: `{"spec": {"requests": {"version": %s}}}`, given: `"1.10"`},
		"resources of a custom resource": {in: `{"spec": {"resources": {"limits": {"version": %s}}}}`, given: `"1.10"`},
		"a list of a custom resource": {in: `{"spec": {"tools": [{"resources": {"limits": {"a": %s}}}]}}`,
			given: `"1.10"`},
		"a size of a custom resource": {in: `{"spec": {"sizeLimit": %s, "divisor": 1}}`, given: size},
		"a Compute of another group":  {in: server("example.com"), given: list},
		// Texts, which KubeRay parses (ray-operator/apis/ray/v1/raycluster_types.go).
		"resources of a group of Ray": {in: `{"spec": {"headGroupSpec": {"resources": %s}}}`, given: list},
		"labels":                      {in: `{"metadata": {"labels": {"sizeLimit": %s}}}`, given: `"1000m"`},
		"a variable": {in: `{"containers": [{"env": [{"name": "limits", "value": %s}]}]}`,
			given: `"1000m"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.want == "" { // nothing changes
				tc.want = tc.given
			}
			in, want := fmt.Sprintf(tc.in, tc.given), fmt.Sprintf(tc.in, tc.want)
			got := manifest.Normalize(&unstructured.Unstructured{Object: fromJSON(t, in)})
			if diff := cmp.Diff(integers(fromJSON(t, want)), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestNormalizeNumbers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want any }{
		"int":                  {1, int64(1)},
		"int32":                {int32(1), int64(1)},
		"whole float":          {2.0, int64(2)},
		"whole float32":        {float32(2), int64(2)},
		"negative zero":        {math.Copysign(0, -1), int64(0)},
		"fraction":             {0.5, 0.5},
		"float beyond 2^53":    {1e300, 1e300},
		"whole JSON number":    {json.Number("9007199254740993"), int64(9007199254740993)},
		"JSON number, as 1.0":  {json.Number("1.0"), int64(1)},
		"fractional JSON":      {json.Number("1.5"), 1.5},
		"JSON number too wide": {json.Number("1e999"), "1e999"},
	} {
		got := manifest.Normalize(&unstructured.Unstructured{Object: map[string]any{"n": tc.in, "l": []any{tc.in}}})
		if diff := cmp.Diff(map[string]any{"n": tc.want, "l": []any{tc.want}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestJSONIsCompactSortedAndReadable(t *testing.T) {
	t.Parallel()
	o := &unstructured.Unstructured{Object: map[string]any{
		"kind": "K", "apiVersion": "v1", "metadata": map[string]any{"name": "n", "namespace": "ns",
			"labels": map[string]any{}},
		"spec": map[string]any{"script": "a >b && c\n", "replicas": 2.0},
	}}
	got, err := manifest.JSON(o)
	want := `{"apiVersion":"v1","kind":"K","metadata":{"name":"n","namespace":"ns"},"spec":{"replicas":2,"script":"a ` +
		`>b && c\n"}}`
	if err != nil || got != want {
		t.Errorf("is %s (error %v), want %s", got, err, want)
	}
	if key := manifest.Key(o); key != "K/ns/n" {
		t.Errorf("key is %q", key)
	}
}

func TestJSONRejectsInfinity(t *testing.T) {
	t.Parallel()
	if got, err := manifest.JSON(&unstructured.Unstructured{Object: map[string]any{"a": math.Inf(1)}}); err == nil {
		t.Errorf("is %s", got)
	}
}

func FuzzNormalize(f *testing.F) {
	for _, seed := range []string{`{}`, `{"requests": {"cpu": "0.5"}}`, `{"labels": {"a": ""}}`,
		`{"a": [null, {"b": {}}]}`, `{"sizeLimit": 1e30}`, `{"emptyDir": {"a": null}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var in map[string]any
		if json.Unmarshal([]byte(text), &in) != nil {
			return
		}
		before := toJSON(t, in)
		once := manifest.Normalize(&unstructured.Unstructured{Object: in})
		if diff := cmp.Diff(once, manifest.Normalize(&unstructured.Unstructured{Object: once})); diff != "" {
			t.Errorf("normalizing %s twice changes it (-once +twice):\n%s", text, diff)
		}
		scribble(once)
		if toJSON(t, in) != before {
			t.Errorf("normalizing %s shares a part with it", text)
		}
	})
}

// integers converts decoded numbers to integers.
func integers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			value[key] = integers(v)
		}
		return value
	case []any:
		for i, v := range value {
			value[i] = integers(v)
		}
		return value
	case float64:
		return int64(value)
	default:
		return value
	}
}
