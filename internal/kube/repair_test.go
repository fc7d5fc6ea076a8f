package kube

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// parse reads an object from YAML as a client does.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(toJSON(t, text)); err != nil {
		t.Fatal(err)
	}
	return obj
}

// wantedPods is an applied Deployment.
const wantedPods = `
apiVersion: apps/v1
kind: Deployment
spec:
  strategy: {type: Recreate}
  template:
    spec:
      containers:
      - name: kubetorch
        env: [{name: A, value: x}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        ports: [{name: http1, containerPort: 32300}]
        livenessProbe: {httpGet: {path: /health, port: 32300}, periodSeconds: 30}
`

// livePods is the live Deployment: with a sidecar before the applied container,
// and with all changes that conflict with the applied fields.
const livePods = `
apiVersion: apps/v1
kind: Deployment
metadata:
  resourceVersion: "7"
  managedFields:
  - manager: terraform-provider-kt
    operation: Apply
    fieldsV1:
      f:spec: {f:template: {f:spec: {f:containers: {'k:{"name":"kubetorch"}': {
        f:ports: {'k:{"containerPort":32300,"protocol":"TCP"}': {f:name: {}}}}}}}}
spec:
  other: {b: 1}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%}}
  template:
    spec:
      containers:
      - name: injected
        ports: [{name: http1, containerPort: 1, protocol: TCP}]
        livenessProbe: {exec: {command: ["true"]}}
      - name: kubetorch
        env: [{name: C}, {name: B, valueFrom: {fieldRef: {}}}, {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        ports: [{name: metrics, containerPort: 2, protocol: TCP}, {name: http1, containerPort: 9000, protocol: TCP}]
        livenessProbe: {exec: {command: ["true"]}, periodSeconds: 30}
        lifecycle: {preStop: {exec: {command: ["true"]}}}
`

