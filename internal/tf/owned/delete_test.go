package owned

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func withFinalizer(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetFinalizers([]string{"example.com/wait"})
	return obj
}

// goneAfter removes a deleted object after some reads, as a controller does that removes its finalizer.
func (r *testRun) goneAfter(reads int64) {
	var count atomic.Int64
	r.Intercept = func(verb, path string) kubetest.Fault {
		if obj := r.Object(path); verb == "get" && obj != nil && obj.GetDeletionTimestamp() != nil &&
			count.Add(1) > reads {
			r.Remove(path)
		}
		return nil
	}
}

func TestOnlyTheObjectInStateIsDeleted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*testing.T, *testRun, Memory)
		started bool
		left    bool   // the object exists afterwards
		warned  string // part of the warning
	}{
		"the object in state": {change: func(*testing.T, *testRun, Memory) {}, started: true},
		"it was deleted": {change: func(_ *testing.T, r *testRun, _ Memory) {
			r.Remove(mapPath + "a")
		}},
		"another object has its name": {change: func(t *testing.T, r *testRun, _ Memory) {
			t.Helper()
			r.Remove(mapPath + "a")
			r.Server.Apply(t, kube.Manager, configMap("a"))
		}, left: true, warned: "kubectl -n ml delete configmaps a"},
		"the object of another creation": {change: func(_ *testing.T, _ *testRun, memory Memory) {
			memory[mapKey] = Entry{Creation: "other"}
		}, left: true, warned: "did not create it"},
		"it is replaced at the same time": {change: func(t *testing.T, r *testRun, _ Memory) {
			t.Helper()
			r.Intercept = func(verb, path string) kubetest.Fault {
				if verb == "delete" {
					r.Remove(path)
					r.Server.Apply(t, somebody, configMap("a"))
				}
				return nil
			}
		}, started: true, left: true},
		"this run has created it": {change: func(t *testing.T, r *testRun, _ Memory) {
			t.Helper()
			one := creation()
			if _, err := one.LookUp(t.Context(), r.Run, refOf(t, configMap("a"))); err != nil {
				t.Fatal(err)
			}
			one.Created(refOf(t, configMap("a")), nil)
			one.Complete(r.Run)
		}, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newRun(t)
			memory := Memory{}
			server.mustCreate(t, memory, configMap("a"))
			r := again(t, server.Server)
			c.change(t, r, memory)
			started, diags, err := Delete(t.Context(), r.Run, memory, mapKey, refOf(t, configMap("a")))
			if err != nil || started != c.started || (r.Object(mapPath+"a") != nil) != c.left {
				t.Errorf("started %t, %v, left %v", started, err, r.Object(mapPath+"a"))
			}
			if (len(diags) > 0) != (c.warned != "") || diags.HasError() ||
				len(diags) > 0 && !strings.Contains(diags[0].Detail(), c.warned) {
				t.Errorf("warnings %v, want %q", diags, c.warned)
			}
		})
	}
}

func TestNothingIsDeletedIfItsOwnerIsUnknown(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	ref := refOf(t, configMap("a"))
	r.Server.Apply(t, kube.Manager, configMap("a"))
	r.fails("get", "/a", http.StatusForbidden)
	if _, diags, err := Delete(t.Context(), r.Run, expected(), mapKey, ref); kube.ClassOf(err) != kube.Denied ||
		len(diags) > 0 {
		t.Errorf("an object that cannot be read: %v, %v", err, diags)
	}
	r.Intercept = nil
	obj := r.Object(mapPath + "a")
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(unreadable)}})
	r.Put(mapPath+"a", obj)
	_, diags, err := Delete(t.Context(), r.Run, expected(), mapKey, ref)
	if err == nil || len(diags) > 0 || len(r.Requests("delete")) > 0 {
		t.Errorf("unreadable owners: %v, %v, requests %v", err, diags, r.Requests("delete"))
	}
}

func contents(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }

