package owned

import (
	"slices"
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

// live is an object of the cluster that a manager applied.
func live(manager string, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	obj.SetNamespace("ml")
	obj.SetName("x")
	obj.SetUID("u")
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}},"f:spec":{}}`),
	}})
	for _, c := range change {
		c(obj)
	}
	return obj
}

func unfinished(obj *unstructured.Unstructured) {
	obj.SetAnnotations(map[string]string{kube.UnfinishedAnnotation: "some"})
}

func terminating(obj *unstructured.Unstructured) {
	now := metav1.NewTime(time.Now())
	obj.SetDeletionTimestamp(&now)
}

// TestObjectOfAnotherOwnerIsSharedByItsName: an import of the owner would move all of its objects, and the ID of the
// creation does not exist.
func TestObjectOfAnotherOwnerIsSharedByItsName(t *testing.T) {
	t.Parallel()
	for owner, test := range map[string]struct{ want, not string }{
		"ml/team-a": {"kt_queue ml/team-a, of this configuration or of another one, defines it", "import {"},
		"ml/team-b": {`id = "ml/team-b"`, "only name it"}, // of another state
	} {
		creation := Creation{Type: "kt_queue", ID: "ml/team-b",
			Owner: func(*unstructured.Unstructured) (string, bool) { return owner, true }}
		err := creation.Admit(kube.Ref{Kind: kind.ResourceFlavor(kind.KueueVersion), Name: "l4"}, live(kube.Manager))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), test.not) {
			t.Errorf("%s: got %v, want %q and not %q", owner, err, test.want, test.not)
		}
	}
}

func TestCreationRejectsObjectsOfOthersUnlessAdopted(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	const ours, theirs = kube.Manager, "kubectl"
	holder := func(resource string) func(types.UID) string {
		return func(uid types.UID) string { return map[types.UID]string{"u": resource}[uid] }
	}
	held, other := holder("kt_compute ml/x"), holder("kt_compute ml/y")
	owner := func(id string) func(*unstructured.Unstructured) (string, bool) {
		return func(live *unstructured.Unstructured) (string, bool) { return id, live.GetUID() == "flavor" }
	}
	unclaimed := owner("")
	flavor := func(obj *unstructured.Unstructured) { obj.SetUID("flavor") }
	replaced := Memory{manifest.Key(live(ours)): {UID: "u"}}
	for name, c := range map[string]struct {
		creation Creation
		objects  []*unstructured.Unstructured // in the order in which they are applied
		rejected string                       // part of the error for the last object; "" if it is admitted
	}{
		"no objects": {objects: []*unstructured.Unstructured{nil, nil}},
		"an object of another manager": {objects: []*unstructured.Unstructured{live(theirs)},
			rejected: "was not created by this provider"},
		"an object of another state": {objects: []*unstructured.Unstructured{live(ours)},
			rejected: "belongs to another resource"},
		"an unfinished object": {objects: []*unstructured.Unstructured{live(ours, unfinished)}},
		"an object after an unfinished one": {objects: []*unstructured.Unstructured{live(ours, unfinished),
			live(ours)}},
		"an object after a missing one": {objects: []*unstructured.Unstructured{nil, live(ours)},
			rejected: "belongs to another resource"},
		"an object of another manager after an unfinished one": {objects: []*unstructured.Unstructured{live(ours,
			unfinished), live(theirs)}, rejected: "was not created by this provider"},
		"an unfinished object after a missing one": {objects: []*unstructured.Unstructured{nil,
			live(ours, unfinished)}},
		"an object that is being deleted": {objects: []*unstructured.Unstructured{live(ours, terminating)}},
		"adopted objects": {creation: Creation{Adopt: true},
			objects: []*unstructured.Unstructured{live(theirs), live(ours)}},
		"an object that belongs to no resource": {creation: Creation{Owner: unclaimed},
			objects: []*unstructured.Unstructured{nil, live(ours, flavor)}},
		"an unclaimed object of another manager": {creation: Creation{Owner: unclaimed},
			objects: []*unstructured.Unstructured{live(theirs, flavor)}, rejected: "was not created by this provider"},
		"an unclaimed object of another resource in state": {
			creation: Creation{Owner: unclaimed, HeldBy: func(types.UID) string { return "kt_compute ml/y" }},
			objects:  []*unstructured.Unstructured{live(ours, flavor)}, rejected: "belongs to another resource"},
		"an object that names this resource, after an unfinished one": {creation: Creation{Owner: owner("ml/x")},
			objects: []*unstructured.Unstructured{live(ours, unfinished), live(ours, flavor)}},
		"an object that names another resource, after an unfinished one": {creation: Creation{Owner: owner("ml/y")},
			objects:  []*unstructured.Unstructured{live(ours, unfinished), live(ours, flavor)},
			rejected: "belongs to another resource"},
		"an unfinished object that names another resource": {creation: Creation{Owner: owner("ml/y")},
			objects:  []*unstructured.Unstructured{live(ours, unfinished, flavor)},
			rejected: "belongs to another resource"},
		"a replaced object": {creation: Creation{Replaced: replaced},
			objects: []*unstructured.Unstructured{live(ours)}},
		"objects of this resource in state": {creation: Creation{HeldBy: held},
			objects: []*unstructured.Unstructured{live(ours), live(ours)}},
		"an object of another resource in state": {creation: Creation{HeldBy: other},
			objects: []*unstructured.Unstructured{live(ours, unfinished)}, rejected: "belongs to another resource"},
		"an object of another manager, recorded in state": {creation: Creation{HeldBy: held},
			objects: []*unstructured.Unstructured{live(theirs)}, rejected: "was not created by this provider"},
		"an object that an update adds": {
			creation: Creation{PerObject: true}, objects: []*unstructured.Unstructured{live(ours, unfinished),
				live(ours)}, rejected: "belongs to another resource",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			creation := c.creation
			creation.Type, creation.ID = "kt_compute", "ml/x"
			var err error
			for i, obj := range c.objects {
				if err = creation.Admit(ref, obj); err != nil && i < len(c.objects)-1 {
					t.Fatalf("object %d: %v", i, err)
				}
			}
			switch {
			case c.rejected == "" && err != nil:
				t.Errorf("rejected: %v", err)
			case c.rejected != "" && err == nil:
				t.Error("the object was admitted")
			case err != nil:
				if summary := Failure(err).Summary(); !strings.Contains(summary, c.rejected) {
					t.Errorf("the summary is %q, want %q", summary, c.rejected)
				}
			}
		})
	}
}

// Another state may have the object: its run was interrupted too.
func TestContinuationOfAnotherCreationIsAWarning(t *testing.T) {
	t.Parallel()
	ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
	held := func(types.UID) string { return "kt_compute ml/x" }
	left := live(kube.Manager, unfinished)
	for name, c := range map[string]struct {
		creation Creation
		live     *unstructured.Unstructured
		warns    bool
	}{
		"an unfinished object":                 {live: left, warns: true},
		"one that is being deleted":            {live: live(kube.Manager, unfinished, terminating)},
		"a new object":                         {},
		"one that is adopted":                  {creation: Creation{Adopt: true}, live: left},
		"that of a tainted resource":           {creation: Creation{HeldBy: held}, live: left},
		"one that an update of ours has added": {creation: Creation{PerObject: true}, live: left},
		"a finished one, which is an error":    {live: live(kube.Manager)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			creation := c.creation
			creation.Type, creation.ID = "kt_compute", "ml/x"
			_ = creation.Admit(ref, c.live)
			diags := creation.ContinuedWarning(ref)
			if (len(diags) == 1) != c.warns || diags.HasError() {
				t.Fatalf("warnings %v, want one: %v", diags, c.warns)
			}
			if _ = creation.Admit(ref, live(kube.Manager)); len(creation.ContinuedWarning(ref)) > 0 {
				t.Error("a further object of the same creation also warns")
			}
		})
	}
	if none := (*Creation)(nil).ContinuedWarning(ref); none != nil {
		t.Errorf("an object in state warns: %v", none)
	}
}

func TestErrorForAnObjectOfAnotherResourceStatesSolutions(t *testing.T) {
	t.Parallel()
	creation := Creation{Type: "kt_volume", ID: "ml/x"}
	err := creation.Admit(kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}, live(kube.Manager))
	if err == nil {
		t.Fatal("the object was admitted")
	}
	for _, want := range []string{"import {\n        to = kt_volume.NAME\n        id = \"ml/x\"\n      }",
		"adopt_existing = true", "another name", "moved"} {
		if detail := Failure(err).Detail(); !strings.Contains(detail, want) {
			t.Errorf("%q is not in\n%s", want, detail)
		}
	}
}

func TestErrorForAnObjectOfAnotherManagerStatesWhatIsPossible(t *testing.T) {
	t.Parallel()
	const (
		theirs = "kubectl"
		other  = "Next step: Choose another name, delete it if nobody needs it, or set adopt_existing"
	)
	isNamed := func(name string) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool { return obj.GetName() == name }
	}
	for name, c := range map[string]struct {
		creation Creation
		before   bool // another object comes first
		want     string
	}{
		"the only one": {want: "Next step: Import it, choose another name, or set adopt_existing = true"},
		"the first one, which an import does not find": {creation: Creation{Imports: isNamed("y")}, want: other},
		"a further one, which an import finds": {before: true, creation: Creation{Imports: isNamed("x")},
			want: "Next step: Import it, choose"},
		"one added by updates": {creation: Creation{PerObject: true, Imports: isNamed("x")}, want: other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "x"}
			if c.before {
				if err := c.creation.Admit(ref, nil); err != nil {
					t.Fatal(err)
				}
			}
			err := c.creation.Admit(ref, live(theirs))
			if err == nil {
				t.Fatal("the object was admitted")
			}
			if detail := Failure(err).Detail(); !strings.Contains(detail, c.want) {
				t.Errorf("%q is not in\n%s", c.want, detail)
			}
		})
	}
}

func TestOnlyTheFirstObjectIsMarkedUnlessAnUpdateAddsThem(t *testing.T) {
	t.Parallel()
	marked := func(creation *Creation) (first, second string) {
		one := creation.Mark(live(kube.Manager)).GetAnnotations()[kube.UnfinishedAnnotation]
		return one, creation.Mark(live(kube.Manager)).GetAnnotations()[kube.UnfinishedAnnotation]
	}
	if first, second := marked(&Creation{}); first == "" || second != "" {
		t.Errorf("a creation marks the objects with %q and %q", first, second)
	}
	if first, second := marked(&Creation{PerObject: true}); first == "" || second != first {
		t.Errorf("an update marks the objects with %q and %q", first, second)
	}
}

func TestManagersAreThoseOfTheObjectItself(t *testing.T) {
	t.Parallel()
	obj := live(somebody)
	records := append(obj.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: "kubelet", Operation: "Update",
		Subresource: "status", FieldsV1: metav1.NewFieldsV1(`{}`)})
	obj.SetManagedFields(records)
	if got := Managers(obj); !slices.Equal(got, []string{somebody}) {
		t.Errorf("managers %v", got)
	}
	obj.SetManagedFields(nil)
	if got := Managers(obj); !slices.Equal(got, []string{"no recorded manager"}) {
		t.Errorf("managers %v", got)
	}
}
