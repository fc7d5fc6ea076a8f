package kube

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kube/transport"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// repeats reports whether a fault is temporary for a verb. A conflict is, for an
// apply and for a deletion. A 404 of a gateway cannot be distinguished from the
// response of a server that does not serve a group.
func repeats(verb, fault string) bool {
	switch fault {
	case "another writer was first":
		return strings.HasPrefix(verb, "apply") || strings.HasPrefix(verb, "dry run") || verb == "delete"
	case "gateway 404":
		return verb != "discover"
	}
	return true
}

func TestTemporaryFaultsAreRetriedForEveryVerb(t *testing.T) {
	t.Parallel()
	for verb, ask := range verbs() {
		for name, strike := range kubetest.Passing() {
			if !repeats(verb, name) {
				continue
			}
			t.Run(verb+"/"+name, func(t *testing.T) {
				t.Parallel()
				strikes := int32(2)
				if name == "expired once" {
					strikes = 1
				}
				server := &flaky{strike: func(n int32, _ *http.Request) kubetest.Fault {
					if n <= strikes {
						return strike
					}
					return nil
				}}
				if err := ask(t.Context(), clusterOf(t, server)); err != nil {
					t.Errorf("after %d requests: %v", server.requests.Load(), err)
				}
			})
		}
	}
}

func TestRejectionsAreNotRetried(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		strike kubetest.Fault
		class  Class
	}{
		"bad request": {kubetest.Status(400, metav1.StatusReasonBadRequest), Invalid},
		"not found":   {kubetest.Status(404, metav1.StatusReasonNotFound), NotFound},
		"invalid":     {kubetest.Status(422, metav1.StatusReasonInvalid), Refused},
		"another type": {func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w,
				`{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"failed to create typed `+
					`patch object (ml/trainer): .spec.replicas: expected numeric"}`)
		}, Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &flaky{strike: func(int32, *http.Request) kubetest.Fault { return test.strike }}
			_, err := clusterOf(t, server).DryRun(t.Context(), kubetest.Deployment("", 0))
			// the second one reads changes for a repair
			if asked := server.requests.Load(); ClassOf(err) != test.class || asked > 2 || OutcomeUnknown(err) {
				t.Errorf("%d requests ended with class %d: %v", asked, ClassOf(err), err)
			}
		})
	}
}

func TestRetriesAreLimited(t *testing.T) {
	t.Parallel()
	refused := "http://" + kubetest.UnusedAddress(t)
	for name, test := range map[string]struct {
		before  bool // the server has responded once in this run
		strike  kubetest.Fault
		longest time.Duration
	}{
		"no listener at the address":       {false, nil, transport.DialPatience},
		"a tunnel without a backend":       {false, kubetest.HangUp(true, false), transport.FirstPatience},
		"a gateway without a backend":      {false, kubetest.Gateway(503), transport.FirstPatience},
		"a server that became unreachable": {true, kubetest.HangUp(false, false), transport.ServerPatience},
		"a server that always fails": {true, kubetest.Status(500, metav1.StatusReasonInternalError),
			transport.ServerPatience},
		"a server that always throttles": {true, kubetest.Throttled, transport.RequestTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &flaky{strike: func(n int32, _ *http.Request) kubetest.Fault {
				if test.before && n == 1 {
					return nil
				}
				return test.strike
			}}
			cluster := clusterOf(t, server)
			if test.strike == nil {
				cluster = clusterAt(t, refused)
			}
			if test.before {
				if _, err := cluster.API.Get(t.Context(), trainer()); err != nil {
					t.Fatal(err)
				}
			}
			_, err := cluster.API.Get(t.Context(), trainer())
			took := cluster.API.clock.(*kubetest.Clock).Skipped()
			if err == nil || took > test.longest || took < test.longest/4 {
				t.Errorf("took %v, want at most %v: %v", took, test.longest, err)
			}
			if class := ClassOf(err); class != Unreachable && class != Other {
				t.Errorf("%v is of class %d", err, class)
			}
			asked := server.requests.Load()
			_, _ = cluster.API.Get(t.Context(), trainer())
			if again := server.requests.Load() - asked; test.before && again > asked {
				t.Errorf("the second request, while the server is away, was sent %d times, the first %d times", again,
					asked)
			}
		})
	}
}

func TestCertificateErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			asked.Add(1)
		}
	}
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := clusterAt(t, server.URL).API.Get(t.Context(), trainer())
	if ClassOf(err) != Unreachable || asked.Load() != 1 {
		t.Errorf("%d connections ended with: %v", asked.Load(), err)
	}
}