func TestRepairsRestoreFieldsThatAnApplyCannot(t *testing.T) {
	t.Parallel()
	duplicate := func(field string) FieldCause {
		return FieldCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: field}
	}
	forbidden := func(field string) FieldCause {
		return FieldCause{Type: metav1.CauseTypeForbidden, Field: field}
	}
	const probe = `{"op":"replace","path":"/spec/template/spec/containers/1/livenessProbe",` +
		`"value":{"httpGet":{"path":"/health","port":32300},"periodSeconds":30}}`
	const variables = `{"op":"replace","path":"/spec/template/spec/containers/1/env/2","value":{"name":"A",` +
		`"value":"x"}},` +
		`{"op":"replace","path":"/spec/template/spec/containers/1/env/1/valueFrom",` +
		`"value":{"secretKeyRef":{"key":"k","name":"s"}}}`
	const guard = `{"op":"replace","path":"/metadata/resourceVersion","value":"7"}`
	invalid := func(field string) FieldCause {
		return FieldCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field}
	}
	for name, test := range map[string]struct {
		cause FieldCause
		want  string
	}{
		"a reference that replaced a value, at another index of the merged list": {
			invalid("spec.template.spec.containers[0].env[0].valueFrom"), `[` + guard + `,` + variables + `]`,
		},
		"another source of a value": {
			invalid("spec.template.spec.containers[0].env[1].valueFrom"), `[` + guard + `,` + variables + `]`,
		},
		"the changed keys of an item": {
			duplicate("spec.template.spec.containers[1].ports[2].name"),
			`[` + guard +
				`,{"op":"replace","path":"/spec/template/spec/containers/1/ports/1/containerPort","value":32300}]`,
		},
		"a struct with a field of another client": {
			forbidden("spec.strategy.rollingUpdate"),
			`[` + guard + `,{"op":"replace","path":"/spec/strategy","value":{"type":"Recreate"}}]`,
		},
		"a struct with an invalid field of another client": {
			invalid("spec.strategy.rollingUpdate"),
			`[` + guard + `,{"op":"replace","path":"/spec/strategy","value":{"type":"Recreate"}}]`,
		},
		"a struct with an applied field that conflicts with another": {
			forbidden("spec.template.spec.containers[1].livenessProbe.httpGet"),
			`[` + guard + `,` + probe + `]`,
		},
		"nothing in a container of another client": {
			forbidden("spec.template.spec.containers[0].readinessProbe.exec"), `null`,
		},
		"nothing in a struct of another client": {forbidden("spec.other.b"), `null`},
		"nothing in the object":                 {forbidden("status"), `null`},
		"nothing in a shared struct": {
			forbidden("spec.template.spec.containers[1].lifecycle"), `null`,
		},
		"nothing for other causes": {
			FieldCause{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.strategy.type"}, `null`,
		},
		"nothing for a field outside of list items": {
			duplicate("metadata.name"), `null`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(repairs(parse(t, wantedPods), parse(t, livePods), []FieldCause{test.cause}))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestRepairsEmptyMapsThatAnApplyWouldMakeNull(t *testing.T) {
	t.Parallel()
	cluster := func(head, worker string) *unstructured.Unstructured {
		return parse(t, "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {resourceVersion: '7'}\nspec:\n"+
			"  headGroupSpec: {rayStartParams: "+head+"}\n"+
			"  workerGroupSpecs: [{groupName: w, rayStartParams: "+worker+"}]")
	}
	const head, guard = "spec.headGroupSpec.rayStartParams",
		`[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},{"op":"replace","path":`
	for name, c := range map[string]struct{ wanted, field, want string }{
		"the last field":           {"{}", head, guard + `"/spec/headGroupSpec/rayStartParams","value":{}}]`},
		"not of a map with fields": {"{a: b}", head, "null"},
		"not of another map":       {"{}", "spec.other", "null"},
		"not of a field":           {"{}", head + ".a", "null"},
	} {
		cause := FieldCause{Type: metav1.CauseTypeTypeInvalid, Field: c.field}
		got, err := json.Marshal(repairs(cluster(c.wanted, "{}"), cluster("{a: b}", "{}"), []FieldCause{cause}))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
	}
}

// In a custom resource, a field such as name may have any type.
func TestRepairsCompareItemsWithAnyFieldTypes(t *testing.T) {
	t.Parallel()
	const document = `
apiVersion: example.com/v1
kind: Run
spec:
  ports: [{name: {first: a}, port: 1}, {name: [b], port: 2}]
`
	duplicate := FieldCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.ports[1].name"}
	if patch := repairs(parse(t, document), parse(t, document), []FieldCause{duplicate}); patch != nil {
		t.Errorf("got %v", patch)
	}
}

func TestRepairsChangeOnlyItemsWithTheDuplicateValue(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: v1\nkind: Service\n"
	const keys = `
metadata:
  resourceVersion: "7"
  managedFields:
  - manager: empty
  - manager: unreadable
    fieldsV1: [x]
  - manager: kubectl
    fieldsV1:
      f:spec: {f:clusterIP: {}, f:type: {}, f:other: {'k:{"id":1}': {}},
        f:ports: {'k:{"port":1,"protocol":"TCP"}': {}}}
`
	duplicate := FieldCause{Type: metav1.CauseTypeFieldValueDuplicate, Field: "spec.ports[1].name"}
	for name, test := range map[string]struct{ wanted, live, want string }{
		"the key": {`[{name: a, port: 1}]`, `[{name: b, port: 2}, {name: a, port: 3}]`,
			`[{"op":"replace","path":"/metadata/resourceVersion","value":"7"},` +
				`{"op":"replace","path":"/spec/ports/1/port","value":1}]`},
		"another notation":      {`[{name: a, port: 1}]`, `[{name: a, port: "1"}]`, `null`},
		"items without a value": {`[{port: 1}]`, `[{port: 3}]`, `null`},
		"a key that is not set": {`[{name: a}]`, `[{name: a, port: 3}]`, `null`},
		"another value":         {`[{name: a, port: 1}]`, `[{name: b, port: 3}]`, `null`},
	} {
		got, err := json.Marshal(repairs(parse(t, head+"spec: {ports: "+test.wanted+"}"),
			parse(t, head+keys+"spec: {ports: "+test.live+"}"), []FieldCause{duplicate}))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, test.want)
		}
	}
}

func TestConflictsAreRetriedForSeconds(t *testing.T) {
	t.Parallel()
	interval, total, want := conflictBackoff(), time.Duration(0), 20*time.Millisecond
	for interval.Steps > 1 {
		step := interval.Step()
		if step < want || float64(step) > 1.2*float64(want) {
			t.Errorf("a step of %s, want %s or a fifth more", step, want)
		}
		want = time.Duration(float64(want) * 1.6)
		total += step
	}
	if total < 5*time.Second || total > 8*time.Second {
		t.Errorf("%s in total", total)
	}
}

// FuzzRepairs decodes the causes of a rejection and two documents. No response may
// cause a panic, and the result must be a valid JSON patch.
func FuzzRepairs(f *testing.F) {
	for _, field := range []string{
		"spec.template.spec.containers[1].ports[2].name", "spec.template.spec.containers[0].env[0].valueFrom",
		"spec.strategy.rollingUpdate", "metadata.name", "", "[0].x", "spec.ports[0].name",
	} {
		f.Add(field, toJSON(f, wantedPods), toJSON(f, livePods))
		f.Add(field, []byte(`{"spec":{"ports":[{"name":{}}]}}`), []byte(`{"spec":{"ports":[{"name":{}},{"name":[]}]}}`))
	}
	f.Fuzz(func(t *testing.T, field string, wanted, live []byte) {
		ours, theirs := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if json.Unmarshal(wanted, &ours.Object) != nil || json.Unmarshal(live, &theirs.Object) != nil {
			return
		}
		for _, cause := range []metav1.CauseType{
			metav1.CauseTypeFieldValueDuplicate, metav1.CauseTypeForbidden, metav1.CauseTypeFieldValueInvalid,
		} {
			if _, err := json.Marshal(repairs(ours, theirs, []FieldCause{{Type: cause, Field: field}})); err != nil {
				t.Errorf("%s at %q: %v", cause, field, err)
			}
		}
	})
}

func toJSON(t testing.TB, text string) []byte {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
