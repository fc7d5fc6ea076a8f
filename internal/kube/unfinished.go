package kube

import (
	"context"
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// UnfinishedAnnotation marks an object from its creation until the state is
// expected to contain it. Its value is a random ID of the creation. If a run is
// killed, the annotation remains, and the next run takes the object over. An
// object without it belongs to some state.
const UnfinishedAnnotation = "kt.dev/unfinished"

// CreationAnnotation is on all objects that the creation of a resource made, with
// the value of UnfinishedAnnotation. It distinguishes them from objects of
// another state if the response to their creation was lost, or if they were
// restored from a backup. Later applies keep it.
const CreationAnnotation = "kt.dev/creation"

// annotationPath returns the path of an annotation in managed fields.
func annotationPath(name string) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", name)
}

// NewCreationID returns a random value for UnfinishedAnnotation.
func NewCreationID() string { return strings.ToLower(rand.Text()) }

// MarkUnfinished returns a copy of obj with UnfinishedAnnotation.
func MarkUnfinished(obj *unstructured.Unstructured, id string) *unstructured.Unstructured {
	return annotated(obj, UnfinishedAnnotation, id)
}

// withoutUnfinished returns obj, or a copy of it without UnfinishedAnnotation.
func withoutUnfinished(obj *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := obj.GetAnnotations()
	if _, marked := annotations[UnfinishedAnnotation]; !marked {
		return obj
	}
	out := obj.DeepCopy()
	if delete(annotations, UnfinishedAnnotation); len(annotations) == 0 {
		annotations = nil
	}
	out.SetAnnotations(annotations)
	return out
}

// MarkCreation returns a copy of obj with CreationAnnotation.
func MarkCreation(obj *unstructured.Unstructured, id string) *unstructured.Unstructured {
	return annotated(obj, CreationAnnotation, id)
}

func annotated(obj *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	out := obj.DeepCopy()
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	out.SetAnnotations(annotations)
	return out
}

// OwnedFields returns the fields of obj that the provider owns by server-side
// apply, without the annotations about its creation, and whether it owns any.
func OwnedFields(obj *unstructured.Unstructured) (*fieldpath.Set, bool, error) {
	set, ours, err := fields.Owned(obj, Manager)
	if !ours {
		return nil, false, err
	}
	for _, name := range []string{UnfinishedAnnotation, CreationAnnotation} {
		if _, marked := obj.GetAnnotations()[name]; marked {
			set = set.Difference(fieldpath.NewSet(annotationPath(name)))
		}
	}
	return set, true, nil
}

// UnfinishedCreation returns the ID of the unfinished creation of obj, or "" if
// its creation was completed or not by the provider. Annotations of other
// clients do not count: a rollback copies those of an old ReplicaSet.
func UnfinishedCreation(obj *unstructured.Unstructured) string {
	return ownAnnotation(obj, UnfinishedAnnotation)
}

// CreationOf returns the ID of the creation of obj, or "" if unknown.
func CreationOf(obj *unstructured.Unstructured) string {
	if id := UnfinishedCreation(obj); id != "" {
		return id
	}
	return MarkedCreation(obj)
}

// MarkedCreation returns the id in CreationAnnotation, "" without the annotation.
func MarkedCreation(obj *unstructured.Unstructured) string {
	return ownAnnotation(obj, CreationAnnotation)
}

// ownAnnotation returns the value of an annotation that the provider applied,
// or "".
func ownAnnotation(obj *unstructured.Unstructured, name string) string {
	value := obj.GetAnnotations()[name]
	if value == "" {
		return ""
	}
	set, ours, _ := fields.Owned(obj, Manager)
	if !ours || !set.Has(annotationPath(name)) {
		return ""
	}
	return value
}

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

// Completions removes UnfinishedAnnotation from objects when the state is
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
	cluster *Cluster
	ref     Ref
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

// Complete schedules the removal of UnfinishedAnnotation from live, if set,
// because its resource is written to state.
func (c *Cluster) Complete(ref Ref, live *unstructured.Unstructured) { c.complete(ref, live, false) }

// CompleteInState is Complete for an object that was in state before the run.
func (c *Cluster) CompleteInState(ref Ref, live *unstructured.Unstructured) {
	c.complete(ref, live, true)
}

func (c *Cluster) complete(ref Ref, live *unstructured.Unstructured, inState bool) {
	id := UnfinishedCreation(live)
	if id == "" || c.completions == nil {
		return
	}
	c.completions.add(completion{cluster: c, ref: ref, uid: live.GetUID(), id: id, since: time.Now(), inState: inState})
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
		c.remove(one.cluster.cache.ctx, batch)
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.remove(ctx, batch)
	}()
	select {
	case <-ctx.Done():
	case <-done:
	}
}

func (c *Completions) remove(ctx context.Context, batch []completion) {
	var workers errgroup.Group
	workers.SetLimit(completionWorkers)
	for _, one := range batch {
		workers.Go(func() error {
			if ctx.Err() == nil && c.expected() {
				one.cluster.removeUnfinished(ctx, one.ref, one.uid, one.id)
			}
			return nil
		})
	}
	_ = workers.Wait()
}

// removeUnfinished removes the annotation of this creation of this object only. If
// it fails, the next run that reads the object does it. The response contains
// only metadata, and no values of a Secret.
func (c *Cluster) removeUnfinished(ctx context.Context, ref Ref, uid types.UID, id string) {
	_, _ = c.send(ctx, ref, request{
		method: http.MethodPatch, contentType: types.JSONPatchType, metadataOnly: true,
		params: map[string]string{"fieldManager": Manager}, body: annotationRemoval(uid, UnfinishedAnnotation, id),
	})
}
