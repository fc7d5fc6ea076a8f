package kube

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// taken returns Records without entries of kubectl.
func taken(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
	others, changed, err := recordsOfOthers(renamed(live, "kubectl", Manager))
	return others, changed, err
}

// renamed returns an object on which one manager has the entries of another one.
func renamed(obj *unstructured.Unstructured, from, to string) *unstructured.Unstructured {
	out := obj.DeepCopy()
	entries := out.GetManagedFields()
	for i := range entries {
		if entries[i].Manager == from {
			entries[i].Manager = to
		}
	}
	out.SetManagedFields(entries)
	return out
}

// A patch of an existing object needs no permission to create one, unlike an apply.
func TestRejectedPatchIsNoMissingPermissionToCreate(t *testing.T) {
	t.Parallel()
	cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
		if strings.HasSuffix(path, "/selfsubjectaccessreviews") {
			return kubetest.Reviewed(request, func(verb string) bool { return verb == "patch" })
		}
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	}})
	marked := MarkCreation(object("apps/v1", "Deployment"), "some")
	none := func(*unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) { return nil, true, nil }
	for name, err := range map[string]error{
		"an annotation":  cluster.RemoveAnnotation(t.Context(), trainer(), marked, CreationAnnotation),
		"managed fields": cluster.SetRecords(t.Context(), trainer(), marked, none),
	} {
		if got := ClassOf(err); got != Refused {
			t.Errorf("%s: class %d, %v", name, got, err)
		}
	}
}

// An apply needs the permission to create only for an object that does not exist.
func TestRejectedApplyOfAnExistingObjectIsNoMissingPermissionToCreate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		missing string // verb
		exists  bool
		want    Class
	}{
		"an existing object":                 {"create", true, Refused},
		"a new object":                       {"create", false, Denied},
		"an existing object, without patch":  {"patch", true, Denied},
		"an existing object, all is allowed": {"", true, Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := clusterOf(t, kubetest.API{Answer: func(_, path string, request *http.Request) (int, any) {
				switch {
				case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
					return kubetest.Reviewed(request, func(verb string) bool { return verb != c.missing })
				case request.Method == http.MethodGet && c.exists:
					return http.StatusOK, object("apps/v1", "Deployment")
				case request.Method == http.MethodGet:
					return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
				}
				return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
			}})
			_, err := cluster.DryRun(t.Context(), object("apps/v1", "Deployment"))
			if got := ClassOf(err); got != c.want {
				t.Errorf("class %d, %v", got, err)
			}
		})
	}
}

func TestManagedFieldsAreSetOnTheirVersion(t *testing.T) {
	t.Parallel()
	invalid := errors.New("unreadable")
	conflict := kubetest.Status(http.StatusConflict, metav1.StatusReasonConflict)
	missing := kubetest.Status(http.StatusNotFound, metav1.StatusReasonNotFound)
	bad := kubetest.Status(http.StatusBadRequest, metav1.StatusReasonBadRequest)
	fail := func(*unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
		return nil, false, invalid
	}
	patch1, get1 := "patch 1", "get 1"
	for name, test := range map[string]struct {
		unread   bool // the object was not read before
		outdated bool
		records  Records
		at       string // the request that has the fault
		fault    kubetest.Fault
		requests string
		written  bool
		fails    bool
	}{
		"a current object":   {records: taken, requests: "patch", written: true},
		"an object to read":  {unread: true, records: taken, requests: "get,patch", written: true},
		"an outdated object": {outdated: true, records: taken, requests: "patch,get,patch", written: true},
		"a conflict": {records: taken, at: patch1, fault: conflict, requests: "patch,get,patch",
			written: true},
		"no change":                {records: recordsOfOthers},
		"a failure of the caller":  {records: fail, fails: true},
		"a missing object":         {records: taken, at: patch1, fault: missing, requests: "patch"},
		"a missing object to read": {unread: true, records: taken, at: get1, fault: missing, requests: "get"},
		"a failed read":            {unread: true, records: taken, at: get1, fault: bad, requests: "get", fails: true},
		"a failure":                {records: taken, at: patch1, fault: bad, requests: "patch", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := faulty(t, map[string]kubetest.Fault{test.at: test.fault})
			live := server.Apply(t, "kubectl", withStrategy(map[string]any{"type": "Recreate"}))
			if test.outdated {
				live.SetResourceVersion("0")
			}
			if test.unread {
				live = nil
			}
			err := clusterAt(t, server.URL).SetRecords(t.Context(), trainer(), live, test.records)
			if got := verbsOf(server); got != test.requests || (err != nil) != test.fails {
				t.Errorf("requests %s, want %s; %v", got, test.requests, err)
			}
			entries := server.Object(kubetest.TrainerPath).GetManagedFields()
			if (len(entries) == 0) != test.written {
				t.Errorf("the managed fields are %v", entries)
			}
		})
	}
}

func TestOnlyAnExistingAnnotationIsRemoved(t *testing.T) {
	t.Parallel()
	var sent []string
	cluster := clusterOf(t, kubetest.API{Answer: func(_, _ string, request *http.Request) (int, any) {
		body, _ := io.ReadAll(request.Body)
		sent = append(sent, string(body))
		return http.StatusOK, kubetest.Deployment("2", 0)
	}})
	live := kubetest.Deployment("1", 0)
	if err := cluster.RemoveAnnotation(t.Context(), trainer(), live, "note"); err != nil || len(sent) > 0 {
		t.Errorf("%v, %q", err, sent)
	}
	live.SetAnnotations(map[string]string{"note": "x"})
	const removal = `{"op":"remove","path":"/metadata/annotations/note"}`
	err := cluster.RemoveAnnotation(t.Context(), trainer(), live, "note")
	if err != nil || len(sent) != 1 || !strings.Contains(sent[0], removal) {
		t.Errorf("%v, %q", err, sent)
	}
}
