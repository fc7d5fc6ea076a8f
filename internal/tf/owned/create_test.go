package owned

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// create looks an object up and creates it, as a resource does.
func (r *testRun) create(
	t *testing.T, creation *Creation, memory Memory, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	t.Helper()
	if err := PrepareCreate(t.Context(), r.Run, creation, obj, nil); err != nil {
		t.Fatal(err)
	}
	return Create(t.Context(), r.Run, memory, creation, obj)
}

// mustCreate creates an object of a resource that is then in state.
func (r *testRun) mustCreate(t *testing.T, memory Memory, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	one := creation()
	live, diags, err := r.create(t, one, memory, obj)
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	one.Complete(r.Run)
	r.completions.Flush(t.Context())
	return live
}

func TestCreatedObjectIsUnfinishedUntilItIsInState(t *testing.T) {
	t.Parallel()
	r, memory, one := newRun(t), Memory{}, creation()
	live, diags, err := r.create(t, one, memory, configMap("a", "k", "v"))
	if err != nil || len(diags) > 0 {
		t.Fatal(err, diags)
	}
	id := r.Object(mapPath + "a").GetAnnotations()[kube.UnfinishedAnnotation]
	if entry := memory[mapKey]; id == "" || entry.UID != live.GetUID() || !memory.Applied(mapKey) {
		t.Errorf("id %q, entry %+v", id, entry)
	}
	r.completions.Flush(t.Context())
	if r.Object(mapPath + "a").GetAnnotations()[kube.UnfinishedAnnotation] != id {
		t.Error("the object is finished although it is not in state")
	}
	one.Complete(r.Run)
	r.completions.Flush(t.Context())
	if left := r.Object(mapPath + "a").GetAnnotations(); left[kube.UnfinishedAnnotation] != "" {
		t.Errorf("the object in state has the annotations %v", left)
	}
	second := r.mustCreate(t, memory, configMap("b"))
	if memory["ConfigMap/ml/b"].UID != second.GetUID() {
		t.Errorf("memory %v", memory)
	}
}

// The response to the creation was lost, so only the ID of the creation tells whose object it is.
func TestCreationWithoutResponseIsExpected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    kubetest.Fault
		expected bool
	}{
		"the outcome is unknown": {kubetest.HangUp(true, true), true},
		"the server rejects it":  {kubetest.Status(http.StatusUnprocessableEntity, "Invalid"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory, one := newRun(t), Memory{}, creation()
			r.Intercept = func(verb, _ string) kubetest.Fault {
				if verb == "apply" {
					return c.fault
				}
				return nil
			}
			live, _, err := r.create(t, one, memory, configMap("a"))
			if err == nil || live != nil || memory.Expects(mapKey) != c.expected {
				t.Errorf("object %v, error %v, memory %+v", live, err, memory)
			}
			if made := r.Object(mapPath + "a"); c.expected &&
				made.GetAnnotations()[kube.UnfinishedAnnotation] != memory[mapKey].Creation {
				t.Errorf("the object has the annotations %v, memory %+v", made.GetAnnotations(), memory)
			}
		})
	}
}

