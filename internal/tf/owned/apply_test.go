package owned

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// data returns the data of the ConfigMap a.
func (r *testRun) dataOf(t *testing.T) map[string]string {
	t.Helper()
	data, _, err := unstructured.NestedStringMap(r.Object(mapPath+"a").Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func setData(key, value string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, value, "data", key)
	}
}

// expected returns the memory of a creation of the ConfigMap a without response.
func expected() Memory { return Memory{mapKey: {Creation: "some"}} }

// The response to the creation was lost. The next apply must complete this creation and no other.
func TestApplyAfterALostResponseCompletesTheCreation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		existing *unstructured.Unstructured
		manager  string
		summary  string // of the error
	}{
		"it created nothing": {},
		"it created the object": {existing: kube.MarkUnfinished(configMap("a", "k", "old"), "some"),
			manager: kube.Manager},
		"another creation made it": {existing: kube.MarkUnfinished(configMap("a", "k", "old"), "other"),
			manager: kube.Manager, summary: "ConfigMap ml/a is another object than the one in state"},
		"another client made it": {existing: configMap("a", "k", "old"), manager: somebody,
			summary: "ConfigMap ml/a is another object than the one in state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory := newRun(t), expected()
			if c.existing != nil {
				r.Server.Apply(t, c.manager, c.existing)
			}
			live, _, err := apply(t.Context(), r.Run, memory, configMap("a", "k", "new"))
			r.completions.Flush(t.Context())
			if c.summary != "" {
				if err == nil || Failure(err).Summary() != c.summary ||
					!strings.Contains(Failure(err).Detail(), "whose response was lost, did not create it") ||
					r.dataOf(t)["k"] != "old" || live != nil {
					t.Errorf("error %v, data %v", err, r.dataOf(t))
				}
				return
			}
			if err != nil || r.dataOf(t)["k"] != "new" || memory[mapKey].UID != live.GetUID() {
				t.Errorf("error %v, data %v, memory %+v", err, r.dataOf(t), memory)
			}
			if left := r.Object(mapPath + "a").GetAnnotations(); left[kube.UnfinishedAnnotation] != "" {
				t.Errorf("the object in state has the annotations %v", left)
			}
		})
	}
}

// Between the read and the apply, another client may have replaced the object.
func TestApplyAfterALostResponseChangesOnlyTheObjectThatItRead(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), expected()
	r.Server.Apply(t, kube.Manager, kube.MarkUnfinished(configMap("a", "k", "old"), "some"))
	r.Intercept = func(verb, path string) kubetest.Fault {
		if verb == "apply" {
			r.Remove(path)
		}
		return nil
	}
	if _, _, err := apply(t.Context(), r.Run, memory, configMap("a", "k", "new")); err == nil {
		t.Errorf("applied to %v", r.Object(mapPath+"a"))
	}
}

func TestApplySendsNothingIfTheObjectCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]Memory{"after a lost response": expected(), "after a creation": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t)
			if len(memory) == 0 {
				r.mustCreate(t, memory, configMap("a", "k", "old"))
			}
			before := len(r.Requests("apply"))
			r.fails("get", "/a", http.StatusForbidden)
			_, _, err := apply(t.Context(), r.Run, memory, configMap("a", "k", "new"))
			if kube.ClassOf(err) != kube.Denied || len(r.Requests("apply")) > before {
				t.Errorf("%v after %v", err, r.Requests("apply"))
			}
		})
	}
}

func TestApplyCreatesADeletedObjectAgain(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	first := r.mustCreate(t, memory, configMap("a", "k", "v"))
	r.Remove(mapPath + "a")
	live, diags, err := apply(t.Context(), r.Run, memory, configMap("a", "k", "v"))
	if err != nil || len(diags) > 0 || live.GetUID() == first.GetUID() || memory[mapKey].UID != live.GetUID() {
		t.Errorf("%v, %v, memory %+v", err, diags, memory)
	}
}

