package fields_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

const ours = "terraform-provider-kt"

// live is a Deployment in the server's response to our apply: it has defaults that nobody sent, a sidecar of a
// webhook, and status.
const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: trainer
  namespace: ml
  resourceVersion: "7"
  labels: {team: x, app.kubernetes.io/name: t}
  annotations: {deployment.kubernetes.io/revision: "1"}
  managedFields:
  - manager: terraform-provider-kt
    operation: Apply
    apiVersion: apps/v1
    time: "2026-01-01T10:00:00Z"
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:labels:
          f:team: {}
          f:app.kubernetes.io/name: {}
      f:spec:
        f:replicas: {}
        f:selector: {}
        f:template:
          f:spec:
            f:tolerations: {}
            f:containers:
              k:{"name":"kubetorch"}:
                .: {}
                f:name: {}
                f:image: {}
                f:startupProbe:
                  f:initialDelaySeconds: {}
                  f:periodSeconds: {}
                f:env:
                  k:{"name":"LEVEL"}: {".": {}, f:name: {}, f:value: {}}
                f:ports:
                  k:{"containerPort":32300,"protocol":"TCP"}: {".": {}, f:containerPort: {}}
                f:resources: {f:requests: {f:cpu: {}}}
  - manager: kube-controller-manager
    operation: Update
    subresource: status
    time: "2026-01-01T10:00:05Z"
    fieldsType: FieldsV1
    fieldsV1: {f:status: {f:replicas: {}}}
spec:
  replicas: 2
  progressDeadlineSeconds: 600
  selector: {matchLabels: {a: b}}
  template:
    spec:
      tolerations: [{key: gpu, operator: Exists}]
      containers:
      - name: injected
        image: sidecar:1
      - name: kubetorch
        image: server:v3
        imagePullPolicy: IfNotPresent
        startupProbe: {periodSeconds: 5, failureThreshold: 3}
        env: [{name: LEVEL, value: INFO}, {name: INJECTED, value: "1"}]
        ports: [{containerPort: 32300, protocol: TCP}]
        resources: {requests: {cpu: "1"}}
status: {replicas: 2}
`

const sent = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: trainer
  namespace: ml
  labels: {team: x, app.kubernetes.io/name: t}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    spec:
      tolerations: [{key: gpu, operator: Exists}]
      containers:
      - name: kubetorch
        image: server:latest
        startupProbe: {initialDelaySeconds: 0, periodSeconds: 5}
        env: [{name: LEVEL, value: INFO}]
        ports: [{containerPort: 32300}]
        resources: {requests: {cpu: 1000m}}
`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}

func admitted(t *testing.T) (fields.Applied, []string) {
	t.Helper()
	response := parse(t, live)
	set, ok, err := fields.Owned(response)
	if err != nil || !ok {
		t.Fatalf("Owned: %v, %v", ok, err)
	}
	return fields.Admit(parse(t, sent).Object, response, set)
}

func TestAdmitReportsRewrittenButNotOmittedValues(t *testing.T) {
	t.Parallel()
	applied, rewritten := admitted(t)
	cpu := `spec.template.spec.containers["kubetorch"].resources.requests.cpu`
	image := `spec.template.spec.containers["kubetorch"].image`
	if diff := cmp.Diff([]string{image}, rewritten); diff != "" {
		t.Errorf("rewritten:\n%s", diff)
	}
	want := map[string]any{image: "server:v3", cpu: "1",
		`spec.template.spec.containers["kubetorch"].startupProbe.initialDelaySeconds`: nil}
	if diff := cmp.Diff(want, applied.Admitted); diff != "" {
		t.Errorf("admitted:\n%s", diff)
	}
}

