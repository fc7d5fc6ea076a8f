package run

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/detach"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

const (
	// maxCompletions is the maximum number of annotations to remove at the end of
	// the run, for which the provider has two seconds
	// (https://github.com/hashicorp/go-plugin/blob/v1.7.0/client.go, Kill).
	maxCompletions = 200
	// completionsAge is the required age of an annotation relative to a newer one
	// before it is removed early, if more than maxCompletions wait. Terraform
	// writes remote state with the first change of state at least 20 s after the
	// last write
	// (https://github.com/hashicorp/terraform/blob/v1.11.4/internal/backend/local/backend_apply.go,
	// defaultPersistInterval), so the change of the newer one has written the older one.
	completionsAge = 30 * time.Second
	// updateTime is the time that Terraform may need to update the state of the
	// newer one.
	updateTime = 10 * time.Second
	// completionWorkers is the number of annotations removed concurrently.
	completionWorkers = 32
)

// Completions removes [kube.UnfinishedAnnotation] from objects when the state is
// expected to contain them: at the end of the run, because Terraform may be
// killed before. Failures are ignored, because the next run that reads the
// object removes the annotation. The nil value does nothing.
type Completions struct {
	expected func() bool

	mu       sync.Mutex
	waiting  []completion
	draining bool

	interrupted bool
}

type completion struct {
	run     *Run
	ref     kube.Ref
	uid     types.UID
	id      string
	since   time.Time
	inState bool // in the state at the start of the run
}

// NewCompletions returns Completions. Nothing is removed while expected reports
// that the state will not be written, for example after the end of Terraform.
func NewCompletions(expected func() bool) *Completions {
	return &Completions{expected: expected}
}

// Complete schedules the removal of [kube.UnfinishedAnnotation] from live, if set,
// because its resource is written to state.
func (r *Run) Complete(ref kube.Ref, live *unstructured.Unstructured) { r.complete(ref, live, false) }

// CompleteInState is Complete for an object that was in state before the run.
func (r *Run) CompleteInState(ref kube.Ref, live *unstructured.Unstructured) {
	r.complete(ref, live, true)
}

func (r *Run) complete(ref kube.Ref, live *unstructured.Unstructured, inState bool) {
	id := kube.UnfinishedCreation(live)
	if id == "" || r.completions == nil {
		return
	}
	r.completions.add(completion{
		run: r, ref: ref, uid: live.GetUID(), id: id, since: time.Now(), inState: inState,
	})
}

// Interrupt keeps the annotation on objects that this run has created.
// Terraform may exit before it has written the state, as after a second
// interrupt, and still stop the provider normally
// (https://github.com/hashicorp/terraform/blob/v1.11.4/main.go,
// CleanupClients). The next run that reads the object removes it.
func (c *Completions) Interrupt() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted = true
}

// removable excludes objects that may be in no state.
func (c *Completions) removable(batch []completion) []completion {
	if !c.interrupted {
		return batch
	}
	return slices.DeleteFunc(batch, func(one completion) bool { return !one.inState })
}

func (c *Completions) add(one completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, one)
	if len(c.waiting) <= maxCompletions || c.draining {
		return
	}
	count := removableOf(c.waiting, time.Now())
	batch := c.removable(slices.Clone(c.waiting[:count]))
	if len(batch) == 0 {
		return
	}
	c.waiting, c.draining = slices.Delete(c.waiting, 0, count), true
	go func() {
		c.remove(one.run.ctx, batch)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.draining = false
	}()
}

// removableOf returns the number of waiting objects, oldest first, that the state
// written by Terraform contains.
func removableOf(waiting []completion, now time.Time) int {
	var written time.Time // creation of the last one with an updated state
	for _, one := range waiting {
		if now.Sub(one.since) >= updateTime {
			written = one.since
		}
	}
	return slices.IndexFunc(waiting, func(one completion) bool { return written.Sub(one.since) < completionsAge })
}

// Flush removes all waiting annotations until ctx ends. It does not wait for
// started requests, which outlive ctx.
func (c *Completions) Flush(ctx context.Context) {
	if c == nil {
		return
	}
	c.mu.Lock()
	batch := c.removable(c.waiting)
	c.waiting = nil
	c.mu.Unlock()
	_, _ = detach.Call(ctx, func() (any, error) {
		c.remove(ctx, batch)
		return nil, nil
	}, nil)
}

func (c *Completions) remove(ctx context.Context, batch []completion) {
	var workers errgroup.Group
	workers.SetLimit(completionWorkers)
	for _, one := range batch {
		workers.Go(func() error {
			if ctx.Err() == nil && c.expected() {
				one.run.Cluster.API.RemoveUnfinished(ctx, one.ref, one.uid, one.id)
			}
			return nil
		})
	}
	_ = workers.Wait()
}