// A later apply without the annotation would remove it, and a lost response could not be attributed.
func TestApplyKeepsTheAnnotationOfTheCreation(t *testing.T) {
	t.Parallel()
	r, memory, one := newRun(t), Memory{}, creation()
	one.Mark(configMap("first"))
	if _, _, err := r.create(t, one, memory, configMap("a", "k", "v")); err != nil {
		t.Fatal(err)
	}
	id := r.Object(mapPath + "a").GetAnnotations()[kube.CreationAnnotation]
	if _, _, err := apply(t.Context(), r.Run, memory, configMap("a", "k", "w")); err != nil {
		t.Fatal(err)
	}
	if now := r.Object(mapPath + "a").GetAnnotations(); id == "" || now[kube.CreationAnnotation] != id {
		t.Errorf("annotations %v, want the creation %q", now, id)
	}
}

func TestApplyRemovesTheFieldsThatItOmits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others func(*testing.T, *testRun)
		denies bool     // a webhook denies the removal of the annotation of the creation, as that of Knative does
		kept   bool     // another client applies the field
		sent   []string // requests besides the apply
	}{
		"nobody else wrote them": {others: func(*testing.T, *testRun) {}, sent: nil},
		"another client edited them": {others: func(t *testing.T, r *testRun) {
			t.Helper()
			r.Edit(t, mapPath+"a", "kubectl-edit", setData("k", "edited"))
		}, sent: []string{"dry-run " + mapPath + "a", "patch " + mapPath + "a"}},
		"another client edited them, and annotations stay": {others: func(t *testing.T, r *testRun) {
			t.Helper()
			r.Edit(t, mapPath+"a", "kubectl-edit", setData("k", "edited"))
		}, denies: true, sent: []string{"dry-run " + mapPath + "a", "patch " + mapPath + "a"}},
		"another client applies them": {others: func(t *testing.T, r *testRun) {
			t.Helper()
			r.Server.Apply(t, somebody, configMap("a", "k", "v"))
		}, kept: true, sent: nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, memory := newRun(t), Memory{}
			r.mustCreate(t, memory, configMap("a", "k", "v", "l", "v"))
			c.others(t, r)
			if c.denies {
				r.Intercept = deniesUnmarked
			}
			before := len(r.Requests("dry-run", "patch"))
			if _, _, err := apply(t.Context(), r.Run, memory, configMap("a", "l", "w")); err != nil {
				t.Fatal(err)
			}
			if _, found := r.dataOf(t)["k"]; found != c.kept || r.dataOf(t)["l"] != "w" ||
				unfinishedMark(r.Object(mapPath+"a")) != "" ||
				kube.MarkedCreation(r.Object(mapPath+"a")) != memory[mapKey].Creation {
				t.Errorf("object %v", r.Object(mapPath+"a"))
			}
			if sent := r.Requests("dry-run", "patch")[before:]; !slices.Equal(sent, c.sent) {
				t.Errorf("requests %v, want %v", sent, c.sent)
			}
		})
	}
}

// deniesUnmarked denies dry runs that remove the annotation of the creation.
func deniesUnmarked(verb, _ string) kubetest.Fault {
	if verb != "dry-run" {
		return nil
	}
	return func(w http.ResponseWriter, execute func() *httptest.ResponseRecorder) {
		response := execute()
		if !strings.Contains(response.Body.String(), `"`+kube.CreationAnnotation+`":`) {
			response = httptest.NewRecorder()
			kubetest.StatusWith(http.StatusForbidden, metav1.StatusReasonForbidden, "annotation removed")(response, nil)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.Code)
		_, _ = w.Write(response.Body.Bytes())
	}
}