func TestObjectThatAppearsDuringItsCreationBelongsToItsCreator(t *testing.T) {
	t.Parallel()
	const ours = kube.Manager
	for name, c := range map[string]struct {
		manager string
		data    string // of the other client
		summary string
		detail  string
		shared  bool // the object has the values of this creation
	}{
		"another client with another value": {manager: somebody, data: "theirs",
			summary: "was not created by this provider", detail: "managed by kubectl"},
		"another client with the same value": {manager: somebody, data: "ours",
			summary: "was not created by this provider", detail: "managed by kubectl"},
		"another run of this provider": {manager: ours, data: "theirs",
			summary: "belongs to another resource", detail: "Another run created it at the same time", shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory, one := newRun(t), Memory{}, creation()
			obj := configMap("a", "k", "ours")
			if err := PrepareCreate(t.Context(), r.Run, one, obj, nil); err != nil {
				t.Fatal(err)
			}
			theirs := r.Apply(t, c.manager, configMap("a", "k", c.data))
			live, _, err := Create(t.Context(), r.Run, memory, one, obj)
			if err == nil || live != nil || len(memory) > 0 {
				t.Fatalf("object %v, error %v, memory %+v", live, err, memory)
			}
			if d := Failure(err); !strings.Contains(d.Summary(), c.summary) ||
				!strings.Contains(d.Detail(), c.detail) ||
				strings.Contains(d.Detail(), "could not remove") {
				t.Errorf("%s\n%s", d.Summary(), d.Detail())
			}
			one.Complete(r.Run)
			r.completions.Flush(t.Context())
			now := r.Object(mapPath + "a")
			value, _, _ := unstructured.NestedString(now.Object, "data", "k")
			want := map[bool]string{false: c.data, true: "ours"}[c.shared]
			if now.GetUID() != theirs.GetUID() || value != want || unfinishedMark(now) != "" ||
				!c.shared && len(now.GetAnnotations()) > 0 {
				t.Errorf("the object is now %v, want the value %q", now.Object, want)
			}
		})
	}
}

// Nobody but the user can repair what the withdrawal leaves behind.
func TestFieldsThatCannotBeWithdrawnAreReported(t *testing.T) {
	t.Parallel()
	r, one := newRun(t), creation()
	obj := configMap("a", "k", "ours")
	if err := PrepareCreate(t.Context(), r.Run, one, obj, nil); err != nil {
		t.Fatal(err)
	}
	r.Apply(t, somebody, configMap("a", "other", "theirs"))
	r.fails("dry-run", "/a", http.StatusInternalServerError)
	_, _, err := Create(t.Context(), r.Run, Memory{}, one, obj)
	if d := Failure(err); !strings.Contains(d.Detail(), "could not remove them again") {
		t.Errorf("%s\n%s", d.Summary(), d.Detail())
	}
}

// The name of the owner helps more than the conflict, but only where it is known.
func TestConflictOfAnApplyIsExplainedOnlyForAnObjectOfSomebodyElse(t *testing.T) {
	t.Parallel()
	r, one := newRun(t), creation()
	ref := refOf(t, configMap("a"))
	conflict := &kube.Error{Class: kube.Conflict, Err: errors.New("conflict")}
	if err := one.explainRejection(t.Context(), r.Run, ref, conflict); err != conflict { //nolint:errorlint // same
		t.Errorf("an object that is not new: %v", err)
	}
	if _, err := one.LookUp(t.Context(), r.Run, ref); err != nil {
		t.Fatal(err)
	}
	if err := one.explainRejection(t.Context(), r.Run, ref, conflict); err != conflict { //nolint:errorlint // same
		t.Errorf("an object that cannot be read: %v", err)
	}
	r.Apply(t, somebody, configMap("a"))
	invalid := &kube.Error{Class: kube.Invalid, Err: errors.New("invalid")}
	if err := one.explainRejection(t.Context(), r.Run, ref, invalid); err != invalid { //nolint:errorlint // same
		t.Errorf("another error: %v", err)
	}
	if err := one.explainRejection(t.Context(), r.Run, ref, conflict); !strings.Contains(err.Error(), "kubectl") {
		t.Errorf("a conflict: %v", err)
	}
	r.Remove(mapPath + "a")
	r.Apply(t, kube.Manager, kube.MarkUnfinished(configMap("a"), "some"))
	if err := one.explainRejection(t.Context(), r.Run, ref, conflict); err != conflict { //nolint:errorlint // same
		t.Errorf("an object that may be taken over: %v", err)
	}
}

