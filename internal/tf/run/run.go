// Package run contains what one run of Terraform or OpenTofu knows of a cluster: which resources it plans, creates and
// deletes, whether it applies, and which creations its state will contain.
package run

import (
	"context"
	"sync"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// Run is one run against one cluster. All methods are safe for concurrent use.
//
// Two resources may refer to the same object: without a moved block, with create_before_destroy, or because the
// configuration contains it twice. Therefore a run records the operations of its resources by object.
type Run struct {
	Cluster *kube.Cluster

	ctx         context.Context // lifetime of the run
	completions *Completions    // nil: objects keep kube.UnfinishedAnnotation
	previews    *previews

	objects   sync.Map // *claim by kube.Ref.Key
	resources sync.Map // *plannedResource by type and ID
	held      sync.Map // type and ID of a resource in state, by the UID of its object
	planned   sync.Map // type and ID of the planned resource of an object, by Kind/namespace/name
	values    sync.Map // see Once
}

// New returns a run that ends with ctx. Its creations are completed by completions, if not nil.
func New(ctx context.Context, cluster *kube.Cluster, completions *Completions) *Run {
	return &Run{Cluster: cluster, ctx: ctx, completions: completions, previews: newPreviews()}
}

// Once returns the value that create returned for a key at its first use in the run.
func Once[T any](r *Run, key string, create func() T) T {
	found, _ := r.values.LoadOrStore(key, sync.OnceValue(create))
	once, _ := found.(func() T)
	return once()
}
