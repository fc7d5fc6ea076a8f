package kube

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// runClaims is what the resources of one run do to which object. Terraform takes
// two resources for two things although they name one object: without a moved
// block, with create_before_destroy, or because the configuration names it twice.
type runClaims struct {
	objects   sync.Map // *claim by Ref.String
	resources sync.Map // *plannedResource by type and ID
	held      sync.Map // type and ID of a resource in state, by the UID of its object
	planned   sync.Map // type and ID of the resource that is to have an object, by Kind/namespace/name
}

// claim orders what one run does to one object.
type claim struct {
	sync.Mutex

	outcome creationOutcome
	ended   chan struct{} // closed when a creation that has begun ends; nil before it begins
}

// creationOutcome says what became of the creation of an object in this run.
type creationOutcome int

const (
	notCreated creationOutcome = iota
	creating
	created // its resource is in state
	creationFailed
)

// CreationFailedError says that an object is not deleted, since this run was to
// take it over into another resource, and that creation failed.
type CreationFailedError struct{ Ref Ref }

func (e *CreationFailedError) Error() string {
	return fmt.Sprintf("%s was not deleted: another resource of this run was to take it over, and its creation failed, "+
		"so that resource is not in the state. This one stays in the state. "+
		"Correct what made the creation fail, and apply again.", e.Ref)
}

func (r *runClaims) of(ref Ref) *claim {
	found, _ := r.objects.LoadOrStore(ref.String(), &claim{})
	c, _ := found.(*claim)
	return c
}

// Claim notes that ref is being created in this run, and calls look to see what
// is there; no deletion begins meanwhile. One that comes afterwards waits for
// EndClaim.
func (c *Cluster) Claim(ref Ref, look func() error) error {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	if claim.outcome == notCreated {
		claim.outcome, claim.ended = creating, make(chan struct{})
	}
	return look()
}

// EndClaim notes whether the resource whose creation claimed ref is in state.
// Only the first call counts.
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

// Claimed says whether ref was created in this run.
func (c *Cluster) Claimed(ref Ref) bool {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	return claim.outcome == created
}

// DeleteUnlessClaimed calls remove, unless ref was created in this run. While
// that creation runs, it waits for its end; one that failed is a
// CreationFailedError, since the object would otherwise be in no state.
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

// Hold notes that a resource in state, by type and ID, has the object with that UID.
func (c *Cluster) Hold(uid types.UID, resource string) {
	if uid != "" {
		c.claims.held.Store(uid, resource)
	}
}

// HeldBy returns the type and ID of the resource in state that has the object
// with that UID, "" where this run has met none.
func (c *Cluster) HeldBy(uid types.UID) string {
	found, _ := c.claims.held.Load(uid)
	resource, _ := found.(string)
	return resource
}

// PlanObject notes that a resource is to have the object with that key, which is
// Kind/namespace/name. It returns the type and ID of another resource of the run
// that is to have it, too, "" for none.
func (c *Cluster) PlanObject(key, resource string) (other string) {
	found, _ := c.claims.planned.LoadOrStore(key, resource)
	if other, _ = found.(string); other == resource {
		return ""
	}
	return other
}

// Planned is what a run plans for one resource, by its type and ID. Terraform
// asks once per resource and run, and asks about a replacement twice: about the
// resource that stays, and then about its creation.
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
	executed                  bool // its creation is done: the run is one that applies
	mayDestroy                bool // its creation may meet a destruction
}

// PlanConflict says which plans of one run exclude each other.
type PlanConflict int

// The conflicts between two resources of one run that name the same object.
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

// Create notes that the resource is created, as the replacement of one of the
// same address or not. Where mayDestroy is set, the run may destroy another
// resource of the same name.
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

// Keep notes that the resource is in state and is not destroyed, unless it is
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

// Executed notes that the creation is done. What is destroyed afterwards is what
// it replaced, with create_before_destroy.
func (p Planned) Executed() {
	resource, unlock := p.lock()
	defer unlock()
	resource.executed = true
}

// Destroy notes that the resource is destroyed.
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
