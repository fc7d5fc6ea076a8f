package observe

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

const heldPath = kueueV + "/namespaces/ml/workloads/pytorchjob-trainer-1"

func leave(t *testing.T, c *kube.Cluster) (kept string, written bool) {
	t.Helper()
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{"namespace": "ml", "name": "trainer", "uid": "u-1"}}}
	kept, err := LeaveKueue(t.Context(), c, job, true, func() error {
		written = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kept, written
}

func TestLeaveKueueDeletesTheWorkloadAfterTheWrite(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t, docs: kueue(), asked: map[string]int{}}
	s.docs[kueueV+"/namespaces/ml/workloads"] = "items: [" + heldWorkload + "]"
	s.docs[heldPath] = heldWorkload
	var writes []string
	c := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if verb == "patch" || verb == "delete" {
			writes = append(writes, verb+" "+path)
		}
		return s.answer(verb, path, request)
	}})
	kept, written := leave(t, c)
	want := "patch " + heldPath + ", delete " + heldPath
	if !written || kept != "" || strings.Join(writes, ", ") != want {
		t.Errorf("written %v, kept %q, requests %v", written, kept, writes)
	}
}

func TestLeaveKueueWithoutPermissionWarnsAndWrites(t *testing.T) {
	t.Parallel()
	s := &shelf{t: t, docs: kueue(), asked: map[string]int{}}
	s.docs[kueueV+"/namespaces/ml/workloads"] = "items: [" + heldWorkload + "]"
	s.docs[heldPath] = heldWorkload
	c := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		if verb == "patch" || verb == "delete" {
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		return s.answer(verb, path, request)
	}})
	kept, written := leave(t, c)
	for _, text := range []string{"quota may stay reserved",
		"kubectl -n ml patch workloads.kueue.x-k8s.io pytorchjob-trainer-1 --type=merge"} {
		if !strings.Contains(kept, text) {
			t.Errorf("%q lacks %q", kept, text)
		}
	}
	if !written {
		t.Error("not suspended")
	}
}
