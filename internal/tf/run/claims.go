package run

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

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
type CreationFailedError struct{ Ref kube.Ref }

func (e *CreationFailedError) Error() string {
	return fmt.Sprintf("%s was not deleted: another resource of this run should have taken it over, and its creation "+
		"failed", e.Ref)
}

func (r *Run) claimOf(ref kube.Ref) *claim {
	found, _ := r.objects.LoadOrStore(ref.Key(), &claim{})
	c, _ := found.(*claim)
	return c
}

// Claim records that ref is being created in this run, and calls read to read
// the current object. No deletion starts in the meantime. A later deletion
// waits for EndClaim.
func (r *Run) Claim(ref kube.Ref, read func() error) error {
	claim := r.claimOf(ref)
	claim.Lock()
	defer claim.Unlock()
	if claim.outcome == notCreated {
		claim.outcome, claim.ended = creating, make(chan struct{})
	}
	return read()
}

// EndClaim records whether the resource whose creation claimed ref is in state.
// Only the first call has an effect.
func (r *Run) EndClaim(ref kube.Ref, inState bool) {
	claim := r.claimOf(ref)
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
func (r *Run) Claimed(ref kube.Ref) bool {
	claim := r.claimOf(ref)
	claim.Lock()
	defer claim.Unlock()
	return claim.outcome == created
}

// DeleteUnlessClaimed calls remove, unless ref was created in this run. It
// waits for the end of a running creation. If the creation failed, it returns a
// CreationFailedError, because the object would otherwise be in no state.
func (r *Run) DeleteUnlessClaimed(ctx context.Context, ref kube.Ref, remove func() error) (deleted bool, err error) {
	claim := r.claimOf(ref)
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
func (r *Run) Hold(uid types.UID, resource string) {
	if uid != "" {
		r.held.Store(uid, resource)
	}
}

// HeldBy returns the type and ID of the resource in state that has the object
// with that UID, or "" if none is known in this run.
func (r *Run) HeldBy(uid types.UID) string {
	found, _ := r.held.Load(uid)
	resource, _ := found.(string)
	return resource
}
