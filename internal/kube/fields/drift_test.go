package fields

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const us = "terraform-provider-kt"

// document decodes YAML as a client decodes an object.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	object := fromYAML(t, text)
	wholeNumbers(object)
	return object
}

func wholeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = wholeNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case float64:
		return int64(v)
	}
	return v
}

// applied returns the record of an object for which the server responded with admitted. set is FieldsV1 in YAML.
func applied(t *testing.T, sent, admitted, set string) (Applied, []string) {
	t.Helper()
	owned := &unstructured.Unstructured{Object: map[string]any{}}
	entries(t, owned, map[string]string{us: set})
	fieldSet, ok, err := Owned(owned)
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	return Admit(document(t, sent), &unstructured.Unstructured{Object: document(t, admitted)}, fieldSet)
}

// entries sets managedFields. Our entry is an apply, those of others are updates.
func entries(t *testing.T, obj *unstructured.Unstructured, sets map[string]string) {
	t.Helper()
	var list []any
	for manager, set := range sets {
		operation := "Update"
		if manager == us {
			operation = "Apply"
		}
		list = append(list, map[string]any{
			"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fromYAML(t, set),
			"time": "2026-01-01T00:00:00Z",
		})
	}
	_ = unstructured.SetNestedSlice(obj.Object, list, "metadata", "managedFields")
}

// words formats changes as a warning does.
func words(changes []Change) []string {
	var out []string
	for _, c := range changes {
		word := c.Path
		switch {
		case c.Removed:
			word += " removed"
		case c.Added:
			word += " added"
		case c.Reordered:
			word += " reordered"
		}
		if c.Manager != "" {
			word += " by " + c.Manager
		}
		out = append(out, word)
	}
	return out
}

const (
	volumesSet = `{f:spec: {f:volumes: {'k:{"name":"scratch"}': {.: {}, f:name: {}, f:emptyDir: {}}}}}`
	portsSet   = `{f:spec: {f:ports: {'k:{"port":53,"protocol":"TCP"}': {.: {}, f:port: {}, f:name: {}},
        'k:{"port":53,"protocol":"UDP"}': {.: {}, f:port: {}, f:protocol: {}, f:name: {}}}}}`
	envSet = `{f:spec: {f:env: {'k:{"name":"A"}': {.: {}, f:name: {}, f:value: {}},
        'k:{"name":"B"}': {.: {}, f:name: {}, f:value: {}}}}}`
	threeSet = `{f:spec: {f:env: {'k:{"name":"A"}': {.: {}, f:name: {}}, 'k:{"name":"B"}': {.: {}, f:name: {}},
        'k:{"name":"C"}': {.: {}, f:name: {}}}}}`
	groupsSet  = `{f:spec: {f:groups: {}}}`
	limitsSet  = `{f:spec: {f:groups: {}, f:resources: {f:limits: {f:cpu: {}}}, f:labels: {f:cpu: {}}}}`
	twins      = `spec: {ports: [{name: tcp, port: 53}, {name: udp, port: 53, protocol: UDP}]}`
	bothTwins  = `spec: {ports: [{name: tcp, port: 53, protocol: TCP}, {name: udp, port: 53, protocol: UDP}]}`
	oneMillion = `spec: {groups: [{name: a, resources: {limits: {cpu: 1000m}}}], resources: {limits: {cpu: 1000m}}, ` +
		`labels: {cpu: 1000m}}`
)

func TestDriftByKindOfChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent, admitted, set string // admitted is sent where it is left out
		live                string
		managers            map[string]string
		rewritten           []string
		want                []string
		doc                 string // sent where it is left out
	}{
		"another source instead of an empty struct": {
			sent: `spec: {volumes: [{name: scratch, emptyDir: {}}]}`, set: volumesSet,
			live: `spec: {volumes: [{name: scratch, hostPath: {path: /etc}}]}`,
			managers: map[string]string{"kubectl-edit": `{f:spec: {f:volumes: {'k:{"name":"scratch"}': {f:hostPath: ` +
				`{.: {}, f:path: {}}}}}}`},
			want: []string{`spec.volumes["scratch"].emptyDir removed`,
				`spec.volumes["scratch"].hostPath added by kubectl-edit`},
			doc: `spec: {volumes: [{name: scratch}]}`,
		},
		"an empty struct that the server omitted from the start": {
			sent: `spec: {limits: {}}`, admitted: `spec: {}`, set: `{f:spec: {f:limits: {}}}`, live: `spec: {}`,
		},
		"a zero that the server stored and somebody removed": {
			sent: `spec: {backoffLimit: 0}`, set: `{f:spec: {f:backoffLimit: {}}}`, live: `spec: {}`,
			want: []string{"spec.backoffLimit removed"}, doc: `spec: {}`,
		},
		"a zero in an item that the server stored and somebody removed": {
			sent: `spec: {groups: [{name: a, size: 0}]}`, set: groupsSet, live: `spec: {groups: [{name: a}]}`,
			want: []string{"spec.groups"}, doc: `spec: {groups: [{name: a}]}`,
		},
		"a default of the server in an atomic map, with another value": {
			sent: `spec: {groups: {zone: x}}`, admitted: `spec: {groups: {zone: x, mode: a}}`, set: groupsSet,
			live: `spec: {groups: {zone: x, mode: b}}`,
		},
		"a zero that the server omits and somebody wrote": {
			sent: `spec: {groups: {zone: x, size: 0}}`, admitted: `spec: {groups: {zone: x}}`, set: groupsSet,
			live: `spec: {groups: {zone: x, size: 0}}`,
		},
		"an item that is as a webhook wrote it": {
			sent: `spec: {groups: [{name: a}]}`, admitted: `spec: {groups: [{name: a}, {name: b}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a}, {name: b}]}`, rewritten: []string{"spec.groups"},
		},
		"an item after another change than that of a webhook": {
			sent: `spec: {groups: [{name: a}]}`, admitted: `spec: {groups: [{name: a}, {name: b}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a}, {name: c}]}`, rewritten: []string{"spec.groups"},
			want: []string{"spec.groups"}, doc: `spec: {groups: [{name: a}, {name: c}]}`,
		},
		"defaults of the server for zeros": {
			sent: `spec: {groups: "", resources: {limits: {cpu: 0}}, labels: {cpu: x}}`, set: limitsSet,
			admitted: `spec: {groups: all, resources: {limits: {cpu: 7}}, labels: {cpu: x}}`,
			live:     `spec: {groups: all, resources: {limits: {cpu: 7}}, labels: {cpu: x}}`,
		},
		"a removed finalizer": {
			sent: `spec: {groups: [a, b]}`, set: `{f:spec: {f:groups: {'v:"a"': {}, 'v:"b"': {}}}}`,
			live: `spec: {groups: [b, c]}`,
			want: []string{"spec.groups[a] removed"}, doc: `spec: {groups: [b]}`,
		},
		"fields of others in an empty struct of ours": {
			sent: `spec: {volumes: [{name: scratch, emptyDir: {}}]}`, set: volumesSet,
			live: `spec: {volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}]}`,
			managers: map[string]string{"kubectl-edit": `{f:spec: {f:volumes: {'k:{"name":"scratch"}': {f:emptyDir: ` +
				`{f:sizeLimit: {}}}}}}`},
		},
		"an entry in an empty map that is owned as a whole": {
			sent: `spec: {nodeSelector: {}}`, admitted: `spec: {}`, set: `{f:spec: {f:nodeSelector: {}}}`,
			live:     `spec: {nodeSelector: {zone: x}}`,
			managers: map[string]string{"kubectl-edit": `{f:spec: {f:nodeSelector: {}}}`},
			want:     []string{"spec.nodeSelector by kubectl-edit"}, doc: `spec: {nodeSelector: {zone: x}}`,
		},
		"the UDP port of a pair": {
			sent: twins, admitted: bothTwins, set: portsSet,
			live: `spec: {ports: [{name: tcp, port: 53, protocol: TCP}, {name: other, port: 53, protocol: UDP}]}`,
			managers: map[string]string{"kubectl-edit": `{f:spec: {f:ports: {'k:{"port":53,"protocol":"UDP"}': ` +
				`{f:name: {}}}}}`},
			want: []string{"spec.ports[port=53,protocol=UDP].name by kubectl-edit"},
			doc:  `spec: {ports: [{name: tcp, port: 53}, {name: other, port: 53, protocol: UDP}]}`,
		},
		"the removed TCP port of a pair": {
			sent: twins, admitted: bothTwins, set: portsSet,
			live: `spec: {ports: [{name: udp, port: 53, protocol: UDP}]}`,
			want: []string{"spec.ports[port=53,protocol=TCP] removed"},
			doc:  `spec: {ports: [{name: udp, port: 53, protocol: UDP}]}`,
		},
		"quantities in another notation, which the server does not change": {
			sent: oneMillion, set: limitsSet,
			live: `spec: {groups: [{name: a, resources: {limits: {cpu: "1"}}}], resources: {limits: {cpu: 1}}, ` +
				`labels: {cpu: 1000m}}`,
		},
		"a label that has the form of a quantity": {
			sent: oneMillion, set: limitsSet,
			live: `spec: {groups: [{name: a, resources: {limits: {cpu: 1000m}}}], resources: {limits: {cpu: 1000m}}, ` +
				`labels: {cpu: "1"}}`,
			want: []string{"spec.labels.cpu"},
			doc: `spec: {groups: [{name: a, resources: {limits: {cpu: 1000m}}}], resources: {limits: {cpu: 1000m}}, ` +
				`labels: {cpu: "1"}}`,
		},
		"a reference instead of a value": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: B, value: z}]}`,
			managers: map[string]string{"kubectl-set": `{f:spec: {f:env: {'k:{"name":"A"}': {f:valueFrom: {.: {},
                f:secretKeyRef: {}}}}}}`},
			want: []string{`spec.env["A"].value removed`, `spec.env["A"].valueFrom added by kubectl-set`},
			doc:  `spec: {env: [{name: A}, {name: B, value: z}]}`,
		},
		"a reference in addition to a value, in a custom resource": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: B, value: ` +
				`z}]}`,
			want: []string{`spec.env["A"].valueFrom added`}, doc: `spec: {env: [{name: A}, {name: B, value: z}]}`,
		},
		"a reference in addition to a value, in a list that is ours as a whole": {
			sent: `spec: {groups: [{name: a, env: [{name: A, value: x}]}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a, env: [{name: A, value: x, valueFrom: {fieldRef: {}}}], hosts: 1}]}`,
			want: []string{"spec.groups"}, doc: `spec: {groups: [{name: a, env: [{name: A}]}]}`,
		},
		"items of a list that is ours as a whole in another order": {
			sent: `spec: {groups: [{name: a, size: 1, zero: 0}, {name: b, size: 2}]}`, set: groupsSet,
			admitted: `spec: {groups: [{name: a, size: 1, hosts: 1}, {name: b, size: 2, hosts: 1}]}`,
			live:     `spec: {groups: [{name: b, size: 2, hosts: 1}, {name: a, size: 1, hosts: 1}]}`,
			want:     []string{"spec.groups"}, doc: `spec: {groups: [{name: b, size: 2}, {name: a, size: 1, zero: 0}]}`,
		},
		"variables in another order": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: B, value: z}, {name: A, value: x}]}`,
		},
		"variables in another order, one of which refers to another": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: $(A)}]}`, set: envSet,
			live: `spec: {env: [{name: B, value: $(A)}, {name: C}, {name: A, value: x}]}`,
			want: []string{"spec.env reordered"}, doc: `spec: {env: [{name: B, value: $(A)}, {name: A, value: x}]}`,
		},
		"init containers in another order": {
			sent:     `spec: {initContainers: [{name: A, image: x}, {name: B, image: x}]}`,
			set:      strings.NewReplacer("env", "initContainers", "value", "image").Replace(envSet),
			live:     `spec: {initContainers: [{name: mesh}, {name: B, image: x}, {name: A, image: x}]}`,
			managers: map[string]string{"mesh": `{f:spec: {f:initContainers: {'k:{"name":"A"}': {f:name: {}}}}}`},
			want:     []string{"spec.initContainers reordered"},
			doc:      `spec: {initContainers: [{name: B, image: x}, {name: A, image: x}]}`,
		},
		"init containers in the order of an admission webhook": {
			sent:     `spec: {initContainers: [{name: A, image: x}, {name: B, image: x}]}`,
			set:      strings.NewReplacer("env", "initContainers", "value", "image").Replace(envSet),
			admitted: `spec: {initContainers: [{name: B, image: x}, {name: A, image: x}]}`,
			live:     `spec: {initContainers: [{name: B, image: x}, {name: A, image: x}]}`,
		},
		"one of two init containers removed": {
			sent: `spec: {initContainers: [{name: A, image: x}, {name: B, image: x}]}`,
			set:  strings.NewReplacer("env", "initContainers", "value", "image").Replace(envSet),
			live: `spec: {initContainers: [{name: B, image: x}]}`,
			want: []string{`spec.initContainers["A"] removed`}, doc: `spec: {initContainers: [{name: B, image: x}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.admitted == "" {
				c.admitted = c.sent
			}
			if c.doc == "" {
				c.doc = c.sent
			}
			memory, rewritten := applied(t, c.sent, c.admitted, c.set)
			if diff := cmp.Diff(c.rewritten, rewritten); diff != "" {
				t.Errorf("reported as changed on admission:\n%s", diff)
			}
			live := &unstructured.Unstructured{Object: document(t, c.live)}
			entries(t, live, c.managers)
			doc, changes := memory.Drift(live)
			if diff := cmp.Diff(c.want, words(changes)); diff != "" {
				t.Errorf("changes:\n%s", diff)
			}
			if diff := cmp.Diff(document(t, c.doc), doc); diff != "" {
				t.Errorf("document:\n%s", diff)
			}
		})
	}
}

func TestMixedUnionsAreFoundByName(t *testing.T) {
	t.Parallel()
	wanted := document(t, `spec: {containers: [{name: a, env: [{name: A, value: x}, {name: B, value: x}], `+
		`livenessProbe: {httpGet: {port: 1}}}], volumes: [{name: v, emptyDir: {}}]}`)
	live := document(t, `spec: {containers: [{name: sidecar}, {name: a, env: [{name: X}, {name: A, value: x, `+
		`valueFrom: {}}], livenessProbe: {exec: {}}}], volumes: [{name: v, emptyDir: {}}]}`)
	want := []Union{
		{Path: []string{"spec", "containers", "1", "env", "1"}, Struct: map[string]any{"name": "A", "value": "x"}},
		{Path: []string{"spec", "containers", "1", "livenessProbe"},
			Struct: map[string]any{"httpGet": map[string]any{"port": int64(1)}}},
	}
	if diff := cmp.Diff(want, MixedUnions(wanted, live)); diff != "" {
		t.Error(diff)
	}
}
