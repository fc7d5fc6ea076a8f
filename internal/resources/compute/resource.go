// Package compute implements the resource kt_compute.
package compute

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks implement the parts of the common life cycle that are specific to computes.
type hooks struct{}

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

var _ lifecycle.Waiter[model] = hooks{}

// New returns the resource.
func New() resource.Resource {
	return lifecycle.New[model](resourceKind(), hooks{})
}

// resourceKind describes the resource, with the default timeouts of its operations. They end waits for the cluster.
func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: "kt_compute", Noun: "compute", Example: "trainer",
		Description: description, Attributes: attributes, Masked: true,
		Apply:  5 * time.Minute, // in addition to the wait for readiness
		Delete: 10 * time.Minute,
		HasUID: isWorkload, Imports: isWorkload,
		Moves: func(of schema.GroupKind) bool {
			k, ok := kind.Of(of)
			return ok && k.RunsPods() && !k.RunsTensorServer()
		},
	}
}
