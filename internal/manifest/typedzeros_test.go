package manifest

import (
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestTypedZerosOfCustomResourcesMayBeMissing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sent, live, want string }{
		"zeros of plain fields are filled in": {
			`{"spec": {"hostNetwork": false, "containers": [{"name": "b"}, {"name": "a", "env": [{"name": "E",
				"value": ""}],
				"startupProbe": {"initialDelaySeconds": 0, "periodSeconds": 5}}]}}`,
			`{"spec": {"containers": [{"name": "a", "env": [{"name": "E"}], "startupProbe": {"periodSeconds": 5}},
				{"name": "b"}]}}`,
			`{"spec": {"hostNetwork": false, "containers": [{"name": "a", "env": [{"name": "E", "value": ""}],
				"startupProbe": {"initialDelaySeconds": 0, "periodSeconds": 5}}, {"name": "b"}]}}`,
		},
		"zeros of pointers are values": {
			`{"spec": {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false}}`, `{"spec": {}}`,
			`{"spec": {}}`,
		},
		"what is there stays": {
			`{"spec": {"containers": [{"name": "a", "startupProbe": {"initialDelaySeconds": 0}}]}}`,
			`{"spec": {"containers": [{"name": "a", "startupProbe": {"initialDelaySeconds": 3}}]}}`,
			`{"spec": {"containers": [{"name": "a", "startupProbe": {"initialDelaySeconds": 3}}]}}`,
		},
		"mounts of one volume": {
			`{"spec": {"containers": [{"name": "a", "volumeMounts": [{"name": "v", "mountPath": "/a", "readOnly":
				false}, {"name": "v", "mountPath": "/b", "readOnly": false}]}]}}`,
			`{"spec": {"containers": [{"name": "a", "volumeMounts": [{"name": "v", "mountPath": "/a"},
				{"name": "v", "mountPath": "/b"}]}]}}`,
			`{"spec": {"containers": [{"name": "a", "volumeMounts": [{"name": "v", "mountPath": "/a", "readOnly":
				false}, {"name": "v", "mountPath": "/b", "readOnly": false}]}]}}`,
		},
		"names need not be texts": {
			`{"spec": {"containers": [{"name": {"a": "b"}, "startupProbe": {"initialDelaySeconds": 0}}]}}`,
			`{"spec": {"containers": [{"name": ["a"]}, {"name": {"a": "b"}, "startupProbe": {}}]}}`,
			`{"spec": {"containers": [{"name": ["a"]}, {"name": {"a": "b"},
				"startupProbe": {"initialDelaySeconds": 0}}]}}`,
		},
		"a probe that somebody removed stays away": {
			`{"spec": {"containers": [{"name": "a", "startupProbe": {"initialDelaySeconds": 0}}]}}`,
			`{"spec": {"containers": [{"name": "a"}]}}`, `{"spec": {"containers": [{"name": "a"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent, live, want := rayWith(t, test.sent), rayWith(t, test.live), rayWith(t, test.want)
			before := (&unstructured.Unstructured{Object: live}).DeepCopy().Object
			if got := WithTypedZeros(sent, &unstructured.Unstructured{Object: live}).Object; !reflect.DeepEqual(got,
				want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if !reflect.DeepEqual(live, before) {
				t.Error("the live object was changed")
			}
		})
	}
}

func TestTypedZerosOfBuiltInKindsAreNotOwned(t *testing.T) {
	t.Parallel()
	sent := map[string]any{"spec": map[string]any{
		"template": map[string]any{"spec": map[string]any{"hostNetwork": false}}}}
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}},
	}}
	if got := WithTypedZeros(sent, live); got != live {
		t.Errorf("a Deployment became %v", got.Object)
	}
}

// rayWith returns a RayCluster with a template of its workers.
func rayWith(t *testing.T, template string) map[string]any {
	t.Helper()
	var object, pods map[string]any
	if err := json.Unmarshal([]byte(template), &pods); err != nil {
		t.Fatal(err)
	}
	const text = `{"apiVersion": "ray.io/v1", "kind": "RayCluster", "spec": {"workerGroupSpecs": [{"groupName": "w"}]}}`
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	object["spec"].(map[string]any)["workerGroupSpecs"].([]any)[0].(map[string]any)["template"] = pods
	return object
}