func TestProjectKeepsOurFieldsOnly(t *testing.T) {
	t.Parallel()
	obj := parse(t, live)
	set, _, err := fields.Owned(obj)
	if err != nil {
		t.Fatal(err)
	}
	want := parse(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: trainer
  namespace: ml
  labels: {team: x, app.kubernetes.io/name: t}
spec:
  replicas: 2
  selector: {matchLabels: {a: b}}
  template:
    spec:
      tolerations: [{key: gpu, operator: Exists}]
      containers:
      - name: kubetorch
        image: server:v3
        startupProbe: {periodSeconds: 5}
        env: [{name: LEVEL, value: INFO}]
        ports: [{containerPort: 32300}]
        resources: {requests: {cpu: "1"}}
`).Object
	if diff := cmp.Diff(want, fields.Project(obj.Object, set)); diff != "" {
		t.Errorf("projection:\n%s", diff)
	}
}

func TestOwnedIsEmptyWithoutAnApply(t *testing.T) {
	t.Parallel()
	if _, ok, err := fields.Owned(parse(t, strings.ReplaceAll(live, ours, "somebody-else"))); ok || err != nil {
		t.Errorf("got %v, %v", ok, err)
	}
}

// manager returns a managedFields entry for one Update.
func manager(name, at, fieldsV1 string) map[string]any {
	var set map[string]any
	if err := json.Unmarshal([]byte(fieldsV1), &set); err != nil {
		panic(err)
	}
	entry := map[string]any{"manager": name, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": set}
	if at != "" {
		entry["time"] = at
	}
	return entry
}

func TestDriftReportsFieldAndManager(t *testing.T) {
	t.Parallel()
	container := func(obj *unstructured.Unstructured) map[string]any {
		spec := obj.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		return spec["containers"].([]any)[1].(map[string]any)
	}
	const path = `spec.template.spec.containers["kubetorch"]`
	tests := map[string]struct {
		change   func(*unstructured.Unstructured)
		managers []map[string]any
		want     []string // path, and "removed" or the manager
	}{
		"nothing": {change: func(*unstructured.Unstructured) {}},
		"fields of others": {change: func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"new": "1"})
			container(o)["imagePullPolicy"] = "Always"
			o.Object["status"] = map[string]any{"replicas": int64(9)}
		}},
		"a scaled Deployment": {
			change:   func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)["replicas"] = int64(5) },
			managers: []map[string]any{manager("kubectl", "2026-01-02T00:00:00Z", `{"f:spec":{"f:replicas":{}}}`)},
			want:     []string{"spec.replicas by kubectl"},
		},
		"the latest of two managers": {
			change: func(o *unstructured.Unstructured) { container(o)["image"] = "other:1" },
			managers: []map[string]any{
				manager("late", "2026-01-03T00:00:00Z",
					`{"f:spec":{"f:template":{"f:spec":{"f:containers":`+
						`{"k:{\"name\":\"kubetorch\"}":{"f:image":{}}}}}}}`),
				manager("early", "2026-01-02T00:00:00Z",
					`{"f:spec":{"f:template":{"f:spec":{"f:containers":`+
						`{"k:{\"name\":\"kubetorch\"}":{"f:image":{}}}}}}}`),
			},
			want: []string{path + ".image by late"},
		},
		"the second of two managers": {
			change: func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)["replicas"] = int64(5) },
			managers: []map[string]any{
				manager("early", "2026-01-02T00:00:00Z", `{"f:spec":{"f:replicas":{}}}`),
				manager("late", "2026-01-03T00:00:00Z", `{"f:spec":{"f:replicas":{}}}`),
			},
			want: []string{"spec.replicas by late"},
		},
		"a manager without a time": {
			change:   func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)["replicas"] = int64(5) },
			managers: []map[string]any{manager("old", "", `{"f:spec":{"f:replicas":{}}}`)},
			want:     []string{"spec.replicas by old"},
		},
		"a manager whose entry cannot be read": {
			change: func(o *unstructured.Unstructured) { o.Object["spec"].(map[string]any)["replicas"] = int64(5) },
			managers: []map[string]any{
				{"manager": "broken", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": []any{}},
				manager("kubectl", "2026-01-02T00:00:00Z", `{"f:spec":{"f:replicas":{}}}`),
			},
			want: []string{"spec.replicas by kubectl"},
		},
		"a changed variable": {
			change: func(o *unstructured.Unstructured) {
				container(o)["env"].([]any)[0].(map[string]any)["value"] = "DEBUG"
			},
			want: []string{path + `.env["LEVEL"].value by `},
		},
		"a removed variable": {
			change: func(o *unstructured.Unstructured) { container(o)["env"] = container(o)["env"].([]any)[1:] },
			want:   []string{path + `.env["LEVEL"] removed`},
		},
		"a removed label": {
			change: func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "x"}) },
			want:   []string{`metadata.labels["app.kubernetes.io/name"] removed`},
		},
		"an item that moved": {
			change: func(o *unstructured.Unstructured) {
				spec := o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
				list := spec["containers"].([]any)
				spec["containers"] = []any{list[1], list[0]}
			},
		},
		"a toleration added to our list": {
			change: func(o *unstructured.Unstructured) {
				spec := o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
				spec["tolerations"] = append(spec["tolerations"].([]any), map[string]any{"operator": "Exists"})
			},
			want: []string{"spec.template.spec.tolerations by "},
		},
		"a changed delay of a probe that we had set to zero": {
			change: func(o *unstructured.Unstructured) {
				container(o)["startupProbe"].(map[string]any)["initialDelaySeconds"] = int64(10)
			},
			want: []string{path + ".startupProbe.initialDelaySeconds by "},
		},
		"a quantity restored to our notation": {
			change: func(o *unstructured.Unstructured) {
				container(o)["resources"] = map[string]any{"requests": map[string]any{"cpu": "2"}}
			},
			want: []string{path + ".resources.requests.cpu by "},
		},
		"the whole container": {
			change: func(o *unstructured.Unstructured) {
				spec := o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
				spec["containers"] = spec["containers"].([]any)[:1]
			},
			want: []string{path + " removed"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applied, _ := admitted(t)
			now := parse(t, live)
			test.change(now)
			entries := now.Object["metadata"].(map[string]any)["managedFields"].([]any)
			for _, m := range test.managers {
				entries = append(entries, m)
			}
			now.Object["metadata"].(map[string]any)["managedFields"] = entries

			doc, changes := applied.Drift(now)
			var got []string
			for _, c := range changes {
				if c.Removed {
					got = append(got, c.Path+" removed")
				} else {
					got = append(got, c.Path+" by "+c.Manager)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("changes:\n%s", diff)
			}
			if unchanged := cmp.Equal(applied.Object, doc); unchanged != (len(test.want) == 0) {
				t.Errorf("document unchanged: %v, with changes %v", unchanged, got)
			}
			again, _ := admitted(t)
			if diff := cmp.Diff(again.Object, applied.Object); diff != "" {
				t.Errorf("Drift changed its own memory:\n%s", diff)
			}
		})
	}
}

// FuzzParse tests the parser of remembered field sets, which reads from state files.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"f:spec":{"f:replicas":{},"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{}}}}}`))
	f.Add([]byte(`{"f:a":{"v:1":{},"i:0":{}}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := fields.Parse(data)
		if err != nil {
			return
		}
		text := fields.Format(set)
		again, err := fields.Parse(text)
		if err != nil || !again.Equals(set) {
			t.Errorf("%s does not come back from %s: %v", set, text, err)
		}
		obj := &unstructured.Unstructured{
			Object: map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}}
		applied, _ := fields.Admit(obj.Object, obj, set)
		applied.Drift(obj)
	})
}
