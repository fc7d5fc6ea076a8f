package kube

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// UnfinishedAnnotation is on an object from its creation until the state that
// created it can be expected to hold it. Its value is a random id of the
// creation. A run that is killed leaves it there, and the next run takes the
// object over; one without it belongs to some state.
const UnfinishedAnnotation = "kt.dev/unfinished"

// CreationAnnotation is on the objects that the creation of a resource made in
// addition to the one with UnfinishedAnnotation, with the same value. It tells them
// from those of another state if the response to their creation was lost. Later
// applies keep it, so that a repair leaves an object exactly as it was.
const CreationAnnotation = "kt.dev/creation"

// annotationPath is an annotation in a set of managed fields.
func annotationPath(name string) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", name)
}

// NewCreationID returns a random value for UnfinishedAnnotation.
func NewCreationID() string { return strings.ToLower(rand.Text()) }

// MarkUnfinished returns a copy of obj with UnfinishedAnnotation.
func MarkUnfinished(obj *unstructured.Unstructured, id string) *unstructured.Unstructured {
	return annotated(obj, UnfinishedAnnotation, id)
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

// OwnedFields returns the fields of obj that the provider holds by server-side
// apply, without the annotations about its creation, and whether it holds any.
func OwnedFields(obj *unstructured.Unstructured) (*fieldpath.Set, bool, error) {
	set, ours, err := fields.Owned(obj, Manager)
	if err != nil || !ours {
		return set, ours, err
	}
	for _, name := range []string{UnfinishedAnnotation, CreationAnnotation} {
		if _, marked := obj.GetAnnotations()[name]; marked {
			set = set.Difference(fieldpath.NewSet(annotationPath(name)))
		}
	}
	return set, true, nil
}

// UnfinishedCreation returns the id of the creation that obj is left from, ""
// where its creation was completed or is not ours. An annotation that somebody
// else wrote does not count: a rollback copies those of an old ReplicaSet.
func UnfinishedCreation(obj *unstructured.Unstructured) string {
	return ownAnnotation(obj, UnfinishedAnnotation)
}

// CreationOf returns the id of the creation that made obj, "" where obj does not tell.
func CreationOf(obj *unstructured.Unstructured) string {
	if id := UnfinishedCreation(obj); id != "" {
		return id
	}
	return ownAnnotation(obj, CreationAnnotation)
}

// MarkedCreation returns the id in CreationAnnotation, "" without the annotation.
func MarkedCreation(obj *unstructured.Unstructured) string { return ownAnnotation(obj, CreationAnnotation) }

// ownAnnotation is the value of an annotation that the provider has applied, else "".
func ownAnnotation(obj *unstructured.Unstructured, name string) string {
	value := obj.GetAnnotations()[name]
	if value == "" {
		return ""
	}
	set, ours, err := fields.Owned(obj, Manager)
	if err != nil || !ours || !set.Has(annotationPath(name)) {
		return ""
	}
	return value
}

// Restored says whether obj is a copy that was restored from a backup: the
// provider applied it before the server created it, by the server's own clock.
// Backup tools put the records of field managers back
// (https://github.com/vmware-tanzu/velero/releases/tag/v1.17.2, «managed fields patch»).
func Restored(obj *unstructured.Unstructured) bool {
	created := obj.GetCreationTimestamp()
	return slices.ContainsFunc(obj.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" &&
			entry.Time != nil && entry.Time.Before(&created)
	})
}

const (
	// completionsKept is how many annotations may wait for the end of the run, at
	// which the provider has two seconds
	// (https://github.com/hashicorp/go-plugin/blob/v1.7.0/client.go, Kill).
	completionsKept = 200
	// completionsAge is how much older than another one an annotation has to be to
	// be removed where more than that wait. Terraform writes remote state with the
	// first change of state that comes 20 s after the last time
	// (https://github.com/hashicorp/terraform/blob/v1.11.4/internal/backend/local/backend_apply.go,
	// defaultPersistInterval): with that of the other one, if not before.
	completionsAge = 30 * time.Second
	// updateTime is what it may take Terraform to write the state of that one.
	updateTime = 10 * time.Second
	// completionWorkers is how many annotations are removed at the same time.
	completionWorkers = 32
)

