package run

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

// applied returns a Deployment after an apply by the provider, with the annotation of that creation.
func applied(id string) *unstructured.Unstructured {
	obj := kube.MarkUnfinished(kubetest.Deployment("1", 0), id)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: kube.Manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}}}`),
	}})
	return obj
}

func trainer() kube.Ref { return kube.Ref{Kind: kind.Deployment(), Namespace: "ml", Name: "trainer"} }

// runAt returns a run against a server.
func runAt(t *testing.T, completions *Completions, api http.Handler) *Run {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	env := config.Env{Getenv: func(string) string { return "" }}
	cluster := kube.NewCluster(t.Context(), config.Config{Host: server.URL, Token: "x", Env: env})
	return New(t.Context(), cluster.WithClock(&kubetest.Clock{}), completions)
}

// patches records the JSON patches that a server receives.
type patches struct {
	mu   sync.Mutex
	seen []string
}

func (p *patches) run(t *testing.T, completions *Completions) *Run {
	t.Helper()
	return runAt(t, completions, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		var operations []map[string]any
		_ = json.NewDecoder(request.Body).Decode(&operations)
		p.mu.Lock()
		defer p.mu.Unlock()
		text, _ := json.Marshal(operations)
		p.seen = append(p.seen, verb+" "+path+" "+string(text))
		return http.StatusOK, kubetest.Deployment("2", 0)
	}})
}

func TestOnlyTheAnnotationOfThisCreationIsRemoved(t *testing.T) {
	t.Parallel()
	api := &patches{}
	completions := NewCompletions(func() bool { return true })
	r := api.run(t, completions)
	r.Complete(trainer(), applied("a"))
	r.Complete(trainer(), kubetest.Deployment("1", 0)) // which has none
	if len(api.seen) > 0 {
		t.Errorf("removed before the end: %v", api.seen)
	}
	completions.Flush(t.Context())
	completions.Flush(t.Context())
	want := []string{`patch ` + kubetest.TrainerPath + ` [{"op":"test","path":"/metadata/uid","value":"u"},` +
		`{"op":"test","path":"/metadata/annotations/kt.dev~1unfinished","value":"a"},{"op":"remove",` +
		`"path":"/metadata/annotations/kt.dev~1unfinished"}]`}
	if !slices.Equal(api.seen, want) {
		t.Errorf("got %v\nwant %v", api.seen, want)
	}
}

func TestNothingIsRemovedAfterTerraformExits(t *testing.T) {
	t.Parallel()
	api := &patches{}
	completions := NewCompletions(func() bool { return false })
	api.run(t, completions).Complete(trainer(), applied("a"))
	completions.Flush(t.Context())
	var none *Completions
	none.Flush(t.Context())
	if len(api.seen) > 0 {
		t.Errorf("removed although the state is not written: %v", api.seen)
	}
}

func TestFlushTimesOut(t *testing.T) {
	t.Parallel()
	api := &patches{}
	completions := NewCompletions(func() bool { return true })
	api.run(t, completions).Complete(trainer(), applied("a"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	completions.Flush(ctx)
	if len(api.seen) > 0 {
		t.Errorf("a request after the end: %v", api.seen)
	}
}

func TestFlushDoesNotWaitForAHangingRequest(t *testing.T) {
	t.Parallel()
	requested, release := make(chan struct{}), make(chan struct{})
	completions := NewCompletions(func() bool { return true })
	r := runAt(t, completions, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		close(requested)
		<-release
		return http.StatusOK, kubetest.Deployment("2", 0)
	}})
	r.Cluster.WithClock(clocktesting.NewFakeClock(time.Now())) // on which settleTime never ends
	defer close(release)                                       // or else the server waits for the request
	r.Complete(trainer(), applied("a"))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		completions.Flush(ctx)
		close(done)
	}()
	<-requested
	cancel()
	<-done // the request is still under way
}

func TestOldAnnotationsAreRemovedEarly(t *testing.T) {
	t.Parallel()
	const most = 200
	for name, test := range map[string]struct {
		before      int           // annotations that wait
		then, later time.Duration // before each of two more
		want        int           // annotations that wait in the end
	}{
		"few":                              {most - 2, 30 * time.Second, 10 * time.Second, most},
		"many":                             {most, 30 * time.Second, 10 * time.Second, 2},
		"the newer one may not be written": {most, 30 * time.Second, 10*time.Second - 1, most + 2},
		"not much older than a newer one":  {most, 30*time.Second - 1, 10 * time.Second, most + 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				completions := NewCompletions(func() bool { asked.Add(1); return false }) // so that no request is sent
				r := &Run{ctx: t.Context()}
				add := func() { completions.add(completion{run: r, since: time.Now()}) }
				for range test.before {
					add()
				}
				time.Sleep(test.then)
				add() // Terraform writes the state after the next response, which it has not received yet
				if synctest.Wait(); len(completions.waiting) != test.before+1 {
					t.Errorf("%d wait, want all", len(completions.waiting))
				}
				time.Sleep(test.later)
				add()
				if synctest.Wait(); len(completions.waiting) != test.want || completions.draining ||
					(asked.Load() > 0) != (test.want == 2) {
					t.Errorf("%d wait, want %d; draining %t, asked %d times", len(completions.waiting), test.want,
						completions.draining, asked.Load())
				}
				completions.Interrupt() // needs the lock
			})
		})
	}
}

func TestOldAnnotationsAreRemovedByOneWorkerAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		completions := NewCompletions(func() bool { <-release; return false })
		r := &Run{ctx: t.Context()}
		start := time.Now()
		add := func(age time.Duration) {
			completions.add(completion{run: r, since: start.Add(-age), inState: true})
		}
		add(time.Hour) // the only one that can be removed
		for range 200 {
			add(10 * time.Second)
		}
		if synctest.Wait(); len(completions.waiting) != 200 || !completions.draining {
			t.Errorf("%d wait, draining %t", len(completions.waiting), completions.draining)
		}
		completions.waiting[0].since = start.Add(-time.Hour)
		add(0)
		if synctest.Wait(); len(completions.waiting) != 201 {
			t.Errorf("%d wait, want all until the first removal ends", len(completions.waiting))
		}
		close(release)
		synctest.Wait()
		add(0)
		if synctest.Wait(); len(completions.waiting) != 201 || completions.draining {
			t.Errorf("%d wait in the end, draining %t", len(completions.waiting), completions.draining)
		}
	})
}

func TestInterruptedRunKeepsTheAnnotationsThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		completions := NewCompletions(func() bool { t.Error("removed"); return false })
		r := &Run{ctx: t.Context()}
		completions.Interrupt()
		for range 300 {
			completions.add(completion{run: r, since: time.Now().Add(-time.Hour)})
		}
		completions.add(completion{run: r, since: time.Now().Add(-time.Minute)})
		if synctest.Wait(); len(completions.waiting) != 301 || completions.draining {
			t.Errorf("%d wait, draining %t", len(completions.waiting), completions.draining)
		}
	})
}

func TestManyAnnotationsAreRemovedAtTheSameTime(t *testing.T) {
	t.Parallel()
	for waiting, want := range map[int]int32{3: 3, 50: 32} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			completions := NewCompletions(func() bool {
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
				return false
			})
			for range waiting {
				completions.waiting = append(completions.waiting, completion{})
			}
			if completions.Flush(t.Context()); most.Load() != want || running.Load() != 0 {
				t.Errorf("%d of %d at the same time, want %d; %d still running", most.Load(), waiting, want,
					running.Load())
			}
		})
	}
}

func TestAfterAnInterruptOnlyObjectsInStateAreCompleted(t *testing.T) {
	t.Parallel()
	api := &patches{}
	completions := NewCompletions(func() bool { return true })
	r := api.run(t, completions)
	r.Complete(trainer(), applied("created"))
	completions.Interrupt()
	r.Complete(trainer(), applied("created-later"))
	r.CompleteInState(trainer(), applied("in-state"))
	completions.Flush(t.Context())
	if len(api.seen) != 1 || !strings.Contains(api.seen[0], `"in-state"`) {
		t.Errorf("got %v", api.seen)
	}
	var none *Completions
	none.Interrupt()
}