// Another client has set the fields of an adopted object by an apply. It need not apply again.
func TestFirstApplyOfAnAdoptedObjectRemovesTheFieldsThatItOmits(t *testing.T) {
	t.Parallel()
	r, memory, objects := newRun(t), Memory{}, Objects{}
	live := r.Server.Apply(t, somebody, configMap("a", "k", "v", "l", "v", "theirs", "v"))
	ok, err := objects.Adopt(t.Context(), r.Cluster, memory, live, configMap("a", "k", "v", "l", "v"))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, _, err := apply(t.Context(), r.Run, memory, configMap("a", "l", "v")); err != nil {
		t.Fatal(err)
	}
	if data := r.dataOf(t); data["k"] != "" || data["l"] != "v" || data["theirs"] != "v" {
		t.Errorf("data %v", data)
	}
}

func TestApplyThatCannotRemoveItsFieldsIsNotSent(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	r.mustCreate(t, memory, configMap("a", "k", "v"))
	r.Edit(t, mapPath+"a", "kubectl-edit", setData("k", "edited"))
	r.fails("patch", "/a", http.StatusForbidden)
	before := len(r.Requests("apply"))
	_, _, err := apply(t.Context(), r.Run, memory, configMap("a"))
	if sent := r.Requests("apply")[before:]; err == nil || len(sent) > 0 {
		t.Errorf("%v, sent %v", err, sent)
	}
	if _, _, err := apply(t.Context(), r.Run, memory, custom()); kube.ClassOf(err) != kube.KindMissing {
		t.Errorf("a kind that the cluster does not have: %v", err)
	}
}

// unowned responds with an object that has no owners.
func unowned(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(configMap("a", "k", "v"))
}

// unreadableOwners responds with an object whose owners have an unknown format.
func unreadableOwners(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	obj := configMap("a", "k", "v")
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: kube.Manager, Operation: "Apply",
		FieldsV1: metav1.NewFieldsV1(unreadable)}})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(obj)
}

func TestResponseWithoutOwnersIsAnError(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.Intercept = func(verb, _ string) kubetest.Fault {
		if verb == "apply" {
			return unowned
		}
		return nil
	}
	memory := Memory{}
	live, _, err := apply(t.Context(), r.Run, memory, configMap("a"))
	if err == nil || live == nil || len(memory) > 0 || !strings.Contains(err.Error(), "ConfigMap/ml/a") {
		t.Errorf("object %v, memory %v, error %v", live, memory, err)
	}
}

func TestClaimOfRemovedFieldsNeedsTheResultOfTheApply(t *testing.T) {
	t.Parallel()
	r, memory := newRun(t), Memory{}
	obj := configMap("a", "l", "v")
	r.mustCreate(t, memory, configMap("a", "k", "v", "l", "v"))
	r.Edit(t, mapPath+"a", "kubectl-edit", setData("k", "edited"))
	live := r.Object(mapPath + "a")
	before := len(r.Requests("patch"))
	for name, dryRun := range map[string]func() (*unstructured.Unstructured, error){
		"the dry run fails": func() (*unstructured.Unstructured, error) { return nil, errors.New("invalid") },
		"the provider owns nothing": func() (*unstructured.Unstructured, error) {
			return obj, nil
		},
	} {
		err := ClaimRemovedFields(t.Context(), r.Cluster, memory, refOf(t, obj), mapKey, live, dryRun)
		if sent := r.Requests("patch")[before:]; err != nil || len(sent) > 0 {
			t.Errorf("%s: %v, requests %v", name, err, sent)
		}
	}
	broken := live.DeepCopy()
	broken.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: somebody, Operation: "Update",
		FieldsV1: metav1.NewFieldsV1(unreadable)}})
	fails := func() (*unstructured.Unstructured, error) {
		t.Error("dry run of an object whose owners are unknown")
		return obj, nil
	}
	if err := ClaimRemovedFields(t.Context(), r.Cluster, memory, refOf(t, obj), mapKey, broken, fails); err == nil {
		t.Error("the owners of the fields are unknown")
	}
	unknown := func() (*unstructured.Unstructured, error) {
		out := live.DeepCopy()
		records := out.GetManagedFields()
		for i := range records {
			records[i].FieldsV1 = metav1.NewFieldsV1(unreadable)
		}
		out.SetManagedFields(records)
		return out, nil
	}
	if err := ClaimRemovedFields(t.Context(), r.Cluster, memory, refOf(t, obj), mapKey, live, unknown); err == nil {
		t.Error("the fields that remain are unknown")
	}
}

