package kube

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/kubetest"
)

func TestReadsAskAgainAfterTheWatchFailed(t *testing.T) {
	t.Parallel()
	outage := &Error{Class: Unreachable, Err: errors.New("connection refused")}
	denied := &Error{Class: Denied, Err: errors.New("forbidden")}
	for name, test := range map[string]struct {
		synced  bool
		failure error // of the watch; nil for one that says nothing
		later   time.Duration
		answer  error // of the list
		lists   int32
		want    error
	}{
		"the failure has just been met":       {true, outage, 0, nil, 0, outage},
		"the server is back, nothing changed": {true, outage, recheckAfter, nil, 1, nil},
		"back before the first list":          {false, outage, recheckAfter, nil, 1, nil},
		"it is still away":                    {true, outage, recheckAfter, outage, 1, outage},
		"the right was taken away since":      {true, outage, recheckAfter, denied, 1, denied},
		"the watch says nothing, a list does": {false, nil, 0, nil, 1, nil},
		"without the right nothing is asked":  {true, denied, recheckAfter, nil, 0, denied},
		"of a healthy one nothing is asked":   {true, nil, time.Hour, nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
			clock := &kubetest.Clock{}
			c.clock = clock
			var lists atomic.Int32
			c.list = func() ([]any, string, error) {
				lists.Add(1)
				return []any{stored("a", "5")}, "9", test.answer
			}
			if test.synced {
				told("list @9 a@5").tell(t, c)
			}
			if test.failure != nil {
				c.failed(test.failure)
			}
			clock.Skip(test.later)
			if err := c.ready(t.Context()); !errors.Is(err, test.want) || lists.Load() != test.lists {
				t.Errorf("%d lists, and %v; want %d, and %v", lists.Load(), err, test.lists, test.want)
			}
		})
	}
}

func TestOneListServesAllWhoAskForIt(t *testing.T) {
	t.Parallel()
	c := newCollection(Ref{Kind: kind.Deployment(), Namespace: "ml"})
	var lists atomic.Int32
	asked, answered := make(chan struct{}), make(chan struct{})
	c.list = func() ([]any, string, error) {
		lists.Add(1)
		close(asked)
		<-answered
		return nil, "9", nil
	}
	done := make(chan struct{})
	go func() { c.refresh(t.Context()); close(done) }()
	<-asked
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.refresh(ended)
	close(answered)
	<-done
	if lists.Load() != 1 {
		t.Errorf("%d lists", lists.Load())
	}
}

// silent accepts a watch and says nothing.
func silent(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

// becoming is a server whose Deployment is ready after some requests that are no
// watches. Watches that no fault strikes say nothing.
func becoming(t *testing.T, strike func(verb, path string) kubetest.Fault) *Cluster {
	t.Helper()
	var looks atomic.Int32
	api := kubetest.API{Answer: func(verb, path string, _ *http.Request) (int, any) {
		kind := map[bool]string{true: "DeploymentList", false: "List"}[strings.HasSuffix(path, "/deployments")]
		ready := int64(0)
		if looks.Add(1) > 6 {
			ready = 1
		}
		switch {
		case verb == "list" && strings.HasSuffix(path, "/deployments"):
			return http.StatusOK, map[string]any{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"resourceVersion": "9"}, "items": []any{kubetest.Deployment("9", ready).Object}}
		case verb == "list":
			return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"resourceVersion": "9"}, "items": []any{}}
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
			silent(w, nil)
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

func TestTroubleWithWatchesDoesNotEndAWait(t *testing.T) {
	t.Parallel()
	faults := map[string]kubetest.Fault{
		"500": kubetest.Status(500, metav1.StatusReasonInternalError), "401": kubetest.Status(401, metav1.StatusReasonUnauthorized),
		"410": kubetest.Status(410, metav1.StatusReasonExpired), "429": kubetest.Throttled, "reset": kubetest.HangUp(true, false), "closed": kubetest.HangUp(false, false), "silent": silent,
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
				if _, err := cluster.WaitReady(ctx, trainer(), nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestDiagnosisDoesWithoutWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	cluster := becoming(t, func(_, path string) kubetest.Fault {
		if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/replicasets") {
			return kubetest.Status(500, metav1.StatusReasonInternalError)
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := cluster.WaitReady(ctx, trainer(), nil); err != nil {
		t.Error(err)
	}
}

func TestWaitWithoutWordFromTheServerIsNoVerdictOnTheObject(t *testing.T) {
	t.Parallel()
	for name, strike := range map[string]kubetest.Fault{
		"away": kubetest.HangUp(true, false), "broken": kubetest.Status(500, metav1.StatusReasonInternalError), "expired": kubetest.Status(401, metav1.StatusReasonUnauthorized), "throttling": kubetest.Throttled,
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
			_, err := cluster.WaitReady(ctx, trainer(), nil)
			unobserved, ok := errors.AsType[*UnobservedError](err)
			if !ok {
				t.Fatalf("ended with %v", err)
			}
			if summary, detail := unobserved.Explain(); !strings.Contains(summary, "is not known") || !strings.Contains(detail, "not of the object") {
				t.Errorf("%s\n%s", summary, detail)
			}
		})
	}
}

func TestConnectionsThatAreAcceptedAndClosedDoNotHangAReadOrAWait(t *testing.T) {
	t.Parallel()
	for _, reset := range []bool{false, true} {
		cluster := becoming(t, func(string, string) kubetest.Fault { return kubetest.HangUp(reset, false) })
		if _, err := cluster.Read(t.Context(), trainer()); ClassOf(err) != Unreachable {
			t.Errorf("read: %v", err)
		}
		if _, err := cluster.WaitReady(t.Context(), trainer(), nil); ClassOf(err) != Unreachable {
			t.Errorf("wait: %v", err)
		}
		if err := cluster.WaitGone(t.Context(), trainer(), nil); ClassOf(err) != Unreachable {
			t.Errorf("wait for the deletion: %v", err)
		}
	}
}