func TestLookUpFindsExistingObjectsAndClaimsAll(t *testing.T) {
	t.Parallel()
	r, one := newRun(t), creation()
	r.Apply(t, somebody, configMap("a"))
	for name, isNew := range map[string]bool{"a": false, "b": true} {
		ref := refOf(t, configMap(name))
		live, err := one.LookUp(t.Context(), r.Run, ref)
		if err != nil || (live == nil) != isNew || one.IsNew(ref) != isNew {
			t.Errorf("%s: %v, %v, new: %t", name, live, err, one.IsNew(ref))
		}
	}
	adopting := &Creation{Adopt: true}
	if _, err := adopting.LookUp(t.Context(), r.Run, refOf(t, configMap("b"))); err != nil ||
		adopting.IsNew(refOf(t, configMap("b"))) {
		t.Errorf("an adopted object is new: %v", err)
	}
	r.fails("get", "/c", http.StatusForbidden)
	if _, err := one.LookUp(t.Context(), r.Run, refOf(t, configMap("c"))); err == nil ||
		one.IsNew(refOf(t, configMap("c"))) {
		t.Errorf("an object that cannot be read is new: %v", err)
	}
	one.End(r.Run)
	for _, name := range []string{"a", "b", "c"} {
		_, err := r.DeleteUnlessClaimed(t.Context(), refOf(t, configMap(name)), func() error { return nil })
		if _, failed := errors.AsType[*run.CreationFailedError](err); !failed {
			t.Errorf("%s may be deleted after the failed creation: %v", name, err)
		}
	}
}

// Another resource of the run deletes an object that this one should have adopted.
func TestOnlyObjectsThatAnApplyReachedAreNotDeleted(t *testing.T) {
	t.Parallel()
	lost := kubetest.HangUp(true, true)
	rejected := kubetest.Status(http.StatusUnprocessableEntity, "Invalid")
	for name, c := range map[string]struct {
		fault kubetest.Fault // for the second object
		ours  []string       // objects that now belong to the adopting resource
	}{
		"all were applied":            {nil, []string{"a", "b", "c"}},
		"the outcome of b is unknown": {lost, []string{"a", "b"}},
		"the server rejects b":        {rejected, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory := newRun(t), Memory{}
			one := &Creation{Type: "kt_thing", ID: "ml/x", Adopt: true, PerObject: true}
			all := []*unstructured.Unstructured{configMap("a"), configMap("b"), configMap("c")}
			for _, obj := range all {
				r.Apply(t, kube.Manager, obj)
				if err := PrepareCreate(t.Context(), r.Run, one, obj, nil); err != nil {
					t.Fatal(err)
				}
			}
			r.Intercept = func(verb, path string) kubetest.Fault {
				if verb == "apply" && strings.HasSuffix(path, "/b") {
					return c.fault
				}
				return nil
			}
			for _, obj := range all {
				if _, _, err := Create(t.Context(), r.Run, memory, one, obj); err != nil {
					break
				}
			}
			one.Complete(r.Run)
			for _, obj := range all {
				ours := slices.Contains(c.ours, obj.GetName())
				deleted, err := r.DeleteUnlessClaimed(t.Context(), refOf(t, obj), func() error { return nil })
				_, failed := errors.AsType[*run.CreationFailedError](err)
				if deleted || failed == ours {
					t.Errorf("%s: deleted %t, error %v", obj.GetName(), deleted, err)
				}
			}
		})
	}
}

// An adopted object keeps the fields that nobody else applies, and a later apply can remove ours.
func TestAdoptionMakesTheProviderTheOnlyOwnerOfItsFields(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	r.Apply(t, somebody, configMap("a", "k", "same", "other", "theirs"))
	one := &Creation{Type: "kt_thing", ID: "ml/x", Adopt: true}
	live, diags, err := r.create(t, one, memory, configMap("a", "k", "same"))
	if err != nil || len(diags) > 0 || live == nil {
		t.Fatal(err, diags)
	}
	now := r.Object(mapPath + "a")
	found := false
	for _, entry := range now.GetManagedFields() {
		text := entry.FieldsV1.GetRawString()
		ours := entry.Manager == kube.Manager
		found = found || ours
		if strings.Contains(text, `"f:k"`) != ours {
			t.Errorf("%s owns %s", entry.Manager, text)
		}
	}
	if !found {
		t.Error("the provider owns nothing")
	}
	if _, _, err := apply(t.Context(), r.Run, memory, configMap("a")); err != nil {
		t.Fatal(err)
	}
	data, _, _ := unstructured.NestedStringMap(r.Object(mapPath+"a").Object, "data")
	if data["k"] != "" || data["other"] != "theirs" {
		t.Errorf("data %v", data)
	}
}

