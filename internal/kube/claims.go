package kube

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// runClaims is what the resources of one run do to which object. Terraform takes
// two resources for two things although they name one object: without a moved
// block, with create_before_destroy, or because the configuration names it twice.
type runClaims struct {
	objects   sync.Map // *claim by Ref.String
	resources sync.Map // *plannedResource by type and ID
}

// claim orders what one run does to one object.
type claim struct {
	sync.Mutex

	created bool
	held    map[types.UID]bool // by the state
}

func (r *runClaims) of(ref Ref) *claim {
	found, _ := r.objects.LoadOrStore(ref.String(), &claim{})
	c, _ := found.(*claim)
	return c
}

// Claim notes that ref is created in this run, and calls look to see what is
// there; no deletion begins meanwhile, nor afterwards.
func (c *Cluster) Claim(ref Ref, look func() error) error {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	claim.created = true
	return look()
}

// Claimed says whether ref was created in this run.
func (c *Cluster) Claimed(ref Ref) bool {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	return claim.created
}

// DeleteUnlessClaimed calls remove, unless ref was created in this run.
func (c *Cluster) DeleteUnlessClaimed(ref Ref, remove func() error) (deleted bool, err error) {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	if claim.created {
		return false, nil
	}
	return true, remove()
}

// Hold notes that a resource in state has the object with that UID.
func (c *Cluster) Hold(ref Ref, uid types.UID) {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	if claim.held == nil {
		claim.held = map[types.UID]bool{}
	}
	claim.held[uid] = true
}

// Holds says whether a resource that this run has read has the object with that UID.
func (c *Cluster) Holds(ref Ref, uid types.UID) bool {
	claim := c.claims.of(ref)
	claim.Lock()
	defer claim.Unlock()
	return claim.held[uid]
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
