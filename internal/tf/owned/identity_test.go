package owned

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// from marks an object as created by the creation with an ID, but not as its first object.
func from(id string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{kube.CreationAnnotation: id})
		records := obj.GetManagedFields()
		records[0].FieldsV1 = metav1.NewFieldsV1(
			`{"f:metadata":{"f:annotations":{"f:kt.dev/creation":{}}},"f:spec":{}}`)
		obj.SetManagedFields(records)
	}
}

// appliedBefore gives an object the times of an object whose creation an admission webhook has delayed.
func appliedBefore(obj *unstructured.Unstructured) {
	created := time.Now()
	obj.SetCreationTimestamp(metav1.NewTime(created))
	records := obj.GetManagedFields()
	applied := metav1.NewTime(created.Add(-time.Second))
	records[0].Time = &applied
	obj.SetManagedFields(records)
}

func TestHasRecognizesTheObjectInState(t *testing.T) {
	t.Parallel()
	const ours, theirs = kube.Manager, "kubectl"
	for name, c := range map[string]struct {
		entry *Entry
		uid   types.UID // in the attributes
		any   bool      // the attributes contain UIDs of other objects
		live  *unstructured.Unstructured
		want  bool
	}{
		"the UID":     {entry: &Entry{UID: "u"}, live: live(theirs), want: true},
		"another UID": {entry: &Entry{UID: "v"}, live: live(ours, unfinished)},
		"first object of the creation": {entry: &Entry{Creation: "some"}, live: live(ours, unfinished),
			want: true},
		"second object of the creation": {entry: &Entry{Creation: "some"},
			live: live(ours, from("some")), want: true},
		"first object of another creation": {entry: &Entry{Creation: "other"},
			live: live(ours, unfinished)},
		"second object of another creation": {entry: &Entry{Creation: "other"},
			live: live(ours, from("some"))},
		"completed by another state": {entry: &Entry{Creation: "some"}, live: live(ours)},
		"marked by another manager": {entry: &Entry{Creation: "some"},
			live: live(theirs, unfinished)},
		"no entry, unfinished object":                  {live: live(ours, unfinished), want: true},
		"no entry, complete object":                    {live: live(ours)},
		"UID in the attributes":                        {uid: "u", live: live(ours), want: true},
		"another UID in the attributes":                {uid: "v", live: live(ours)},
		"only UIDs of other objects in the attributes": {any: true, live: live(ours), want: true},
		"private state takes precedence over attributes": {entry: &Entry{Creation: "some"}, uid: "u", any: true,
			live: live(ours)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, key := Memory{}, manifest.Key(c.live)
			if c.entry != nil {
				memory[key] = *c.entry
			}
			if c.uid != "" || c.any {
				recoverEntry(t, memory, c.live, c.uid)
			}
			if got, err := memory.Has(key, c.live); err != nil || got != c.want {
				t.Errorf("recognized: %t, %v; want %t", got, err, c.want)
			}
		})
	}
}

// recoverEntry recovers the entry of an object from a state. Without its UID, the state contains that of another one.
func recoverEntry(t *testing.T, memory Memory, obj *unstructured.Unstructured, uid types.UID) {
	t.Helper()
	manifests, err := ManifestsOf(obj)
	if err != nil {
		t.Fatal(err)
	}
	memory.RecoverObjects(manifests, cmp.Or(uid, "other"), func(*unstructured.Unstructured) bool { return uid != "" })
}

func TestRefreshCompletesARecoveredEntry(t *testing.T) {
	t.Parallel()
	for name, uid := range map[string]types.UID{"UID in the attributes": "u", "only UIDs of other objects": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := live(kube.Manager, from("some"))
			memory, key := Memory{}, manifest.Key(object)
			recoverEntry(t, memory, object, uid)
			memory = saved(t, memory) // as by an apply without a refresh
			if has, err := memory.Has(key, object); err != nil || !has {
				t.Fatalf("recognized before the refresh: %t, %v", has, err)
			}
			fresh, err := memory.Refresh(key, object, object)
			if err != nil || len(fresh.Changes) > 0 {
				t.Fatalf("changes %v, %v", fresh.Changes, err)
			}
			entry := saved(t, memory)[key]
			if entry.UID != "u" || entry.Creation != "some" || !entry.recorded() || !entry.Assumed || entry.Recovered {
				t.Errorf("entry is %+v", entry)
			}
		})
	}
}

