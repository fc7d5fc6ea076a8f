package kube

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// runClaims records the operations of the resources of one run by object. Two
// resources of Terraform may refer to the same object: without a moved block,
// with create_before_destroy, or because the configuration contains it twice.
type runClaims struct {
	objects   sync.Map // *claim by Ref.Key
	resources sync.Map // *plannedResource by type and ID
	held      sync.Map // type and ID of a resource in state, by the UID of its object
	planned   sync.Map // type and ID of the planned resource of an object, by Kind/namespace/name
}

// claim orders the operations of one run on one object.
type claim struct {
	sync.Mutex

	outcome creationOutcome
	ended   chan struct{} // closed when the creation ends; nil before it begins
}

// creationOutcome is the result of the creation of an object in this run.
type creationOutcome int

const (
	notCreated creationOutcome = iota
	creating
	created // its resource is in state
	creationFailed
)

// CreationFailedError reports that an object was not deleted, because another
// resource of this run should have taken it over, and its creation failed.
type CreationFailedError struct{ Ref Ref }

func (e *CreationFailedError) Error() string {
	return fmt.Sprintf("%s was not deleted: another resource of this run should have taken it over, and its creation "+
		"failed", e.Ref)
}

func (r *runClaims) of(ref Ref) *claim {
	found, _ := r.objects.LoadOrStore(ref.Key(), &claim{})
	c, _ := found.(*claim)
	return c
}

// Claim records that ref is being created in this run, and calls read to read
// the current object. No deletion starts in the meantime. A later deletion
// waits for EndClaim.
func (c *Cluster) Claim(ref Ref, read func() error) error {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	if claim.outcome == notCreated {
		claim.outcome, claim.ended = creating, make(chan struct{})
	}
	return read()
}

// EndClaim records whether the resource whose creation claimed ref is in state.
// Only the first call has an effect.
func (c *Cluster) EndClaim(ref Ref, inState bool) {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	if claim.outcome != creating {
		return
	}
	claim.outcome = creationFailed
	if inState {
		claim.outcome = created
	}
	close(claim.ended)
}

// Claimed reports whether ref was created in this run.
func (c *Cluster) Claimed(ref Ref) bool {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	return claim.outcome == created
}

// DeleteUnlessClaimed calls remove, unless ref was created in this run. It
// waits for the end of a running creation. If the creation failed, it returns a
// CreationFailedError, because the object would otherwise be in no state.
func (c *Cluster) DeleteUnlessClaimed(ctx context.Context, ref Ref, remove func() error) (deleted bool, err error) {
	claim := c.claims.of(ref)
	claim.Lock()
	for claim.outcome == creating {
		ended := claim.ended
		claim.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		claim.Lock()
	}
	defer claim.Unlock()
	switch claim.outcome {
	case created:
		return false, nil
	case creationFailed:
		return false, &CreationFailedError{Ref: ref}
	case notCreated, creating:
	}
	return true, remove()
}

// Hold records that a resource in state, by type and ID, has the object with
// that UID.
func (c *Cluster) Hold(uid types.UID, resource string) {
	if uid != "" {
		c.claims.held.Store(uid, resource)
	}
}

// HeldBy returns the type and ID of the resource in state that has the object
// with that UID, or "" if none is known in this run.
func (c *Cluster) HeldBy(uid types.UID) string {
	found, _ := c.claims.held.Load(uid)
	resource, _ := found.(string)
	return resource
}

// PlanObject records that a resource plans the object with the key
// Kind/namespace/name. It returns the type and ID of another resource of the
// run that plans the same object, or "".
func (c *Cluster) PlanObject(key, resource string) (other string) {
	found, _ := c.claims.planned.LoadOrStore(key, resource)
	if other, _ = found.(string); other == resource {
		return ""
	}
	return other
}

// PlansObject reports whether a resource of the run plans the object with the key
// Kind/namespace/name. Terraform plans a resource after those that it references.
func (c *Cluster) PlansObject(key string) bool {
	_, planned := c.claims.planned.Load(key)
	return planned
}

// Planned contains the plans of one run for one resource, by its type and ID.
// Terraform plans each resource once per run, and a replacement twice: first
// the existing resource, then its creation.
type Planned struct {
	claims   *runClaims
	resource string
}

// Planned returns the plans for a resource such as kt_volume ml/datasets.
func (c *Cluster) Planned(resource string) Planned {
	return Planned{claims: &c.claims, resource: resource}
}

type plannedResource struct {
	sync.Mutex

	created, stays, destroyed bool
	executed                  bool // its creation has completed: the run is an apply
	mayDestroy                bool // the run may destroy a resource of the same name
}

// PlanConflict is a conflict between the plans of one run.
type PlanConflict int

// Conflicts between two resources of one run that refer to the same object.
const (
	NoConflict PlanConflict = iota
	// CreatedTwice: both create it.
	CreatedTwice
	// CreatedAndKept: one has it, and the other one creates it.
	CreatedAndKept
	// KeptTwice: both have it.
	KeptTwice
	// CreatedAndDestroyed: one destroys it, and the other one creates it.
	CreatedAndDestroyed
	// KeptAndDestroyed: both have it, and one destroys it.
	KeptAndDestroyed
)

func (p Planned) lock() (resource *plannedResource, unlock func()) {
	found, _ := p.claims.resources.LoadOrStore(p.resource, &plannedResource{})
	resource, _ = found.(*plannedResource)
	resource.Lock()
	return resource, resource.Unlock
}

// Create records that the resource is created, optionally as a replacement at
// the same address. If mayDestroy is set, the run may destroy another resource
// of the same name.
func (p Planned) Create(replacement, mayDestroy bool) PlanConflict {
	resource, unlock := p.lock()
	defer unlock()
	switch {
	case resource.created:
		return CreatedTwice
	case resource.stays && !replacement:
		return CreatedAndKept
	case resource.destroyed && !mayDestroy:
		return CreatedAndDestroyed
	}
	resource.created, resource.mayDestroy = true, mayDestroy
	return NoConflict
}

// Keep records that the resource is in state and is not destroyed, unless it is
// replaced.
func (p Planned) Keep() PlanConflict {
	resource, unlock := p.lock()
	defer unlock()
	switch {
	case resource.created:
		return CreatedAndKept
	case resource.stays:
		return KeptTwice
	case resource.destroyed:
		return KeptAndDestroyed
	}
	resource.stays = true
	return NoConflict
}

// Executed records that the creation has completed. A resource destroyed
// afterwards is the replaced one, with create_before_destroy.
func (p Planned) Executed() {
	resource, unlock := p.lock()
	defer unlock()
	resource.executed = true
}

// Destroy records that the resource is destroyed.
func (p Planned) Destroy() PlanConflict {
	resource, unlock := p.lock()
	defer unlock()
	resource.destroyed = true
	switch {
	case resource.created && !resource.mayDestroy && !resource.executed:
		return CreatedAndDestroyed
	case resource.stays && !resource.created:
		return KeptAndDestroyed
	}
	return NoConflict
}
