package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func TestWaitForDeletionReportsWhatBlocksIt(t *testing.T) {
	t.Parallel()
	const foreground = "foregroundDeletion"
	service := kube.Ref{Kind: kind.Service(), Namespace: "ml", Name: "trainer"}
	ray := kube.Ref{Kind: row("ray.io", "RayCluster"), Namespace: "ml", Name: "trainer"}
	for name, test := range map[string]struct {
		ref        kube.Ref
		finalizers []any // of the object; nil if it is deleted
		pods       []any // finalizers by pod
		want       string
		uid        string // of the live object; "u" if empty
	}{
		"deleted":     {ref: trainer()},
		"a finalizer": {trainer(), []any{foreground, "a.com/b"}, nil, "it is held by finalizer a.com/b", ""},
		"two finalizers": {trainer(), []any{"a.com/b", "c.com/d"}, nil,
			"it is held by finalizers a.com/b, c.com/d", ""},
		"pods": {trainer(), []any{foreground}, []any{[]any{}, []any{"a.com/b"}},
			"its pods remain: pod-0, pod-1 (held by finalizer a.com/b)", ""},
		"a finalizer and a pod": {trainer(), []any{"a.com/b"}, []any{[]any{}},
			"it is held by finalizer a.com/b; its pods remain: pod-0", ""},
		"no visible blocker": {trainer(), []any{foreground}, nil,
			"the garbage collector of Kubernetes has not finished", ""},
		"a Service owns no pods": {service, []any{"a.com/b"}, []any{[]any{}}, "it is held by finalizer a.com/b", ""},
		"the finalizer of KubeRay": {ray, []any{"ray.io/gcs-ft-redis-cleanup-finalizer"}, nil,
			"it is held by finalizer ray.io/gcs-ft-redis-cleanup-finalizer (which is removed by KubeRay, when its " +
				"Job has emptied Redis)", ""},
		"deleted, but its pods terminate": {ray, nil, []any{[]any{"kueue.x-k8s.io/managed"}},
			"its pods remain: pod-0 (held by finalizer kueue.x-k8s.io/managed (which is removed by Kueue, when the " +
				"group of the pod has finished))", ""},
		"deleted with all its pods":   {ref: ray},
		"another object has its name": {ref: trainer(), finalizers: []any{"a.com/b"}, uid: "v"},
		"another object has its name, but its pods terminate": {ray, []any{"a.com/b"}, []any{[]any{}},
			"its pods remain: pod-0", "v"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pods []any
			for i, finalizers := range test.pods {
				pods = append(pods, map[string]any{"metadata": map[string]any{
					"namespace": "ml", "name": fmt.Sprintf("pod-%d", i), "resourceVersion": "1",
					"labels": map[string]any{"a": "b"}, "finalizers": finalizers,
					"deletionTimestamp": "2026-11-21T08:00:00Z",
				}})
			}
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				switch {
				case verb == "list" && strings.HasSuffix(path, "/pods"):
					return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "PodList",
						"metadata": map[string]any{"resourceVersion": "1"}, "items": pods}
				case request.URL.Query().Get("sendInitialEvents") != "":
					return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
				case verb == "watch":
					<-request.Context().Done()
					return http.StatusOK, nil
				case verb == "list":
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				case test.finalizers == nil:
					return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
						Details: &metav1.StatusDetails{Kind: test.ref.Kind.Resource, Group: test.ref.Kind.Group,
							Name: test.ref.Name}}
				}
				return http.StatusOK, map[string]any{
					"apiVersion": test.ref.Kind.GroupVersion().String(), "kind": test.ref.Kind.Kind,
					"metadata": map[string]any{"namespace": "ml", "name": "trainer", "finalizers": test.finalizers,
						"uid": cmp.Or(test.uid, "u")},
				}
			}})
			ctx, cancel := context.WithDeadline(t.Context(), time.Now())
			defer cancel()
			err := WaitGone(ctx, cluster, test.ref, "u", map[string]string{"a": "b"})
			var failure *DeletionError
			switch {
			case test.want == "" && err != nil:
				t.Errorf("%v, although it is deleted", err)
			case test.want == "":
			case !errors.As(err, &failure):
				t.Errorf("%v", err)
			case failure.Blockers() != test.want:
				t.Errorf("%s, want %s", failure.Blockers(), test.want)
			case !errors.Is(err, context.DeadlineExceeded):
				t.Error("the error does not contain the timeout")
			}
		})
	}
}

func TestUnlistablePodsAreNotReportedAsDeleted(t *testing.T) {
	t.Parallel()
	const podList, forEver = 3, 1 << 30
	for name, test := range map[string]struct {
		code     int
		reason   metav1.StatusReason
		failures int32      // of the first lists
		class    kube.Class // of the expected error, if any
		fails    bool
	}{
		// one request retries only a few
		"the list fails temporarily": {401, metav1.StatusReasonUnauthorized, 6, kube.Other, false},
		"the list fails permanently": {503, metav1.StatusReasonServiceUnavailable, forEver, kube.Unreachable, true},
		"no permission to list pods": {403, metav1.StatusReasonForbidden, forEver, kube.Other, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ray := kube.Ref{Kind: row("ray.io", "RayCluster"), Namespace: "ml", Name: "trainer"}
			var lists atomic.Int32
			cluster := clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
				switch {
				case request.URL.Query().Get("sendInitialEvents") != "":
					return kubetest.Failing(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
				case verb == "watch":
					<-request.Context().Done()
					return http.StatusOK, nil
				case verb == "list" && strings.HasSuffix(path, "/pods"):
					n := lists.Add(1)
					if n <= test.failures {
						return kubetest.Failing(test.code, test.reason)
					}
					pods := []any{}
					if n < test.failures+podList {
						pods = append(pods, map[string]any{"metadata": map[string]any{
							"namespace": "ml", "name": "pod-0", "resourceVersion": "1",
							"labels": map[string]any{"a": "b"}, "deletionTimestamp": "2026-11-21T08:00:00Z",
						}})
					}
					return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "PodList",
						"metadata": map[string]any{"resourceVersion": fmt.Sprint(n)}, "items": pods}
				case verb == "list":
					return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
				}
				return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
					Details: &metav1.StatusDetails{Kind: ray.Kind.Resource, Group: ray.Kind.Group, Name: ray.Name}}
			}})
			err := WaitGone(t.Context(), cluster, ray, "u", map[string]string{"a": "b"})
			switch {
			case (err != nil) != test.fails || err != nil && kube.ClassOf(err) != test.class:
				t.Errorf("after %d lists: %v", lists.Load(), err)
			case !test.fails && test.failures < forEver && lists.Load() < test.failures+podList:
				t.Errorf("the wait ended after %d lists, although a pod remained", lists.Load())
			}
		})
	}
}