func TestDeletionWaitsUntilAllObjectsAreGone(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	for _, name := range []string{"b", "a"} {
		r.mustCreate(t, memory, withFinalizer(configMap(name)))
	}
	second := again(t, r.Server)
	second.goneAfter(3)
	remaining, diags := DeleteObjects(t.Context(), second.Run, RecordedCluster{},
		contents(configMap("b"), configMap("a")), memory, nil)
	if len(remaining) > 0 || len(diags) > 0 || len(r.Paths()) > 0 {
		t.Errorf("remaining %v, %v, %v", remaining, diags, r.Paths())
	}
	inOrder := []string{"delete " + mapPath + "b", "delete " + mapPath + "a"}
	if deleted := r.Requests("delete"); !slices.Equal(deleted, inOrder) {
		t.Errorf("requests %v", deleted)
	}
}

// An object that remains must stay in state, so that the next apply deletes it.
func TestObjectsThatMayRemainAreReported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*testRun)
		exists  []string
	}{
		"the deletion is rejected": {prepare: func(r *testRun) { r.fails("delete", "/a", http.StatusForbidden) },
			exists: []string{mapPath + "a"}},
		"the end of the deletion is not seen": {prepare: func(r *testRun) {
			r.Intercept = func(verb, path string) kubetest.Fault {
				if obj := r.Object(path); verb == "get" && strings.HasSuffix(path, "/a") &&
					obj.GetDeletionTimestamp() != nil {
					return kubetest.Status(http.StatusForbidden, metav1.StatusReasonForbidden)
				}
				return nil
			}
		}, exists: []string{mapPath + "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, memory := newRun(t), Memory{}
			server.mustCreate(t, memory, withFinalizer(configMap("a")))
			server.mustCreate(t, memory, configMap("b"))
			r := again(t, server.Server)
			c.prepare(r)
			remaining, diags := DeleteObjects(t.Context(), r.Run, RecordedCluster{},
				contents(configMap("a"), configMap("b")), memory, nil)
			if !maps.Equal(remaining, map[string]bool{mapKey: true}) || diags.ErrorsCount() != 1 || len(diags) != 1 {
				t.Errorf("remaining %v, %v", remaining, diags)
			}
			if left := r.Paths(); !slices.Equal(left, c.exists) {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestObjectThatThisRunCreatedIsNotDeletedWithAWarning(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	r.mustCreate(t, memory, configMap("a"))
	remaining, diags := DeleteObjects(t.Context(), r.Run, RecordedCluster{}, contents(configMap("a")), memory, nil)
	if len(remaining) > 0 || r.Object(mapPath+"a") == nil || len(diags) != 1 || diags.HasError() ||
		diags[0].Summary() != "ConfigMap ml/a was not deleted" || !strings.Contains(diags[0].Detail(), "moved block") {
		t.Errorf("remaining %v, %v", remaining, diags)
	}
	gone, diags := DeleteObjects(t.Context(), r.Run, RecordedCluster{}, contents(configMap("b")), memory, nil)
	if len(gone) > 0 || len(diags) > 0 {
		t.Errorf("remaining %v, %v for an object that does not exist", gone, diags)
	}
	r.Server.Apply(t, somebody, configMap("c"))
	other, diags := DeleteObjects(t.Context(), r.Run, RecordedCluster{}, contents(configMap("c")),
		Memory{"ConfigMap/ml/c": {UID: "u"}}, nil)
	if len(other) > 0 || len(diags) != 1 || !strings.Contains(diags[0].Detail(), "The object in state has UID u.") {
		t.Errorf("remaining %v, %v for an object of somebody else", other, diags)
	}
}

func TestObjectIsNotDeletedIfItsCreationInThisRunFailed(t *testing.T) {
	t.Parallel()
	server, memory := newRun(t), Memory{}
	server.mustCreate(t, memory, configMap("a"))
	r, one := again(t, server.Server), creation()
	if _, err := one.LookUp(t.Context(), r.Run, refOf(t, configMap("a"))); err != nil {
		t.Fatal(err)
	}
	one.End(r.Run)
	remaining, diags := DeleteObjects(t.Context(), r.Run, RecordedCluster{}, contents(configMap("a")), memory, nil)
	if !remaining[mapKey] || len(diags) != 1 || diags[0].Summary() != "ConfigMap ml/a is not deleted" ||
		!strings.Contains(diags[0].Detail(), "stays in the state") {
		t.Errorf("remaining %v, %v", remaining, diags)
	}
}

// custom is an object of a kind with a CustomResourceDefinition.
func custom() *unstructured.Unstructured {
	obj := configMap("a")
	obj.SetAPIVersion("example.com/v1")
	obj.SetKind("Widget")
	return obj
}

// All objects of a kind are deleted with its definition. In another cluster, the kind may just not be installed.
func TestObjectsOfARemovedKindAreGoneOnlyInTheirOwnCluster(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recorded  RecordedCluster
		remaining bool
	}{
		"the recorded cluster": {RecordedCluster{kube.Identity{UID: "c"}, kube.Identity{UID: "c"}}, false},
		"an unknown cluster":   {RecordedCluster{configured: kube.Identity{UID: "c"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			remaining, diags := DeleteObjects(t.Context(), r.Run, c.recorded, contents(custom()), Memory{}, nil)
			if (len(remaining) > 0) != c.remaining || diags.HasError() != c.remaining {
				t.Errorf("remaining %v, %v", remaining, diags)
			}
		})
	}
	r := newRun(t)
	recorded := RecordedCluster{kube.Identity{UID: "c"}, kube.Identity{UID: "c"}}
	ref := kube.Ref{Kind: kube.Kind{GroupVersionKind: custom().GroupVersionKind()}, Namespace: "ml", Name: "a"}
	if recorded.KindRemoved(t.Context(), r.Cluster, ref, &kube.Error{Class: kube.Unreachable, Err: errors.New("x")}) {
		t.Error("another error counts as a removed kind")
	}
	missing := &kube.Error{Class: kube.KindMissing, Err: errors.New("x")}
	if recorded.KindRemoved(t.Context(), r.Cluster, refOf(t, configMap("a")), missing) {
		t.Error("a kind of Kubernetes counts as removed")
	}
	if d := RemovedWarning(ref); d.Severity().String() != "Warning" ||
		!strings.Contains(d.Detail(), "no longer serves Widget of example.com") {
		t.Errorf("%v", d)
	}
}

func TestFindReturnsTheObjectInState(t *testing.T) {
	t.Parallel()
	const resource = "kt_thing ml/x"
	obj := configMap("a")
	for name, c := range map[string]struct {
		prepare func(*testing.T, *testRun, Memory)
		gone    error // nil if it is found
		failed  bool  // with another error
		warned  string
		changed bool // the memory
	}{
		"the object": {prepare: func(*testing.T, *testRun, Memory) {}},
		"an unfinished object": {prepare: func(t *testing.T, r *testRun, _ Memory) {
			t.Helper()
			r.Server.Apply(t, kube.Manager, kube.MarkUnfinished(configMap("a"), "some"))
		}},
		"a restored object": {prepare: func(_ *testing.T, r *testRun, _ Memory) {
			live := r.Object(mapPath + "a")
			live.SetUID("restored")
			r.Put(mapPath+"a", live)
		}, warned: "was restored", changed: true},
		"a replaced object": {prepare: func(t *testing.T, r *testRun, _ Memory) {
			t.Helper()
			r.Remove(mapPath + "a")
			r.Server.Apply(t, somebody, configMap("a"))
		}, gone: ErrGone, warned: "was replaced"},
		"a deleted object": {prepare: func(_ *testing.T, r *testRun, _ Memory) {
			r.Remove(mapPath + "a")
		}, gone: ErrDeleted, warned: "deleted outside of Terraform"},
		"an object that was never created": {prepare: func(_ *testing.T, r *testRun, memory Memory) {
			memory[mapKey] = Entry{Creation: "some"}
			r.Remove(mapPath + "a")
		}, gone: ErrGone, warned: "was not created"},
		"an object that cannot be read": {prepare: func(_ *testing.T, r *testRun, _ Memory) {
			r.fails("get", "/a", http.StatusForbidden)
		}, failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, memory := newRun(t), Memory{}
			server.mustCreate(t, memory, obj)
			r := again(t, server.Server)
			c.prepare(t, r, memory)
			remembered := maps.Clone(memory)
			found, diags, err := Find(t.Context(), r.Run, memory, mapKey, refOf(t, obj), resource)
			if c.gone != nil && !errors.Is(err, c.gone) || (err != nil) != (c.gone != nil || c.failed) ||
				errors.Is(err, ErrDeleted) != errors.Is(c.gone, ErrDeleted) {
				t.Errorf("error %v, want %v", err, c.gone)
			}
			if (len(diags) > 0) != (c.warned != "") || diags.HasError() ||
				len(diags) > 0 && !strings.Contains(diags[0].Summary(), c.warned) {
				t.Errorf("warnings %v, want %q", diags, c.warned)
			}
			if (found != nil) != (err == nil) || reflect.DeepEqual(memory, remembered) == c.changed {
				t.Errorf("found %v, memory %v", found, memory)
			}
			if err != nil {
				return
			}
			r.completions.Flush(t.Context())
			if left := unfinishedMark(r.Object(mapPath + "a")); left != "" ||
				r.HeldBy(found.GetUID()) != resource {
				t.Errorf("unfinished %q, held by %q", left, r.HeldBy(found.GetUID()))
			}
		})
	}
}

func TestOwnerOfAnObjectMustBeReadable(t *testing.T) {
	t.Parallel()
	obj := live(kube.Manager)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(unreadable)}})
	ref, key := kube.Ref{Name: "x"}, "Service/ml/x"
	memory := Memory{key: {Creation: "some"}}
	diags, err := memory.Recognize(key, ref, obj, "kt_thing ml/x")
	if err == nil || errors.Is(err, ErrGone) || memory[key].UID != "" || len(diags) > 0 {
		t.Errorf("%v, %v", err, diags)
	}
	if out, err := memory.ObjectToSend(key, ref, obj, obj); err == nil {
		t.Errorf("sends %v", out)
	}
	if err := creation().Admit(ref, obj); err == nil || Failure(err).Summary() == "" {
		t.Error("an unreadable object is admitted")
	}
	if _, err := (Memory{}).Refresh(key, obj, obj); err == nil {
		t.Error("an unreadable object is refreshed")
	}
	if _, _, err := (Memory{}).Import(obj); err == nil {
		t.Error("an unreadable object is imported")
	}
	if _, err := (Memory{}).Remember(key, obj, obj); err == nil {
		t.Error("an unreadable response is remembered")
	}
}

