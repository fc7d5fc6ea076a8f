// Package image implements the resource kt_image.
package image

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to images.
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

// timeLimit is the default timeout of an operation, which sends only a few requests. A deletion also waits for
// finalizers.
const timeLimit = 5 * time.Minute

func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: "kt_image", Noun: "image", Example: "torch", ObjectName: image.ConfigMapName,
		Description: description, Attributes: attributes,
		Create: timeLimit, Update: timeLimit, Delete: timeLimit,
	}
}
