package claim

import "k8s.io/apimachinery/pkg/api/resource"

// Resize is the effect of another size on a claim.
type Resize int

// Effects of another size.
const (
	Same    Resize = iota
	Grow           // requires a class that allows it
	Lower          // requests less, but more than the capacity, to cancel a failed growth
	Shrink         // Kubernetes never does this
	Unbound        // has no volume yet, and Kubernetes can only change the size of bound claims
)

// Compare returns the effect of requesting wanted for a claim that requests another size and has a volume of a
// capacity, or nil. It follows ValidatePersistentVolumeClaimUpdate of Kubernetes (pkg/apis/core/validation).
func Compare(wanted, requested resource.Quantity, capacity *resource.Quantity) Resize {
	order := wanted.Cmp(requested)
	switch {
	case order == 0:
		return Same
	case capacity == nil:
		return Unbound
	case order > 0:
		return Grow
	case wanted.Cmp(*capacity) > 0:
		return Lower
	default:
		return Shrink
	}
}
