package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/kubetest"
)

// applied returns a Deployment after an apply by a manager, with the annotation
// of that creation.
func applied(manager, id string) *unstructured.Unstructured {
	obj := MarkUnfinished(kubetest.Deployment("1", 0), id)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(
			`{"f:metadata":{"f:annotations":{"f:kt.dev/unfinished":{}}},"f:spec":{"f:replicas":{}}}`),
	}})
	return obj
}

func TestOnlyAnAnnotationAppliedByTheProviderMeansUnfinished(t *testing.T) {
	t.Parallel()
	if got := UnfinishedCreation(applied(Manager, "a")); got != "a" {
		t.Errorf("the creation is %q, want a", got)
	}
	if got := UnfinishedCreation(applied("kubectl-rollout", "a")); got != "" {
		t.Errorf("the annotation of another client is creation %q", got)
	}
	if got := UnfinishedCreation(kubetest.Deployment("1", 0)); got != "" {
		t.Errorf("an object without the annotation is creation %q", got)
	}
}

func TestAnnotationIsNotAmongTheRememberedFields(t *testing.T) {
	t.Parallel()
	set, ours, err := OwnedFields(applied(Manager, "a"))
	if want := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "replicas")); err != nil || !ours || !set.Equals(want) {
		t.Errorf("fields %v, ours %t, error %v; want %v", set, ours, err, want)
	}
}

// patches records the JSON patches that a server receives.
type patches struct {
	mu   sync.Mutex
	seen []string
}

func (p *patches) cluster(t *testing.T) *Cluster {
	t.Helper()
	return clusterOf(t, kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
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
	cluster := api.cluster(t).WithCompletions(completions)
	cluster.Complete(trainer(), applied(Manager, "a"))
	cluster.Complete(trainer(), kubetest.Deployment("1", 0)) // which has none
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
	api.cluster(t).WithCompletions(completions).Complete(trainer(), applied(Manager, "a"))
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
	api.cluster(t).WithCompletions(completions).Complete(trainer(), applied(Manager, "a"))
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
	cluster := clusterOf(t, kubetest.API{Answer: func(string, string, *http.Request) (int, any) {
		close(requested)
		<-release
		return http.StatusOK, kubetest.Deployment("2", 0)
	}})
	cluster.clock = clocktesting.NewFakeClock(time.Now()) // on which settleTime never ends
	defer close(release)                                  // or else the server waits for the request
	completions := NewCompletions(func() bool { return true })
	cluster.WithCompletions(completions).Complete(trainer(), applied(Manager, "a"))
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
	synctest.Test(t, func(t *testing.T) {
		completions := NewCompletions(func() bool { return false }) // so that no request is sent
		cluster := &Cluster{cache: &cache{ctx: t.Context()}}
		add := func() { completions.add(completion{cluster: cluster, since: time.Now()}) }
		for range maxCompletions {
			add()
		}
		time.Sleep(completionsAge)
		add() // Terraform writes the state after the next response, which it has not received yet
		if synctest.Wait(); len(completions.waiting) != maxCompletions+1 {
			t.Errorf("%d wait, want all", len(completions.waiting))
		}
		time.Sleep(updateTime)
		add()
		if synctest.Wait(); len(completions.waiting) != 2 || completions.draining {
			t.Errorf("%d wait, want the last two; draining %t", len(completions.waiting), completions.draining)
		}
	})
}

func TestAfterAnInterruptOnlyObjectsInStateAreCompleted(t *testing.T) {
	t.Parallel()
	api := &patches{}
	completions := NewCompletions(func() bool { return true })
	cluster := api.cluster(t).WithCompletions(completions)
	cluster.Complete(trainer(), applied(Manager, "created"))
	completions.Interrupt()
	cluster.Complete(trainer(), applied(Manager, "created-later"))
	cluster.CompleteInState(trainer(), applied(Manager, "in-state"))
	completions.Flush(t.Context())
	if len(api.seen) != 1 || !strings.Contains(api.seen[0], `"in-state"`) {
		t.Errorf("got %v", api.seen)
	}
	var none *Completions
	none.Interrupt()
}
