package fields_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// importedSet is the set of the fields of imported, and of two that their types do not store while they are zero:
// hostNetwork and the value of a variable.
const importedSet = `{
  "f:metadata": {"f:labels": {"f:team": {}}},
  "f:spec": {
    "f:replicas": {}, "f:hostNetwork": {}, "f:tolerations": {}, "f:nodeSelector": {},
    "f:containers": {"k:{\"name\":\"kubetorch\"}": {".": {}, "f:name": {}, "f:image": {},
"f:resources": {"f:requests": {"f:memory": {}}},
      "f:env": {"k:{\"name\":\"EMPTY\"}": {".": {}, "f:name": {}, "f:value": {}}},
      "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}}
  }
}`

const imported = `
apiVersion: v1
kind: Pod
metadata: {name: trainer, namespace: ml, labels: {team: ml}}
spec:
  replicas: 1
  tolerations: [{key: gpu, operator: Exists}]
  nodeSelector: {zone: x}
  containers:
  - name: kubetorch
    image: a:1
    resources: {requests: {memory: 1Gi}}
    env: [{name: EMPTY}]
    ports: [{containerPort: 80}]
`

func TestCompareWithAnImportedObject(t *testing.T) {
	t.Parallel()
	set, err := fields.Parse([]byte(importedSet))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, new string // of the text that is planned
		want     fields.Match
	}{
		"the same": {"", "", fields.Equal},
		"a zero that was applied and is not stored": {"replicas: 1", "replicas: 1, hostNetwork: false", fields.Equal},
		"the empty variable that was applied":       {"{name: EMPTY}", `{name: EMPTY, value: ""}`, fields.Equal},
		"a field with its default": {"containerPort: 80", "containerPort: 80, protocol: TCP",
			fields.Different},
		"a zero that was never applied": {"replicas: 1", "replicas: 1, hostPID: false", fields.Different},
		"another value":                 {"a:1", "a:2", fields.Different},
		"a zero for a value":            {"replicas: 1", "replicas: 0", fields.Different},
		"a removed field":               {"replicas: 1\n", "\n", fields.Different},
		"a removed field of a container": {"    resources: {requests: {memory: 1Gi}}\n", "",
			fields.Different},
		"a removed label": {", labels: {team: ml}", "", fields.Different},
		"an added label":  {"team: ml", "team: ml, more: x", fields.Different},
		"another name":    {"name: trainer", "name: other", fields.Different},
		"a removed item":  {"env: [{name: EMPTY}]", "env: []", fields.Different},
		"an added item": {"[{name: EMPTY}]", "[{name: EMPTY}, {name: MORE}]",
			fields.Different},
		"a removed list": {"  tolerations: [{key: gpu, operator: Exists}]\n", "",
			fields.Different},
		"a removed item of an atomic list":           {"[{key: gpu, operator: Exists}]", "[]", fields.Different},
		"another value in an atomic list":            {"key: gpu", "key: tpu", fields.Different},
		"a removed key in an item of an atomic list": {"{key: gpu, operator: Exists}", "{key: gpu}", fields.Undecided},
		"an added zero in an item of an atomic list": {"operator: Exists}", "operator: Exists, tolerationSeconds: 0}",
			fields.Undecided},
		"an added value in an item of an atomic list": {"operator: Exists}", "operator: Exists, tolerationSeconds: 5}",
			fields.Different},
		"a removed key of an atomic map":    {"nodeSelector: {zone: x}", "nodeSelector: {}", fields.Undecided},
		"another value in an atomic map":    {"zone: x", "zone: y", fields.Different},
		"a list instead of an atomic map":   {"nodeSelector: {zone: x}", "nodeSelector: [zone]", fields.Different},
		"a map instead of a list with keys": {"env: [{name: EMPTY}]", "env: {name: EMPTY}", fields.Different},
		"a string instead of an object": {"metadata: {name: trainer, namespace: ml, labels: {team: ml}}", "metadata: x",
			fields.Different},
		"only the fields that identify the object": {imported,
			"{apiVersion: v1, kind: Pod, metadata: {name: trainer, namespace: ml}}", fields.Different},
		"an item inserted into an atomic list": {"[{key: gpu, operator: Exists}]",
			"[{key: a}, {key: gpu, operator: Exists}]", fields.Different},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := strings.TrimPrefix(imported, "\n")
			old := strings.TrimPrefix(c.old, "\n")
			planned := splitLine(strings.Replace(live, old, c.new, 1), c.new)
			if c.old != "" && planned == live {
				t.Fatalf("%q is not in the text", c.old)
			}
			if got := fields.Compare(objectOf(t, planned), objectOf(t, live), set); got != c.want {
				t.Errorf("is %d, want %d", got, c.want)
			}
		})
	}
}