// Completions removes UnfinishedAnnotation from objects once the state can be
// expected to hold them: at the end of the run, as Terraform may be killed
// before. Failures are silent, since the next run that reads the object
// removes the annotation. The nil value does nothing.
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
	inState bool // in the state that the run began with
}

// NewCompletions makes Completions. Nothing is removed while expected says
// that the state cannot be expected to be written, as when Terraform is gone.
func NewCompletions(expected func() bool) *Completions {
	return &Completions{expected: expected}
}

// Complete has UnfinishedAnnotation removed from live later, if it has it, since
// its resource goes into state.
func (c *Cluster) Complete(ref Ref, live *unstructured.Unstructured) { c.complete(ref, live, false) }

// CompleteInState is Complete of what was in state before the run.
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

// Interrupt leaves the annotation on what this run has created. Terraform may end
// before it has written the state, as after a second interrupt, and still stop the
// provider in order
// (https://github.com/hashicorp/terraform/blob/v1.11.4/main.go, CleanupClients).
// The next run that reads the object removes it.
func (c *Completions) Interrupt() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupted = true
}

// removable takes away what may be in no state.
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
	if len(c.waiting) <= completionsKept || c.draining {
		return
	}
	ripe := ripeOf(c.waiting, time.Now())
	batch := c.removable(slices.Clone(c.waiting[:ripe]))
	if len(batch) == 0 {
		return
	}
	c.waiting, c.draining = slices.Delete(c.waiting, 0, ripe), true
	go func() {
		c.remove(one.cluster.cache.ctx, batch)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.draining = false
	}()
}

// ripeOf returns how many of those that wait, the oldest first, are in the state
// that Terraform has written by now, wherever that is.
func ripeOf(waiting []completion, now time.Time) int {
	written := -1 // the last one of which the state was updated
	for i, one := range waiting {
		if now.Sub(one.since) >= updateTime {
			written = i
		}
	}
	ripe := 0
	for ripe < written && waiting[written].since.Sub(waiting[ripe].since) >= completionsAge {
		ripe++
	}
	return ripe
}

// Flush removes all annotations that wait, as far as ctx allows. A request that
// has begun outlives ctx; it is not waited for.
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
	queue := make(chan completion, len(batch))
	for _, one := range batch {
		queue <- one
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(completionWorkers, len(batch)) {
		workers.Go(func() {
			for one := range queue {
				if ctx.Err() != nil || !c.expected() {
					return
				}
				_ = one.cluster.removeUnfinished(ctx, one.ref, one.uid, one.id) // the next run that reads the object removes it
			}
		})
	}
	workers.Wait()
}

// removeUnfinished removes the annotation of this very creation of this very
// object. The answer has no more than metadata, so that it quotes no Secret.
func (c *Cluster) removeUnfinished(ctx context.Context, ref Ref, uid types.UID, id string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	at := "/metadata/annotations/" + strings.ReplaceAll(UnfinishedAnnotation, "/", "~1") // RFC 6901
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "test", "path": at, "value": id},
		{"op": "remove", "path": at},
	})
	if err != nil {
		return err
	}
	return conn.rest.Patch(types.JSONPatchType).WarningHandler(rest.NoWarnings{}).AbsPath(ref.path()...).
		SetHeader("Accept", metadataOnly).Param("fieldManager", Manager).Body(patch).Do(ctx).Error()
}

// metadataOnly asks for an object without its spec, status and data, where the
// server can do that (https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches).
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"

// path is the object's REST path.
func (r Ref) path() []string {
	root := []string{"/apis", r.Kind.Group, r.Kind.Version}
	if r.Kind.Group == "" {
		root = []string{"/api", r.Kind.Version}
	}
	if !r.Kind.ClusterScoped {
		root = append(root, "namespaces", r.Namespace)
	}
	return append(root, r.Kind.Resource, r.Name)
}
