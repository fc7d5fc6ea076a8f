package kueue

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Rank returns the position of an object in the order in which the objects of a queue are applied. LocalQueues come
// first, because a missing namespace should fail before anything else is created. They are deleted in the opposite
// order: Kueue keeps a ResourceFlavor that a ClusterQueue uses.
func Rank(obj *unstructured.Unstructured) int {
	switch obj.GetKind() {
	case kind.ClusterQueue(kind.KueueVersion).Kind:
		return 2
	case kind.ResourceFlavor(kind.KueueVersion).Kind:
		return 1
	default:
		return 0
	}
}