func TestManagersThatCannotBeRemovedAreAWarning(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.Apply(t, somebody, configMap("a", "k", "same"))
	r.fails("patch", "/a", http.StatusUnprocessableEntity)
	one := &Creation{Adopt: true}
	live, diags, err := r.create(t, one, Memory{}, configMap("a", "k", "same"))
	if err != nil || live == nil || len(diags) != 1 || diags.HasError() ||
		diags[0].Summary() != "ConfigMap ml/a still has other managers" ||
		!strings.Contains(diags[0].Detail(), "made up") {
		t.Errorf("%v, %v", err, diags)
	}
}

// rewriting makes the server change a value on admission.
func (r *testRun) rewriting() {
	r.Intercept = func(verb, _ string) kubetest.Fault {
		if verb != "apply" {
			return nil
		}
		return func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
			response := execute()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(response.Code)
			_, _ = w.Write(bytes.ReplaceAll(response.Body.Bytes(), []byte(`"sent"`), []byte(`"changed"`)))
		}
	}
}

func TestFieldsThatAdmissionChangesAreAWarning(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.rewriting()
	_, diags, err := r.create(t, creation(), Memory{}, configMap("a", "k", "sent"))
	if err != nil || len(diags) != 1 || diags.HasError() ||
		!strings.Contains(diags[0].Detail(), "ConfigMap/ml/a: data.k has another value") {
		t.Errorf("%v, %v", err, diags)
	}
}

func secretObject(name, value string) *unstructured.Unstructured {
	obj := configMap(name, "k", value)
	obj.SetKind("Secret")
	return obj
}

func TestSecretIsCreatedMarkedAndWithdrawnLikeOtherObjects(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/namespaces/ml/secrets/a"
	ref, ours, theirs := kube.SecretRef("ml", "a"), secretObject("a", "b3Vycw=="), secretObject("a", "dGhlaXJz")
	t.Run("a new one", func(t *testing.T) {
		t.Parallel()
		r, one := newRun(t), creation()
		if _, err := one.LookUp(t.Context(), r.Run, ref); err != nil {
			t.Fatal(err)
		}
		live, err := CreateSecret(t.Context(), r.Run, one, ref, ours)
		if err != nil || live.GetAnnotations()[kube.UnfinishedAnnotation] == "" {
			t.Fatalf("%v, %v", live, err)
		}
		one.Complete(r.Run)
		r.completions.Flush(t.Context())
		if left := unfinishedMark(r.Object(path)); left != "" {
			t.Errorf("the Secret in state is unfinished: %s", left)
		}
	})
	t.Run("an adopted one", func(t *testing.T) {
		t.Parallel()
		r := newRun(t)
		r.Server.Apply(t, somebody, theirs)
		one := &Creation{Adopt: true}
		if _, err := one.LookUp(t.Context(), r.Run, ref); err != nil {
			t.Fatal(err)
		}
		if live, err := CreateSecret(t.Context(), r.Run, one, ref, ours); err != nil || live == nil {
			t.Errorf("%v, %v", live, err)
		}
		if value, _, _ := unstructured.NestedString(r.Object(path).Object, "data", "k"); value != "b3Vycw==" {
			t.Errorf("the value is %q", value)
		}
	})
	t.Run("one that appears", func(t *testing.T) {
		t.Parallel()
		r, one := newRun(t), creation()
		if _, err := one.LookUp(t.Context(), r.Run, ref); err != nil {
			t.Fatal(err)
		}
		r.Server.Apply(t, somebody, theirs)
		live, err := CreateSecret(t.Context(), r.Run, one, ref, ours)
		if err == nil || live != nil || !strings.Contains(err.Error(), "managed by kubectl") {
			t.Errorf("%v, %v", live, err)
		}
	})
}
