package owned

import (
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

// from is an object as a creation with that id left it, beside the first one.
func from(id string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{kube.CreationAnnotation: id})
		records := obj.GetManagedFields()
		records[0].FieldsV1 = metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:kt.dev/creation":{}}},"f:spec":{}}`)
		obj.SetManagedFields(records)
	}
}

// restored was applied before it was created.
func restored(obj *unstructured.Unstructured) {
	created := time.Now()
	obj.SetCreationTimestamp(metav1.NewTime(created))
	records := obj.GetManagedFields()
	applied := metav1.NewTime(created.Add(-time.Hour))
	records[0].Time = &applied
	obj.SetManagedFields(records)
}

// appliedAtOnce was applied when it was created.
func appliedAtOnce(obj *unstructured.Unstructured) {
	restored(obj)
	records := obj.GetManagedFields()
	created := obj.GetCreationTimestamp()
	records[0].Time = &created
	obj.SetManagedFields(records)
}

func TestWhichObjectIsTheOneInState(t *testing.T) {
	t.Parallel()
	const ours, theirs = kube.Manager, "kubectl"
	for name, c := range map[string]struct {
		entry *Entry
		uid   types.UID // that the attributes tell
		any   bool      // the attributes tell that the private state is lost
		live  *unstructured.Unstructured
		want  bool
	}{
		"the UID":                                      {entry: &Entry{UID: "u"}, live: live(theirs), want: true},
		"another UID":                                  {entry: &Entry{UID: "v"}, live: live(ours, unfinished)},
		"made by the creation":                         {entry: &Entry{Creation: "some"}, live: live(ours, unfinished), want: true},
		"made beside it":                               {entry: &Entry{Creation: "some"}, live: live(ours, from("some")), want: true},
		"made by another creation":                     {entry: &Entry{Creation: "other"}, live: live(ours, unfinished)},
		"made beside another one":                      {entry: &Entry{Creation: "other"}, live: live(ours, from("some"))},
		"completed by another state":                   {entry: &Entry{Creation: "some"}, live: live(ours)},
		"marked by somebody else":                      {entry: &Entry{Creation: "some"}, live: live(theirs, unfinished)},
		"nothing is known of one left by a creation":   {live: live(ours, unfinished), want: true},
		"nothing is known of a completed one":          {live: live(ours)},
		"the attributes have its UID":                  {uid: "u", live: live(ours), want: true},
		"the attributes have another UID":              {uid: "v", live: live(ours)},
		"the attributes have not its UID, but others'": {any: true, live: live(ours), want: true},
		"the private state wins over the attributes":   {entry: &Entry{Creation: "some"}, uid: "u", any: true, live: live(ours)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memory, key := Memory{}, manifest.Key(c.live)
			if c.entry != nil {
				memory[key] = *c.entry
			}
			memory.Recover(key, c.uid, c.any)
			if got, err := memory.Has(key, c.live); err != nil || got != c.want {
				t.Errorf("it is the one in state: %t, %v; want %t", got, err, c.want)
			}
		})
	}
}

func TestWhatARefreshSaysOfAnotherUID(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		want string
		gone bool
	}{
		"restored from a backup":         {live(kube.Manager, restored), "was restored", false},
		"made again by another state":    {live(kube.Manager, appliedAtOnce), "was replaced", true},
		"restored, but of somebody else": {live("kubectl", restored), "was replaced", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := manifest.Key(c.live)
			memory := Memory{key: {UID: "old"}}
			learned, diags, err := memory.Recognize(key, ref, c.live, "kt_compute ml/x")
			if errors.Is(err, ErrGone) != c.gone || learned == c.gone || (memory[key].UID == "u") == c.gone {
				t.Errorf("learned %t, error %v, remembers %+v", learned, err, memory[key])
			}
			if len(diags) != 1 || !strings.Contains(diags[0].Summary(), c.want) ||
				!strings.Contains(diags[0].Detail(), "UID old") || !strings.Contains(diags[0].Detail(), "UID u") {
				t.Errorf("%v", diags)
			}
		})
	}
}

func TestWhatIsMissingWasDeletedOrNeverCreated(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	memory := Memory{"deleted": {UID: "u"}}
	memory.Expect("expected", &Creation{})
	for key, want := range map[string]string{"deleted": "deleted outside of Terraform", "expected": "was not created", "unknown": "deleted outside"} {
		if got := memory.Missing(key, ref); !strings.Contains(got.Summary(), want) {
			t.Errorf("%s: %s", key, got.Summary())
		}
	}
}

// An apply that does not refresh before must not take over what it did not make.
func TestWhatIsSentOfAnObjectOfWhoseCreationNoAnswerCame(t *testing.T) {
	t.Parallel()
	ref, key := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}, manifest.Key(live(kube.Manager))
	memory := Memory{key: {Creation: "some"}}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	sent, err := memory.ToSend(key, ref, nil, obj)
	if err != nil || sent.GetAnnotations()[kube.UnfinishedAnnotation] != "some" {
		t.Errorf("where there is none: %v, %v", sent, err)
	}
	sent, err = memory.ToSend(key, ref, live(kube.Manager, unfinished), obj)
	if err != nil || sent.GetUID() != "u" {
		t.Errorf("of its own: %v, %v", sent, err)
	}
	if sent, err = memory.ToSend(key, ref, live(kube.Manager), obj); err == nil {
		t.Errorf("of another state: %v", sent)
	}
	if sent, err = (Memory{key: {UID: "u"}}).ToSend(key, ref, live(kube.Manager), obj); err != nil || sent != obj {
		t.Errorf("with an answer: %v, %v", sent, err)
	}
}

func TestTheOtherObjectsOfACreationHaveItsID(t *testing.T) {
	t.Parallel()
	creation := &Creation{}
	id := creation.Mark(live(kube.Manager)).GetAnnotations()[kube.UnfinishedAnnotation]
	if got := creation.Mark(live(kube.Manager)).GetAnnotations()[kube.CreationAnnotation]; got != id || id == "" {
		t.Errorf("the second object is of creation %q, the first of %q", got, id)
	}
	set, _, err := kube.OwnedFields(live(kube.Manager, from("some")))
	if err != nil || strings.Contains(set.String(), "creation") {
		t.Errorf("the annotation is among the fields that are remembered: %v, %v", set, err)
	}
}
