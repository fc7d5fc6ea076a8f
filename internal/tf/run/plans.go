package run

import "sync"

// PlanObject records that a resource plans the object with the key
// Kind/namespace/name. It returns the type and ID of another resource of the
// run that plans the same object, or "".
func (r *Run) PlanObject(key, resource string) (other string) {
	found, _ := r.planned.LoadOrStore(key, resource)
	if other, _ = found.(string); other == resource {
		return ""
	}
	return other
}

// PlansObject reports whether a resource of the run plans the object with the key
// Kind/namespace/name. Terraform plans a resource after those that it references.
func (r *Run) PlansObject(key string) bool {
	_, planned := r.planned.Load(key)
	return planned
}

// Planned contains the plans of one run for one resource, by its type and ID.
// Terraform plans each resource once per run, and a replacement twice: first
// the existing resource, then its creation.
type Planned struct {
	mu                        sync.Mutex
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

// Planned returns the plans for a resource such as kt_volume ml/datasets.
func (r *Run) Planned(resource string) *Planned {
	found, _ := r.resources.LoadOrStore(resource, &Planned{})
	planned, _ := found.(*Planned)
	return planned
}

// Create records that the resource is created, optionally as a replacement at
// the same address. If mayDestroy is set, the run may destroy another resource
// of the same name.
func (p *Planned) Create(replacement, mayDestroy bool) PlanConflict {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.created:
		return CreatedTwice
	case p.stays && !replacement:
		return CreatedAndKept
	case p.destroyed && !mayDestroy:
		return CreatedAndDestroyed
	}
	p.created, p.mayDestroy = true, mayDestroy
	return NoConflict
}

// Keep records that the resource is in state and is not destroyed, unless it is
// replaced.
func (p *Planned) Keep() PlanConflict {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.created:
		return CreatedAndKept
	case p.stays:
		return KeptTwice
	case p.destroyed:
		return KeptAndDestroyed
	}
	p.stays = true
	return NoConflict
}

// Executed records that the creation has completed. A resource destroyed
// afterwards is the replaced one, with create_before_destroy.
func (p *Planned) Executed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.executed = true
}

// Destroy records that the resource is destroyed.
func (p *Planned) Destroy() PlanConflict {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.destroyed = true
	switch {
	case p.created && !p.mayDestroy && !p.executed:
		return CreatedAndDestroyed
	case p.stays && !p.created:
		return KeptAndDestroyed
	}
	return NoConflict
}
