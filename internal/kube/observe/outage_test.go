package observe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// becoming is a server whose Deployment becomes ready after some requests other
// than watches. Watches without a fault are silent.
func becoming(t *testing.T, strike func(verb, path string) kubetest.Fault) *kube.Cluster {
	t.Helper()
	var requests atomic.Int32
	api := kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
		kind := map[bool]string{true: "DeploymentList", false: "List"}[strings.HasSuffix(path, "/deployments")]
		ready := int64(0)
		if requests.Add(1) > 6 {
			ready = 1
		}
		switch {
		case verb == "list" && strings.HasSuffix(path, "/deployments"):
			return http.StatusOK, map[string]any{"apiVersion": "apps/v1", "kind": kind,
				"metadata": map[string]any{"resourceVersion": "9"},
				"items":    []any{kubetest.Deployment("9", ready).Object}}
		case verb == "list":
			return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": kind,
				"metadata": map[string]any{"resourceVersion": "9"}, "items": []any{}}
		case strings.HasSuffix(path, "/trainer"):
			return http.StatusOK, kubetest.Deployment("9", ready).Object
		}
		return kubetest.Failing(http.StatusNotFound, metav1.StatusReasonNotFound)
	}}
	ended := t.Context().Done()
	return clusterOf(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		verb := map[bool]string{true: "watch", false: "read"}[request.URL.Query().Get("watch") == "true"]
		if spoil := strike(verb, request.URL.Path); spoil != nil {
			spoil(w, nil)
			if verb != "watch" {
				return
			}
		} else if verb == "watch" {
			kubetest.Silent(w, nil)
		} else {
			api.ServeHTTP(w, request)
			return
		}
		select {
		case <-ended:
		case <-request.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}))
}

func TestWatchErrorsDoNotEndAWait(t *testing.T) {
	t.Parallel()
	faults := map[string]kubetest.Fault{
		"500": kubetest.Status(500, metav1.StatusReasonInternalError),
		"401": kubetest.Status(401, metav1.StatusReasonUnauthorized),
		"410": kubetest.Status(410, metav1.StatusReasonExpired), "429": kubetest.Throttled,
		"reset": kubetest.HangUp(true, false), "closed": kubetest.HangUp(false, false), "silent": kubetest.Silent,
	}
	for name, strike := range faults {
		for _, of := range []string{"/deployments", "/pods", "/replicasets", "/events"} {
			t.Run(name+" of "+of[1:], func(t *testing.T) {
				t.Parallel()
				cluster := becoming(t, func(verb, path string) kubetest.Fault {
					if verb == "watch" && strings.HasSuffix(path, of) {
						return strike
					}
					return nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if _, err := waitReady(ctx, cluster, trainer(), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestDiagnosisIgnoresUnreadableObjects(t *testing.T) {
	t.Parallel()
	cluster := becoming(t, func(_, path string) kubetest.Fault {
		if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/replicasets") {
			return kubetest.Status(500, metav1.StatusReasonInternalError)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := waitReady(ctx, cluster, trainer(), nil); err != nil {
		t.Error(err)
	}
}

func TestUnresponsiveServerIsNotReportedAsAFailedObject(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]kubetest.Fault{
		"away": kubetest.HangUp(true, false), "broken": kubetest.Status(500, metav1.StatusReasonInternalError),
		"expired": kubetest.Status(401, metav1.StatusReasonUnauthorized), "throttling": kubetest.Throttled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			cluster := becoming(t, func(string, string) kubetest.Fault {
				if requests.Add(1) > 4 {
					return strike
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := waitReady(ctx, cluster, trainer(), nil)
			unobserved, ok := errors.AsType[*UnobservedError](err)
			if !ok {
				t.Fatalf("ended with %v", err)
			}
			if summary, cause := unobserved.Explain(); !strings.Contains(summary, "Unknown status") ||
				!strings.Contains(cause.Summary, "not the object") {
				t.Errorf("%s\n%s", summary, cause.Summary)
			}
		})
	}
}

func TestClosedConnectionsDoNotHangReadsOrWaits(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		cluster := becoming(t, func(string, string) kubetest.Fault { return kubetest.HangUp(reset, false) })
		if _, err := cluster.Store.Get(t.Context(), trainer()); kube.ClassOf(err) != kube.Unreachable {
			t.Errorf("read: %v", err)
		}
		if _, err := waitReady(t.Context(), cluster, trainer(), nil); kube.ClassOf(err) != kube.Unreachable {
			t.Errorf("wait: %v", err)
		}
		if err := WaitGone(t.Context(), cluster, trainer(), "u", nil); kube.ClassOf(err) != kube.Unreachable {
			t.Errorf("wait for the deletion: %v", err)
		}
	}
}
