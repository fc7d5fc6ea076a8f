package kube

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestApplyNewDistinguishesCreationFromAnExistingObject(t *testing.T) {
	t.Parallel()
	conflict := metav1.Status{Reason: metav1.StatusReasonConflict, Message: "conflict", Details: &metav1.StatusDetails{
		Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas",
			Message: `conflict with "kubectl"`}},
	}}
	for name, test := range map[string]struct {
		codes  []int  // of the responses, one after the other
		live   string // the creation of the object that is read
		forced []string
		exists bool
		class  Class // of another error, Other for none
	}{
		"created":                  {codes: []int{http.StatusCreated}, forced: []string{"false"}},
		"met":                      {codes: []int{http.StatusOK}, forced: []string{"false"}, exists: true},
		"owned by another manager": {codes: []int{http.StatusConflict}, forced: []string{"false"}, class: Conflict},
		"created by an attempt without a response": {codes: []int{http.StatusGatewayTimeout, http.StatusOK},
			forced: []string{"false", "false"}},
		"created by a second attempt": {codes: []int{http.StatusTooManyRequests, http.StatusCreated},
			forced: []string{"false", "false"}},
		"exists at a second attempt": {codes: []int{http.StatusTooManyRequests, http.StatusOK},
			forced: []string{"false", "false"}, exists: true},
		"created by a lost attempt, and edited": {codes: []int{http.StatusGatewayTimeout, http.StatusConflict,
			http.StatusOK}, live: "some", forced: []string{"false", "false", "true"}},
		"created by another client during a lost attempt": {
			codes: []int{http.StatusGatewayTimeout, http.StatusConflict}, forced: []string{"false", "false"},
			class: Conflict},
		"created by another run during a lost attempt": {
			codes: []int{http.StatusGatewayTimeout, http.StatusConflict}, live: "other",
			forced: []string{"false", "false"}, class: Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var forced []string
			cluster := clusterOf(t, kubetest.API{Answer: func(_, _ string, request *http.Request) (int, any) {
				mu.Lock()
				defer mu.Unlock()
				if request.Method == http.MethodGet {
					live := kubetest.Deployment("1", 0)
					if test.live == "" {
						return http.StatusOK, live
					}
					live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: Manager, Operation: "Apply",
						FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(
							`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}}}`)}})
					return http.StatusOK, MarkUnfinished(live, test.live)
				}
				forced = append(forced, request.URL.Query().Get("force"))
				switch code := test.codes[min(len(forced), len(test.codes))-1]; code {
				case http.StatusConflict:
					return code, conflict
				case http.StatusTooManyRequests:
					return kubetest.Failing(code, metav1.StatusReasonTooManyRequests)
				case http.StatusGatewayTimeout:
					return kubetest.Failing(code, metav1.StatusReasonTimeout)
				default:
					return code, kubetest.Deployment("1", 0)
				}
			}})
			live, err := cluster.ApplyNew(t.Context(), MarkUnfinished(kubetest.Deployment("", 0), "some"))
			_, exists := err.(*ExistsError) //nolint:errorlint // ApplyNew has just made it
			if exists != test.exists || (test.class != Other) != (ClassOf(err) == Conflict) {
				t.Errorf("%v, want it to exist: %t, class %d", err, test.exists, test.class)
			}
			if (err == nil) != (live != nil) || !slices.Equal(forced, test.forced) {
				t.Errorf("object %v, error %v, forced %v; want forced %v", live, err, forced, test.forced)
			}
		})
	}
}

// namesTable returns the response of a server to a request for a table.
func namesTable(names ...string) metav1.Table {
	table := metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"},
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Age", Type: "string"},
			{Name: "Name", Type: "string", Format: "name"}},
	}
	for _, name := range names {
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{"5d", name}})
	}
	return table
}

