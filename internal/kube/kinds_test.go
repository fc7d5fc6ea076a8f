package kube

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// row is a kind of the table.
func row(group, name string) Kind {
	k, ok := kind.Of(schema.GroupKind{Group: group, Kind: name})
	if !ok {
		panic("the table of kinds has no " + name)
	}
	return k
}
