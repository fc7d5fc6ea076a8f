// Package run contains what one run of Terraform or OpenTofu knows of a cluster: which resources it plans, creates and
// deletes, whether it applies, and which creations its state will contain.
package run

import (
	"context"
	"sync"
	"sync/atomic"

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
	applies     atomic.Bool     // see Preview

	objects   sync.Map // *claim by kube.Ref.Key
	resources sync.Map // *Planned by type and ID
	held      sync.Map // type and ID of a resource in state, by the UID of its object
	planned   sync.Map // type and ID of the planned resource of an object, by Kind/namespace/name
	values    sync.Map // see Once
}

// New returns a run that ends with ctx. Its creations are completed by completions, if not nil.
func New(ctx context.Context, cluster *kube.Cluster, completions *Completions) *Run {
	return &Run{Cluster: cluster, ctx: ctx, completions: completions}
}

// BeginApply records that Terraform applies a resource in this run.
func (r *Run) BeginApply() { r.applies.Store(true) }

// Preview calls preview, which dry-runs a change and must not determine planned values, except that a resource is
// replaced. It skips preview in an apply: the plan has called it, and the apply reports all errors.
//
// Terraform and OpenTofu plan each resource again before they apply it. Only an instance of the provider that has
// applied a resource is known to be in that walk of the graph: it is configured for one walk
// (https://github.com/hashicorp/terraform/blob/v1.11.4/internal/terraform/node_resource_apply_instance.go,
// managedResourceExecute). Until then, changes are previewed twice, which are at most as many as Terraform applies at
// the same time.
func (r *Run) Preview(preview func()) {
	if !r.applies.Load() {
		preview()
	}
}

// Once returns the value that create returned for a key at its first use in the run.
func Once[T any](r *Run, key string, create func() T) T {
	found, _ := r.values.LoadOrStore(key, sync.OnceValue(create))
	once, _ := found.(func() T)
	return once()
}