func TestToleratedRateOfFailures(t *testing.T) {
	t.Parallel()
	kinds := []kubetest.Fault{kubetest.Throttled, kubetest.Status(500, metav1.StatusReasonInternalError),
		kubetest.Gateway(502), kubetest.Gateway(503), kubetest.HangUp(true, false), kubetest.HangUp(true, true),
		kubetest.Truncated(false), kubetest.Status(401, metav1.StatusReasonUnauthorized)}
	for every, mayFail := range map[int32]int{20: 0, 5: 10} { // of 200
		t.Run(strconv.Itoa(int(100/every))+" of 100 requests", func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			seed := uint32(every)
			server := &flaky{strike: func(int32, *http.Request) kubetest.Fault {
				mu.Lock()
				defer mu.Unlock()
				seed = seed*1664525 + 1013904223
				if int32(seed>>16)%every == 0 {
					return kinds[int(seed>>8)%len(kinds)]
				}
				return nil
			}}
			cluster := clusterOf(t, server)
			failed := 0
			for range 200 {
				_, err := cluster.Apply(t.Context(), kubetest.Deployment("", 0))
				if err == nil {
					_, err = cluster.API.Get(t.Context(), trainer())
				}
				if err != nil {
					failed++
				}
			}
			if failed > mayFail || server.requests.Load() < 410 {
				t.Errorf("%d of 200 failed, with %d requests", failed, server.requests.Load())
			}
		})
	}
}

func TestInterruptedWriteIsCompleted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		verb  string
		first kubetest.Fault
	}{
		"an apply with a slow response":         {"apply", nil},
		"an apply without a response":           {"apply", kubetest.HangUp(true, true)},
		"a Secret without a response":           {"apply a Secret", kubetest.HangUp(true, true)},
		"a deletion without a response":         {"delete", kubetest.HangUp(true, true)},
		"keys of a Secret, incomplete response": {"remove keys of a Secret", kubetest.Truncated(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			server := &flaky{strike: func(n int32, _ *http.Request) kubetest.Fault {
				if n == 1 {
					interrupt()
					return test.first
				}
				return nil
			}}
			if err := verbs()[test.verb](ctx, clusterOf(t, server)); err != nil {
				t.Errorf("after %d requests: %v", server.requests.Load(), err)
			}
		})
	}
}

func TestInterruptedWriteEndsSoonWithAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"apply", "apply a Secret", "remove keys of a Secret", "delete", "patch"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			server := &flaky{strike: func(int32, *http.Request) kubetest.Fault {
				interrupt()
				return kubetest.HangUp(true, true)
			}}
			cluster := clusterOf(t, server)
			err := verbs()[verb](ctx, cluster)
			took := cluster.API.clock.(*kubetest.Clock).Skipped()
			if err == nil || took > transport.SettleTime || took < transport.SettleTime/4 {
				t.Errorf("ended after %v with %v", took, err)
			}
			if verb != "patch" && !OutcomeUnknown(err) {
				t.Errorf("%v does not say that the outcome is unknown", err)
			}
		})
	}
}

func TestInterruptedReadsAndUnprocessedRequestsEndImmediately(t *testing.T) {
	t.Parallel()
	for verb, strike := range map[string]kubetest.Fault{
		"get": kubetest.HangUp(true, true), "dry run": kubetest.HangUp(true, true),
		"dry run of a Secret": kubetest.Gateway(502), "apply": kubetest.Throttled,
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			server := &flaky{strike: func(int32, *http.Request) kubetest.Fault {
				interrupt()
				return strike
			}}
			err := verbs()[verb](ctx, clusterOf(t, server))
			if ClassOf(err) != Canceled || OutcomeUnknown(err) || server.requests.Load() != 1 {
				t.Errorf("%d requests ended with %v", server.requests.Load(), err)
			}
		})
	}
}

func TestHangingRequestTimesOut(t *testing.T) {
	t.Parallel()
	const read, write = transport.RequestTime, transport.RequestTime + transport.SettleTime
	for verb, longest := range map[string]time.Duration{
		"get": read, "list": read, "dry run": read, "discover": read,
		"apply": write, "apply a Secret": write, "delete": write,
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			held := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-held }))
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(held) })
			cluster := clusterAt(t, server.URL)
			fake := clocktesting.NewFakeClock(time.Now())
			cluster.API.clock = fake
			start := fake.Now()
			done := make(chan error, 1)
			go func() { done <- verbs()[verb](t.Context(), cluster) }()
			for {
				select {
				case err := <-done:
					took := fake.Since(start)
					if ClassOf(err) != Unreachable || took < transport.RequestTime/2 || took > longest+2*time.Second {
						t.Errorf("ended after %v: %v", took, err)
					}
					return
				case <-time.After(time.Millisecond):
					if fake.HasWaiters() {
						fake.Step(500 * time.Millisecond)
					}
				}
			}
		})
	}
}

func TestDeletionIsNotCompletedByAConflict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		uid  string // of what is there
		gone bool
	}{
		"the same object exists":      {"u", false},
		"another object has its name": {"other", true},
	} {
		for _, secret := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cluster := clusterOf(t, kubetest.API{Answer: func(verb, _ string, _ *http.Request) (int, any) {
					if verb == "delete" {
						return kubetest.Failing(http.StatusConflict, metav1.StatusReasonConflict)
					}
					live := aSecret()
					if !secret {
						live = kubetest.Deployment("", 0)
					}
					_ = unstructured.SetNestedField(live.Object, test.uid, "metadata", "uid")
					return http.StatusOK, live.Object
				}})
				var err error
				if secret {
					err = cluster.DeleteInBackground(t.Context(), SecretRef("ml", "token"), "u")
				} else {
					err = cluster.Delete(t.Context(), trainer(), "u")
				}
				if (err == nil) != test.gone || !test.gone && ClassOf(err) != Conflict {
					t.Errorf("ended with %v", err)
				}
			})
		}
	}
}
