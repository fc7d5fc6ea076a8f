package kueue

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Rank returns the position of an object in the order in which the objects of a queue are applied. LocalQueues come
// first, because a missing namespace should fail before anything else is created. They are deleted in the opposite
// order: Kueue keeps a ResourceFlavor that a ClusterQueue uses.
func Rank(obj *unstructured.Unstructured) int {
	later := []string{kind.ResourceFlavor(kind.KueueVersion).Kind, kind.ClusterQueue(kind.KueueVersion).Kind}
	return slices.Index(later, obj.GetKind()) + 1
}