func TestExistingNamesAreFoundByOneListOrADryRun(t *testing.T) {
	t.Parallel()
	list := func(names ...string) func(*http.Request) (int, any) {
		return func(request *http.Request) (int, any) {
			if !strings.Contains(request.Header.Get("Accept"), "as=Table") ||
				request.URL.Query().Get("labelSelector") != "" {
				return kubetest.Failing(http.StatusBadRequest, metav1.StatusReasonBadRequest)
			}
			return http.StatusOK, namesTable(names...)
		}
	}
	objects := func(*http.Request) (int, any) { // a server that cannot print
		return http.StatusOK, &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "apps/v1",
			"kind": "DeploymentList", "items": []any{}}}
	}
	refuse := func(*http.Request) (int, any) {
		return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	for name, test := range map[string]struct {
		list   func(*http.Request) (int, any)
		dryRun int // status of the response to a dry run before, 0 for none
		there  bool
		want   []string // the requests of three looks
	}{
		"absent by the list":      {list: list("other"), want: []string{"list"}},
		"absent by an empty list": {list: list(), want: []string{"list"}},
		"present in the list": {list: list("other", "trainer"), there: true,
			want: []string{"list", "get", "get", "get"}},
		"deleted since the list": {list: list("trainer"), want: []string{"list", "get", "get", "get"}},
		"not listed as a table":  {list: objects, want: []string{"list", "get", "get", "get"}},
		// The rejection is final if the server was ready before.
		"without permission to list": {list: refuse, want: []string{"list", "list", "get", "get", "get"}},
		"absent by a dry run": {list: list("other"), dryRun: http.StatusCreated,
			want: []string{"patch", "list"}},
		"present in a dry run": {list: list("trainer"), dryRun: http.StatusOK, there: true,
			want: []string{"patch", "list", "get", "get", "get"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var asked []string
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, request *http.Request) (int, any) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, verb)
				switch {
				case verb == "patch":
					return test.dryRun, kubetest.Deployment("", 0)
				case verb == "list":
					return test.list(request)
				case test.there:
					return http.StatusOK, kubetest.Deployment("1", 0)
				default:
					return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
						Details: &metav1.StatusDetails{Kind: "deployments", Name: "trainer"}}
				}
			}})
			if test.dryRun != 0 {
				_, created, err := cluster.DryRunNew(t.Context(), kubetest.Deployment("", 0))
				if err != nil || created != (test.dryRun == http.StatusCreated) {
					t.Fatalf("created %t, error %v", created, err)
				}
			}
			for range 3 {
				live, err := cluster.Look(t.Context(), trainer())
				if err != nil || (live != nil) != test.there {
					t.Errorf("%v, error %v, want it to exist: %t", live, err, test.there)
				}
			}
			if !slices.Equal(asked, test.want) {
				t.Errorf("requests %v, want %v", asked, test.want)
			}
		})
	}
}

func TestNamesAreListedAgainAfterTheyExpire(t *testing.T) {
	t.Parallel()
	lists := 0
	cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		lists++
		return http.StatusOK, namesTable()
	}})
	for range 2 {
		if live, err := cluster.Look(t.Context(), trainer()); err != nil || live != nil {
			t.Fatalf("%v, error %v", live, err)
		}
		<-cluster.API.clock.After(absentTime)
	}
	if lists != 2 {
		t.Errorf("%d lists, want 2", lists)
	}
}

func TestUndoThatWouldLoseOtherChangesIsDetected(t *testing.T) {
	t.Parallel()
	data := func(keys ...string) map[string]any {
		values := map[string]any{}
		for _, key := range keys {
			values[key] = "x"
		}
		return map[string]any{"data": values}
	}
	for name, test := range map[string]struct {
		live, after, sent map[string]any
		want              bool
	}{
		"a sent field is removed":       {data("ours", "theirs"), data("theirs"), data("ours"), false},
		"all sent fields are removed":   {data("ours"), map[string]any{}, data("ours"), false},
		"another field is also removed": {data("ours", "theirs"), map[string]any{}, data("ours"), true},
		"only another field is removed": {data("theirs"), data(), data(), true},
		"an item of a list is removed": {
			map[string]any{"list": []any{"a", "b"}}, map[string]any{"list": []any{"a"}},
			map[string]any{"list": []any{"c"}}, true,
		},
		"a sent item of a list is removed": {
			map[string]any{"list": []any{"a", "b"}}, map[string]any{"list": []any{"a"}},
			map[string]any{"list": []any{"b"}}, false,
		},
	} {
		if got := losesMore(test.live, test.after, test.sent); got != test.want {
			t.Errorf("%s: %t, want %t", name, got, test.want)
		}
	}
}