// saved is what the next run reads from the private state.
func saved(t *testing.T, memory Memory) Memory {
	t.Helper()
	data, err := json.Marshal(memory)
	if err != nil {
		t.Fatal(err)
	}
	var out Memory
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefreshOfAnObjectWithAnotherUID(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want string
		gone bool
	}{
		"restored from a backup":            {live(kube.Manager, from("some")), "was restored", false},
		"created again by another state":    {live(kube.Manager, from("other")), "was replaced", true},
		"created again with a slow webhook": {live(kube.Manager, appliedBefore), "was replaced", true},
		"restored, of another manager":      {live("kubectl", from("some")), "was replaced", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := manifest.Key(c.live)
			memory := Memory{key: {UID: "old", Creation: "some"}}
			diags, err := memory.Recognize(key, ref, c.live, "kt_compute ml/x")
			if errors.Is(err, ErrGone) != c.gone || (memory[key].UID == "u") == c.gone {
				t.Errorf("error %v, entry %+v", err, memory[key])
			}
			if len(diags) != 1 || !strings.Contains(diags[0].Summary(), c.want) ||
				!strings.Contains(diags[0].Detail(), "UID old") || !strings.Contains(diags[0].Detail(), "UID u") {
				t.Errorf("%v", diags)
			}
		})
	}
}

// An object that was imported or adopted has no creation of the provider, so nothing proves that another one is it.
func TestAnObjectWithoutARecordedCreationIsNotRestored(t *testing.T) {
	t.Parallel()
	obj := live(kube.Manager, appliedBefore)
	memory := Memory{manifest.Key(obj): {UID: "old"}}
	diags, err := memory.Recognize(manifest.Key(obj), kube.Ref{Kind: kind.Service()}, obj, "kt_compute ml/x")
	if !errors.Is(err, ErrGone) || memory[manifest.Key(obj)].UID != "old" || len(diags) != 1 ||
		!strings.Contains(diags[0].Detail(), `id = "ml/x"`) {
		t.Errorf("memory %v, %v, %v", memory, err, diags)
	}
}

func TestMissingObjectWasDeletedOrNeverCreated(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	memory := Memory{"deleted": {UID: "u"}}
	memory.Expect("expected", &Creation{})
	for key, want := range map[string]string{"deleted": "deleted outside of Terraform", "expected": "was not created",
		"unknown": "deleted outside"} {
		if got := memory.Missing(key, ref); !strings.Contains(got.Summary(), want) {
			t.Errorf("%s: %s", key, got.Summary())
		}
	}
}

// An apply without a refresh must not take over an object that it did not create.
func TestObjectToSendAfterALostResponse(t *testing.T) {
	t.Parallel()
	ref, key := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}, manifest.Key(live(kube.Manager))
	memory := Memory{key: {Creation: "some"}}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	sent, err := memory.ObjectToSend(key, ref, nil, obj)
	if err != nil || sent.GetAnnotations()[kube.UnfinishedAnnotation] != "some" ||
		sent.GetAnnotations()[kube.CreationAnnotation] != "some" {
		t.Errorf("without a live object: %v, %v", sent, err)
	}
	sent, err = memory.ObjectToSend(key, ref, live(kube.Manager, unfinished), obj)
	if err != nil || sent.GetUID() != "u" {
		t.Errorf("object of the creation: %v, %v", sent, err)
	}
	if sent, err = memory.ObjectToSend(key, ref, live(kube.Manager), obj); err == nil {
		t.Errorf("object of another state: %v", sent)
	}
	if sent, err = (Memory{key: {UID: "u"}}).ObjectToSend(key, ref, live(kube.Manager), obj); err != nil ||
		sent != obj {
		t.Errorf("after a response: %v, %v", sent, err)
	}
}

func TestAllObjectsOfACreationHaveItsID(t *testing.T) {
	t.Parallel()
	creation := &Creation{}
	first, second := creation.Mark(live(kube.Manager)), creation.Mark(live(kube.Manager))
	id := first.GetAnnotations()[kube.UnfinishedAnnotation]
	for _, obj := range []*unstructured.Unstructured{first, second} {
		if got := obj.GetAnnotations()[kube.CreationAnnotation]; got != id || id == "" {
			t.Errorf("an object is of creation %q, not of %q", got, id)
		}
	}
	if second.GetAnnotations()[kube.UnfinishedAnnotation] != "" {
		t.Error("the second object is marked as unfinished")
	}
	set, _, err := kube.OwnedFields(live(kube.Manager, from("some")))
	if err != nil || strings.Contains(set.String(), "creation") {
		t.Errorf("the annotation is among the remembered fields: %v, %v", set, err)
	}
}