func TestFieldsThatOthersKeepInTheClusterAreAWarning(t *testing.T) {
	t.Parallel()
	after := func(t *testing.T, r *testRun) *unstructured.Unstructured {
		t.Helper()
		result, err := r.Cluster.DryRun(t.Context(), configMap("a", "l", "v"))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	r, memory := newRun(t), Memory{}
	obj := configMap("a", "k", "v", "l", "v")
	r.mustCreate(t, memory, obj)
	if diags := memory.RetainedWarning(refOf(t, obj), mapKey, after(t, r)); len(diags) > 0 {
		t.Errorf("nobody keeps a field: %v", diags)
	}
	r.Server.Apply(t, somebody, configMap("a", "k", "v"))
	diags := memory.RetainedWarning(refOf(t, obj), mapKey, after(t, r))
	if len(diags) != 1 || diags.HasError() ||
		diags[0].Summary() != "ConfigMap ml/a keeps fields that the plan removes" ||
		!strings.Contains(diags[0].Detail(), "\n  - data.k: managed by kubectl\n") {
		t.Errorf("%v", diags)
	}
	scaled := after(t, r)
	records := scaled.GetManagedFields()
	for i := range records {
		if records[i].Manager == somebody {
			records[i].Subresource = "scale"
		}
	}
	scaled.SetManagedFields(records)
	if diags := memory.RetainedWarning(refOf(t, obj), mapKey, scaled); len(diags) != 1 ||
		!strings.Contains(diags[0].Detail(), "managed by kubectl through the subresource scale\n") {
		t.Errorf("%v", diags)
	}
	adopted := memory[mapKey]
	adopted.Adopted = true
	unowned := after(t, r)
	unowned.SetManagedFields(slices.DeleteFunc(unowned.GetManagedFields(),
		func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == kube.Manager }))
	for name, c := range map[string]struct {
		memory Memory
		after  *unstructured.Unstructured
	}{
		"without a result":              {memory, nil},
		"without an entry":              {Memory{}, after(t, r)},
		"adopted, the apply takes them": {Memory{mapKey: adopted}, after(t, r)},
		"the provider owns nothing":     {memory, unowned},
	} {
		if diags := c.memory.RetainedWarning(refOf(t, obj), mapKey, c.after); len(diags) > 0 {
			t.Errorf("%s: %v", name, diags)
		}
	}
}

func TestOnlyAppliedFieldsCountAsApplied(t *testing.T) {
	t.Parallel()
	some := []byte(`{"f:data":{"f:k":{}}}`)
	for name, c := range map[string]struct {
		entry                 Entry
		applied, neverApplied bool
	}{
		"fields":            {entry: Entry{Set: some}, applied: true},
		"adopted fields":    {entry: Entry{Set: some, Adopted: true}, neverApplied: true},
		"no fields":         {entry: Entry{Set: []byte(`{}`)}, neverApplied: true},
		"no response":       {entry: Entry{Creation: "some"}},
		"an unknown format": {entry: Entry{Set: []byte(`[`)}},
	} {
		memory := Memory{mapKey: c.entry}
		if got := memory.Applied(mapKey); got != c.applied {
			t.Errorf("%s: applied %t", name, got)
		}
		if got := memory.NeverApplied(mapKey); got != c.neverApplied {
			t.Errorf("%s: never applied %t", name, got)
		}
	}
	if (Memory{}).Applied(mapKey) || (Memory{}).NeverApplied(mapKey) {
		t.Error("an object without an entry counts")
	}
}
