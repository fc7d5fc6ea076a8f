package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestMergeForeignKeepsAdditionsToTheSameItems(t *testing.T) {
	t.Parallel()
	const tolerations = `{f:spec: {f:tolerations: {}}}`
	for name, c := range map[string]struct{ sent, set, live, next, want string }{
		"groups in another order": {
			sent: `spec: {groups: [{groupName: a, size: 1}, {groupName: b, size: 2}]}`, set: groupsSet,
			live: `spec: {groups: [{groupName: b, size: 2, hosts: 3}, {groupName: a, size: 1, idle: 4}]}`,
			want: `spec: {groups: [{groupName: a, size: 1, idle: 4}, {groupName: b, size: 2, hosts: 3}]}`,
		},
		"tolerations in another order": {
			sent: `spec: {tolerations: [{key: a, operator: Exists}, {key: b, operator: Equal, value: x}]}`,
			set:  tolerations,
			live: `spec: {tolerations: [{key: b, operator: Equal, value: x}, {key: a, operator: Exists}]}`,
			want: `spec: {tolerations: [{key: a, operator: Exists}, {key: b, operator: Equal, value: x}]}`,
		},
		"tolerations of one key in another order": {
			sent: `spec: {tolerations: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute, tolerationSeconds: ` +
				`5}]}`, set: tolerations,
			live: `spec: {tolerations: [{key: a, effect: NoExecute, tolerationSeconds: 5}, {key: a, effect: ` +
				`NoSchedule}]}`,
			want: `spec: {tolerations: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute, tolerationSeconds: ` +
				`5}]}`,
		},
		"a changed toleration, with a field added by the same change": {
			sent: `spec: {tolerations: [{key: a, operator: Exists}]}`, set: tolerations,
			live: `spec: {tolerations: [{key: a, operator: Equal, value: x}]}`,
			want: `spec: {tolerations: [{key: a, operator: Exists}]}`,
		},
		"another member of a union": {
			sent: `spec: {groups: [{name: a, env: [{name: A, value: x}]}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a, hosts: 1, env: [{name: A, valueFrom: {fieldRef: {}}}]}]}`,
			want: `spec: {groups: [{name: a, hosts: 1, env: [{name: A, value: x}]}]}`,
		},
		"lists with keys in their live order": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: B, value: z}, {name: C}, {name: A, value: x}]}`,
			next: `spec: {env: [{name: A, value: x}, {name: N, value: n}, {name: B, value: z}]}`,
			want: `spec: {env: [{name: B, value: z}, {name: N, value: n}, {name: A, value: x}]}`,
		},
		"lists with keys whose order changes in the configuration": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`,
			next: `spec: {env: [{name: B, value: z}, {name: A, value: x}]}`,
			want: `spec: {env: [{name: B, value: z}, {name: A, value: x}]}`,
		},
		"lists in another order than that of their names": {
			sent: `spec: {env: [{name: B, value: z}, {name: A, value: x}]}`, set: envSet,
			live: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`,
			want: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`,
		},
		"lists of which somebody removed an item": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}, {name: C, value: x}]}`, set: threeSet,
			live: `spec: {env: [{name: C, value: x}, {name: A, value: x}]}`,
			want: `spec: {env: [{name: C, value: x}, {name: B, value: z}, {name: A, value: x}]}`,
		},
		"lists of which the configuration removes an item": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}, {name: C, value: x}]}`, set: threeSet,
			live: `spec: {env: [{name: C, value: x}, {name: B, value: z}, {name: A, value: x}]}`,
			next: `spec: {env: [{name: A, value: x}, {name: C, value: x}]}`,
			want: `spec: {env: [{name: C, value: x}, {name: A, value: x}]}`,
		},
		"lists in the items of a list": {
			sent: `spec: {containers: [{name: a, env: [{name: A}, {name: B}]},
                {name: b, env: [{name: A}, {name: B}]}]}`,
			set: `{f:spec: {f:containers: {
                'k:{"name":"a"}': {.: {}, f:name: {}, f:env: {
                    'k:{"name":"A"}': {.: {}, f:name: {}}, 'k:{"name":"B"}': {.: {}, f:name: {}}}},
                'k:{"name":"b"}': {.: {}, f:name: {}, f:env: {
                    'k:{"name":"A"}': {.: {}, f:name: {}}, 'k:{"name":"B"}': {.: {}, f:name: {}}}}}}}`,
			live: `spec: {containers: [{name: b, env: [{name: B}, {name: A}]}, {name: mesh},
                {name: a, env: [{name: B}, {name: A}]}]}`,
			want: `spec: {containers: [{name: b, env: [{name: B}, {name: A}]},
                {name: a, env: [{name: B}, {name: A}]}]}`,
		},
		"a list that the configuration removes": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}], size: 1}`, set: envSet,
			live: `spec: {env: [{name: B, value: z}, {name: A, value: x}], size: 1}`,
			next: `spec: {size: 1}`, want: `spec: {size: 1}`,
		},
		"another type instead of a list": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: B, value: z}, {name: A, value: x}]}`,
			next: `spec: {env: x}`, want: `spec: {env: x}`,
		},
		"a map instead of a list": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: z}]}`, set: envSet,
			live: `spec: {env: [{name: B, value: z}, {name: A, value: x}]}`,
			next: `spec: {env: {name: A}}`, want: `spec: {env: {name: A}}`,
		},
		"a value of ours that was removed, with a field added by the same change": {
			sent: `spec: {tolerations: [{key: a, operator: Exists, value: x}]}`, set: tolerations,
			live: `spec: {tolerations: [{key: a, operator: Exists, effect: y}]}`,
			want: `spec: {tolerations: [{key: a, operator: Exists, value: x}]}`,
		},
		"a zero of ours that is not stored, and a field of others": {
			sent: `spec: {tolerations: [{key: a, tolerationSeconds: 0}]}`, set: tolerations,
			live: `spec: {tolerations: [{key: a, effect: y}]}`,
			want: `spec: {tolerations: [{key: a, tolerationSeconds: 0, effect: y}]}`,
		},
		"a changed label, and a label of others": {
			sent: `spec: {groups: [{name: a, labels: {team: ml}}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a, labels: {team: ai, queue: q}}]}`,
			want: `spec: {groups: [{name: a, labels: {team: ml, queue: q}}]}`,
		},
		"a changed value in a struct of structs, and a field of others": {
			sent: `spec: {groups: [{name: a, size: 1, template: {}}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a, size: 2, template: {}, hosts: 1}]}`,
			want: `spec: {groups: [{name: a, size: 1, template: {}, hosts: 1}]}`,
		},
		"a changed value, and a struct of others": {
			sent: `spec: {groups: [{name: a, size: 1}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a, size: 2, template: {}}]}`,
			want: `spec: {groups: [{name: a, size: 1, template: {}}]}`,
		},
		"a value that the configuration removes": {
			sent: `spec: {groups: [{name: a, size: 1, hosts: 2}]}`, set: groupsSet,
			live: `spec: {groups: [{name: a, size: 1, hosts: 2, idle: 3}]}`,
			next: `spec: {groups: [{name: a, size: 1}]}`, want: `spec: {groups: [{name: a, size: 1, idle: 3}]}`,
		},
		"an atomic map of ours": {
			sent: `spec: {groups: {zone: x}}`, set: groupsSet, live: `spec: {groups: {zone: x, pool: y}}`,
			want: `spec: {groups: {zone: x}}`,
		},
		"lists whose order has a meaning": {
			sent: `spec: {env: [{name: A, value: x}, {name: B, value: $(A)}]}`, set: envSet,
			live: `spec: {env: [{name: B, value: $(A)}, {name: A, value: x}]}`,
			want: `spec: {env: [{name: A, value: x}, {name: B, value: $(A)}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.next == "" {
				c.next = c.sent
			}
			memory, _ := applied(t, c.sent, c.sent, c.set)
			before := runtime.DeepCopyJSON(memory.Object)
			got := memory.MergeForeign(document(t, c.next), &unstructured.Unstructured{Object: document(t, c.live)})
			if diff := cmp.Diff(document(t, c.want), got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, memory.Object); diff != "" {
				t.Errorf("the record has changed:\n%s", diff)
			}
		})
	}
}