func TestCreationWaitsForADeletedObject(t *testing.T) {
	t.Parallel()
	server, memory := newRun(t), Memory{}
	before := server.mustCreate(t, memory, withFinalizer(configMap("a")))
	r := again(t, server.Server)
	if err := r.Cluster.Delete(t.Context(), refOf(t, before), before.GetUID()); err != nil {
		t.Fatal(err)
	}
	r.goneAfter(3)
	if err := PrepareCreate(t.Context(), r.Run, creation(), configMap("a"), nil); err != nil ||
		r.Object(mapPath+"a") != nil {
		t.Errorf("%v, exists: %v", err, r.Object(mapPath+"a"))
	}
}

func TestCreationIsRejectedBeforeItSends(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.Server.Apply(t, somebody, configMap("a"))
	if err := PrepareCreate(t.Context(), r.Run, creation(), configMap("a"), nil); err == nil ||
		!strings.Contains(err.Error(), "not created by this provider") {
		t.Errorf("an object of another client: %v", err)
	}
	if err := PrepareCreate(t.Context(), r.Run, creation(), custom(), nil); kube.ClassOf(err) != kube.KindMissing {
		t.Errorf("a kind that the cluster does not have: %v", err)
	}
	_, _, err := Create(t.Context(), r.Run, Memory{}, creation(), custom())
	if kube.ClassOf(err) != kube.KindMissing {
		t.Errorf("a kind that the cluster does not have: %v", err)
	}
	r.fails("get", "/b", http.StatusForbidden)
	if err := PrepareCreate(t.Context(), r.Run, creation(), configMap("b"), nil); kube.ClassOf(err) != kube.Denied {
		t.Errorf("an object that cannot be read: %v", err)
	}
	r.Intercept = nil
	terminating := r.Server.Apply(t, somebody, withFinalizer(configMap("c")))
	if err := r.Cluster.Delete(t.Context(), refOf(t, terminating), ""); err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	r.Intercept = func(verb, _ string) kubetest.Fault {
		if verb == "get" && reads.Add(1) > 2 {
			return kubetest.Status(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		return nil
	}
	err = PrepareCreate(t.Context(), r.Run, &Creation{Adopt: true}, configMap("c"), nil)
	if kube.ClassOf(err) != kube.Denied {
		t.Errorf("an object whose deletion has not ended: %v", err)
	}
}
