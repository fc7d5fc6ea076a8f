package kube

import (
	"net/http"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestApplyChangesNothingComparesWithTheVersionOfTheDryRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes  int  // of a controller, each between a read and the dry run after it
		replicas bool // whether the dry run changes replicas
		// unfinished reports whether the dry run removes UnfinishedAnnotation, as after a provider that was killed at
		// the end of its run.
		unfinished bool
		want       bool
	}{
		"unchanged": {want: true},
		"changed":   {replicas: true},
		"unchanged, during changes by a controller": {changes: 2, want: true},
		"changed, during changes by a controller":   {changes: 2, replicas: true},
		"unchanged, with an unfinished creation":    {unfinished: true, want: true},
		"changed, with an unfinished creation":      {unfinished: true, replicas: true},
		"continuous changes by a controller":        {changes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			version, changes := 1, test.changes
			object := func() *unstructured.Unstructured {
				obj := kubetest.Deployment(strconv.Itoa(version), 1)
				obj.SetAnnotations(map[string]string{"controller": strconv.Itoa(version)})
				return obj
			}
			live := func() *unstructured.Unstructured {
				if test.unfinished {
					return MarkUnfinished(object(), "id")
				}
				return object()
			}
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				mu.Lock()
				defer mu.Unlock()
				if code, body, ok := kubetest.GetsOnly(verb, path, request); ok {
					return code, body
				}
				if verb != "patch" {
					return http.StatusOK, live()
				}
				if changes > 0 {
					changes--
					version++
				}
				after := object()
				if test.replicas {
					_ = unstructured.SetNestedField(after.Object, int64(2), "spec", "replicas")
				}
				return http.StatusOK, after
			}})
			if got, err := cluster.ApplyChangesNothing(t.Context(), kubetest.Deployment("", 0)); err != nil ||
				got != test.want {
				t.Errorf("%t, %v; want %t", got, err, test.want)
			}
		})
	}
}

func TestFailedDryRunLeavesItUnknownWhetherAnApplyChangesSomething(t *testing.T) {
	t.Parallel()
	server := faulty(t, map[string]kubetest.Fault{
		"dry-run 1": kubetest.Status(http.StatusBadRequest, metav1.StatusReasonBadRequest)})
	server.Apply(t, "kubectl", withStrategy(map[string]any{"type": "Recreate"}))
	same, err := clusterAt(t, server.URL).ApplyChangesNothing(t.Context(),
		withStrategy(map[string]any{"type": "Recreate"}))
	if same || ClassOf(err) != Invalid {
		t.Errorf("%t, %v", same, err)
	}
}
