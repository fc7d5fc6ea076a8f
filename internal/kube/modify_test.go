package kube

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestModifyPatchesOnlyTheChangeOfOneVersion(t *testing.T) {
	t.Parallel()
	var patches []string
	version := "1"
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, request *http.Request) (int, any) {
		if verb != "patch" {
			return http.StatusOK, kubetest.Deployment(version, 1)
		}
		body, _ := io.ReadAll(request.Body)
		patches = append(patches, string(body))
		if manager := request.URL.Query().Get("fieldManager"); manager != ActionManager {
			t.Errorf("the field manager is %q", manager)
		}
		if version == "1" { // another client was faster
			version = "2"
			return kubetest.Failing(http.StatusConflict, metav1.StatusReasonConflict)
		}
		return http.StatusOK, kubetest.Deployment("3", 1)
	}})
	replicas := func(obj *unstructured.Unstructured) error {
		return unstructured.SetNestedField(obj.Object, int64(5), "spec", "replicas")
	}
	after, changed, err := cluster.Modify(t.Context(), trainer(), replicas)
	if err != nil || !changed || after.GetResourceVersion() != "3" {
		t.Errorf("%v %t %v", after, changed, err)
	}
	want := []string{
		`{"metadata":{"resourceVersion":"1"},"spec":{"replicas":5}}`,
		`{"metadata":{"resourceVersion":"2"},"spec":{"replicas":5}}`,
	}
	if strings.Join(patches, "\n") != strings.Join(want, "\n") {
		t.Errorf("the patches are %q, want %q", patches, want)
	}
}

func TestFieldsSetByAnAction(t *testing.T) {
	t.Parallel()
	replicas := []string{"spec", "replicas"}
	selector := []string{"spec", "template", "spec", "nodeSelector", "a"}
	for name, c := range map[string]struct {
		manager, fields string
		path            []string
		want            bool
	}{
		"a field":                   {ActionManager, `{"f:spec":{"f:replicas":{}}}`, replicas, true},
		"a field of another client": {Manager, `{"f:spec":{"f:replicas":{}}}`, replicas, false},
		"another field":             {ActionManager, `{"f:spec":{"f:paused":{}}}`, replicas, false},
		"only the annotation": {ActionManager, `{"f:metadata":{"f:annotations":{".":{},"f:kt.dev/suspended":{}}}}`,
			replicas, false},
		"an entry of an atomic map": {ActionManager,
			`{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{}}}}}`, selector, true},
		"another entry of a map": {ActionManager,
			`{"f:spec":{"f:template":{"f:spec":{"f:nodeSelector":{".":{},"f:b":{}}}}}}`, selector, false},
		"an unknown format": {ActionManager, `{"f:spec"`, replicas, false},
		"no fields":         {ActionManager, `{}`, replicas, false},
	} {
		obj := kubetest.Deployment("1", 1)
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: c.manager, FieldsType: "FieldsV1",
			Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(c.fields)}})
		if got := SetByAction(obj, c.path); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestModifyWithoutAChangeWritesNothing(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, _ *http.Request) (int, any) {
		if verb == "patch" {
			t.Error("an unchanged object is patched")
		}
		return http.StatusOK, kubetest.Deployment("1", 1)
	}})
	same := func(*unstructured.Unstructured) error { return nil }
	if after, changed, err := cluster.Modify(t.Context(), trainer(), same); err != nil || changed || after == nil {
		t.Errorf("%v %t %v", after, changed, err)
	}
	failure := errors.New("not possible")
	failing := func(*unstructured.Unstructured) error { return failure }
	if _, _, err := cluster.Modify(t.Context(), trainer(), failing); !errors.Is(err, failure) {
		t.Errorf("the error is %v", err)
	}
	invalid := func(obj *unstructured.Unstructured) error { obj.Object["spec"] = func() {}; return nil }
	if _, changed, err := cluster.Modify(t.Context(), trainer(), invalid); err == nil || changed {
		t.Errorf("a value that is no JSON: %t, %v", changed, err)
	}
}

func TestModifyNeedsOnlyThePermissionToPatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		allowed string
		want    Class
	}{
		"without permission":               {"", Denied},
		"rejected with permission":         {"patch", Refused},
		"permission for another operation": {"create", Denied},
	} {
		cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
			switch {
			case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
				return kubetest.Reviewed(request, func(verb string) bool { return verb == test.allowed })
			case verb == "patch":
				return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
			}
			return http.StatusOK, kubetest.Deployment("1", 1)
		}})
		_, changed, err := cluster.Modify(t.Context(), trainer(), func(obj *unstructured.Unstructured) error {
			return unstructured.SetNestedField(obj.Object, int64(5), "spec", "replicas")
		})
		if ClassOf(err) != test.want || changed {
			t.Errorf("%s: class %v of %v, want %v", name, ClassOf(err), err, test.want)
		}
	}
}

func TestEvictionThatABudgetForbidsIsNotRepeated(t *testing.T) {
	t.Parallel()
	requests := 0
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
		requests++
		var eviction policyv1.Eviction
		if err := json.NewDecoder(request.Body).Decode(&eviction); err != nil ||
			path != "/api/v1/namespaces/ml/pods/trainer-0/eviction" ||
			*eviction.DeleteOptions.Preconditions.UID != "u" {
			t.Errorf("%s %+v %v", path, eviction, err)
		}
		return http.StatusTooManyRequests, metav1.Status{Reason: metav1.StatusReasonTooManyRequests,
			Message: "Cannot evict pod", Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{
				Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget trainer needs 2 healthy pods."}}}}
	}})
	err := cluster.Evict(t.Context(), "ml", "trainer-0", "u")
	budget, ok := errors.AsType[*BudgetError](err)
	if !ok || budget.Budget != "The disruption budget trainer needs 2 healthy pods" || requests != 1 {
		t.Errorf("after %d requests: %v", requests, err)
	}
}

func TestEvictionOfAMissingOrReplacedPodIsNoError(t *testing.T) {
	t.Parallel()
	for code, reason := range map[int]metav1.StatusReason{
		http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusConflict: metav1.StatusReasonConflict,
	} {
		cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
			return code, metav1.Status{Reason: reason, Details: &metav1.StatusDetails{Name: "trainer-0", Kind: "pods"}}
		}})
		if err := cluster.Evict(t.Context(), "ml", "trainer-0", "u"); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

func TestEvictionNeedsPermissionForTheSubresource(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
		if !strings.HasSuffix(path, "/selfsubjectaccessreviews") {
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		var review map[string]any
		_ = json.NewDecoder(request.Body).Decode(&review)
		attributes, _, _ := unstructured.NestedStringMap(review, "spec", "resourceAttributes")
		if attributes["resource"] != "pods" || attributes["subresource"] != "eviction" ||
			attributes["verb"] != "create" {
			t.Errorf("the review is about %v", attributes)
		}
		review["status"] = map[string]any{"allowed": false}
		return http.StatusCreated, review
	}})
	if err := cluster.Evict(t.Context(), "ml", "trainer-0", "u"); ClassOf(err) != Denied {
		t.Errorf("class %v of %v", ClassOf(err), err)
	}
}
