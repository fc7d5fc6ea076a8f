package owned

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Change brings the objects of a resource from the prior ones to the planned ones, and records which ones exist, also
// after a failure.
type Change struct {
	Run             *run.Run
	RecordedCluster RecordedCluster
	Memory          Memory
	Creation        *Creation
	// Rank is the order in which objects are applied, and DeletionRank that in which they are deleted.
	Rank, DeletionRank func(*unstructured.Unstructured) int
	// DeletesFirst reports whether an object that is not planned is deleted before the planned ones are applied. It may
	// be nil.
	DeletesFirst func(*unstructured.Unstructured) bool
	// PodLabels select the pods of a deleted object with the same name. The creation waits until they are gone.
	PodLabels map[string]string
	// Send applies one object. before is nil for a new one.
	Send func(ctx context.Context, obj *unstructured.Unstructured, before *Object) (diag.Diagnostics, error)
	// Release reports whether an object that is not planned remains in the cluster, unmanaged, instead of being
	// deleted, and prepares it for that. After an error, the object stays in state. nil: all are deleted.
	Release func(context.Context, *unstructured.Unstructured) (bool, error)
	// Incomplete is the consequence of a failure of the server that ends a creation, for a warning: a failure of the
	// server is no error after the first object, since an error would taint the resource, and the next apply would
	// replace it.
	Incomplete string

	// Existing are the objects that exist. After an incomplete creation, they include those that are missing: the
	// next refresh detects that.
	Existing Objects
	Deleted  []string // keys of the objects that were deleted or released
	// Interrupted reports an incomplete creation.
	Interrupted bool
	Diags       diag.Diagnostics
}

// Apply sends the planned objects that differ from prior ones, and deletes the prior ones that are not planned, except
// those that were imported from another owner and never applied.
func (c *Change) Apply(ctx context.Context, planned, prior Objects) {
	c.Existing = Objects{}
	changed, obsolete := planned.ChangedFrom(prior)
	for key, object := range planned {
		if changed[key] == nil {
			c.Existing[key] = object
		}
	}
	sorted := changed.Sorted(c.Rank)
	if err := c.prepareCreate(ctx, sorted, prior); err != nil {
		c.Diags.Append(Failure(err))
		return
	}
	if c.deleteFirst(ctx, obsolete); c.Diags.HasError() {
		return
	}
	for _, obj := range sorted {
		key := manifest.Key(obj)
		diags, err := c.Send(ctx, obj, prior[key])
		c.Diags.Append(diags...)
		if err != nil {
			c.reportFailure(err, planned, len(prior) == 0)
			if prior[key] == nil && kube.OutcomeUnknown(err) {
				c.Existing[key] = planned[key] // it may exist, and can be deleted only if it is in state
			}
			return
		}
		c.Existing[key] = planned[key]
	}
	c.deleteObsolete(ctx, obsolete)
}

// deleteFirst deletes the obsolete objects that must be gone before others are applied.
func (c *Change) deleteFirst(ctx context.Context, obsolete Objects) {
	first := maps.Clone(obsolete)
	maps.DeleteFunc(first, func(_ string, object *Object) bool {
		return c.DeletesFirst == nil || !c.DeletesFirst(object.Content)
	})
	maps.DeleteFunc(obsolete, func(key string, _ *Object) bool { return first[key] != nil })
	c.deleteObsolete(ctx, first)
}

// release removes the objects from obsolete that are not deleted.
func (c *Change) release(ctx context.Context, obsolete Objects) {
	for _, obj := range obsolete.Sorted(c.DeletionRank) {
		key := manifest.Key(obj)
		if c.Memory.NeverApplied(key) {
			delete(obsolete, key)
			continue
		}
		if c.Release == nil {
			continue
		}
		released, err := c.Release(ctx, obj)
		switch {
		case err != nil:
			c.Diags.Append(Failure(err))
			c.Existing[key] = obsolete[key] // the next apply releases or deletes it
		case released:
			delete(c.Memory, key)
			c.Deleted = append(c.Deleted, key)
		default:
			continue
		}
		delete(obsolete, key)
	}
}

// prepareCreate checks that the new objects can be created. It checks all of them first, since the creation of one
// determines which others may be adopted.
func (c *Change) prepareCreate(ctx context.Context, changed []*unstructured.Unstructured, prior Objects) error {
	for _, obj := range changed {
		if prior[manifest.Key(obj)] != nil {
			continue
		}
		if err := PrepareCreate(ctx, c.Run, c.Creation, obj, c.PodLabels); err != nil {
			return err
		}
	}
	return nil
}

// reportFailure reports an object that could not be applied. After an incomplete creation, the other planned objects
// are recorded as planned.
func (c *Change) reportFailure(err error, planned Objects, creating bool) {
	if !creating || len(c.Existing) == 0 || !kube.AboutServer(err) {
		c.Diags.Append(Failure(err))
		return
	}
	c.Interrupted = true
	c.Diags.Append(tf.Warning(err, c.Incomplete))
	for _, ref := range c.Creation.claimed {
		c.Creation.Created(ref, nil)
	}
	for key, object := range planned {
		if c.Existing[key] != nil {
			continue
		}
		c.Existing[key] = object
		if _, known := c.Memory[key]; !known {
			c.Memory.Expect(key, c.Creation)
		}
	}
}

// deleteObsolete releases or deletes objects that the plan no longer contains. Those that remain stay in state and in
// memory, so that the next apply deletes them.
func (c *Change) deleteObsolete(ctx context.Context, obsolete Objects) {
	c.release(ctx, obsolete)
	remaining, diags := DeleteObjects(ctx, c.Run, c.RecordedCluster, obsolete.Sorted(c.DeletionRank), c.Memory, nil)
	c.Diags.Append(diags...)
	for _, key := range slices.Sorted(maps.Keys(obsolete)) {
		if remaining[key] {
			c.Existing[key] = obsolete[key]
			continue
		}
		c.Deleted = append(c.Deleted, key)
		delete(c.Memory, key)
	}
}

// After returns the objects after a failed update: the prior ones, except for those that were applied or deleted.
func (c *Change) After(prior Objects) Objects {
	current := maps.Clone(prior)
	maps.Copy(current, c.Existing)
	for _, key := range c.Deleted {
		delete(current, key)
	}
	return current
}
