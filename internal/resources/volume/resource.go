// Package volume implements the resource kt_volume.
package volume

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to volumes.
type hooks struct{}

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// New returns the resource.
func New() resource.Resource {
	return lifecycle.New[model](resourceKind(), hooks{})
}

func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: "kt_volume", Noun: "volume", Example: "datasets",
		Description: description, Attributes: attributes,
		Create: 10 * time.Minute, Update: 10 * time.Minute, // cloud file systems take minutes to create
		Delete: 5 * time.Minute,
		Moves:  func(of schema.GroupKind) bool { return of == kind.PersistentVolumeClaim().GroupKind() },
	}
}
