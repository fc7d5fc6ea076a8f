// Package image implements the resource kt_image.
package image

import (
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// imageResource adds the schema and the validation to the common life cycle.
type imageResource struct {
	lifecycle.Resource[model, *model, privateState]
}

// hooks are the part of the life cycle that is specific to images.
type hooks struct{ resolver *sharedResolver }

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// New returns a constructor of the resource. All instances share a resolver, so that each reference is requested once
// per run.
func New() func() resource.Resource {
	resolver := &sharedResolver{}
	return func() resource.Resource {
		return &imageResource{lifecycle.Resource[model, *model, privateState]{
			Kind: lifecycle.Kind{
				Type: "kt_image", Noun: "image", Example: "torch", ObjectName: image.ConfigMapName,
				Create: timeLimit, Update: timeLimit, Delete: timeLimit,
			},
			Hooks: hooks{resolver: resolver},
		}}
	}
}

// timeLimit is the default timeout of an operation, which sends only a few requests. A deletion also waits for
// finalizers.
const timeLimit = 5 * time.Minute

var (
	_ resource.ResourceWithConfigure      = (*imageResource)(nil)
	_ resource.ResourceWithImportState    = (*imageResource)(nil)
	_ resource.ResourceWithIdentity       = (*imageResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*imageResource)(nil)
	_ resource.ResourceWithUpgradeState   = (*imageResource)(nil)
	_ resource.ResourceWithValidateConfig = (*imageResource)(nil)
)

// sharedResolver contains the resolver of one run.
type sharedResolver struct {
	mu       sync.Mutex
	data     *tf.ProviderData
	resolver *registry.Resolver
}

// of returns the resolver of the run that configured the provider with data.
func (s *sharedResolver) of(data *tf.ProviderData) *registry.Resolver {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resolver == nil || s.data != data { // with -debug, one process serves many runs
		s.data, s.resolver = data, registry.New()
	}
	return s.resolver
}
