package claim

import "k8s.io/apimachinery/pkg/api/resource"

// Resize is what another size means for a claim.
type Resize int

// The ways in which a size can change.
const (
	Same    Resize = iota
	Grow           // needs a class that allows it
	Lower          // asks for less again, but for more than there is: a growth that failed is given up
	Shrink         // Kubernetes never does this
	Unbound        // there is no volume yet, and Kubernetes changes the size of bound claims only
)

// Compare says what it means to ask for wanted where a claim asks for asked and
// has been given a volume of a capacity; nil while it has none. It follows
// ValidatePersistentVolumeClaimUpdate of Kubernetes (pkg/apis/core/validation).
func Compare(wanted, asked resource.Quantity, given *resource.Quantity) Resize {
	order := wanted.Cmp(asked)
	switch {
	case order == 0:
		return Same
	case given == nil:
		return Unbound
	case order > 0:
		return Grow
	case wanted.Cmp(*given) > 0:
		return Lower
	default:
		return Shrink
	}
}