// splitLine puts a further field of spec, written after a comma, on a separate line.
func splitLine(text, field string) string {
	first, second, ok := strings.Cut(field, ", ")
	if !ok || !strings.HasPrefix(field, "replicas: 1, ") {
		return text
	}
	return strings.Replace(text, field, first+"\n  "+second, 1)
}

func TestCompareReportsAChangedOrder(t *testing.T) {
	t.Parallel()
	set, err := fields.Parse([]byte(`{"f:env": {"k:{\"name\":\"A\"}": {".": {}, "f:name": {}},
		"k:{\"name\":\"B\"}": {".": {}, "f:name": {}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	live := objectOf(t, "env: [{name: B}, {name: A}]")
	for text, want := range map[string]fields.Match{"env: [{name: B}, {name: A}]": fields.Equal,
		"env: [{name: A}, {name: B}]": fields.Different} {
		if got := fields.Compare(objectOf(t, text), live, set); got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
}

// Custom kinds can have fields that may be null. The server stores them, and records who applied them.
func TestANullIsComparedAsAValue(t *testing.T) {
	t.Parallel()
	set, err := fields.Parse([]byte(`{"f:spec": {"f:limit": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		live, next string // of spec
		want       fields.Match
	}{
		"the same":                           {"{limit: null}", "{limit: null}", fields.Equal},
		"it is removed":                      {"{limit: null}", "{}", fields.Different},
		"a value for it":                     {"{limit: null}", "{limit: 1}", fields.Different},
		"a zero for it":                      {"{limit: null}", "{limit: 0}", fields.Different},
		"it is for a value":                  {"{limit: 1}", "{limit: null}", fields.Different},
		"it was applied and is not stored":   {"{}", "{limit: null}", fields.Equal},
		"a value that is not stored":         {"{}", "{limit: 1}", fields.Different},
		"a field that neither of them has":   {"{}", "{}", fields.Equal},
		"a field that somebody else removed": {"{}", "{limit: {max: 1}}", fields.Different},
	} {
		live, next := objectOf(t, "spec: "+c.live), objectOf(t, "spec: "+c.next)
		if got := fields.Compare(next, live, set); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestSameContentIgnoresMetadataOfTheServer(t *testing.T) {
	t.Parallel()
	of := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: objectOf(t, text)}
	}
	before := of(`{metadata: {name: a, resourceVersion: "1", generation: 1, managedFields: [{manager: x}]},
        spec: {a: 1}, status: {b: 1}}`)
	for text, want := range map[string]bool{
		`{metadata: {name: a, resourceVersion: "2", generation: 2, managedFields: []}, spec: {a: 1},` +
			` status: {b: 2}}`: true,
		`{metadata: {name: a, resourceVersion: "2", generation: 2},` +
			` spec: {a: 2}}`: false,
		`{metadata: {name: a, labels: {x: y}}, spec: {a: 1}}`: false,
	} {
		if got := fields.SameContent(before, of(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// objectOf decodes as client-go does: integers are int64.
func objectOf(t *testing.T, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
