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
type hooks struct{ run *run }

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// New returns a constructor of the resource. All instances share the responses
// of registries, so that each reference is requested once per run.
func New() func() resource.Resource {
	shared := &run{}
	return func() resource.Resource {
		return &imageResource{lifecycle.Resource[model, *model, privateState]{
			Kind: lifecycle.Kind{
				Type: "kt_image", Noun: "image", Example: "torch", ObjectName: image.ConfigMapName,
				Create: timeLimit, Update: timeLimit, Delete: timeLimit,
			},
			Hooks: hooks{run: shared},
		}}
	}
}

// timeLimit is the default timeout of an operation, which sends only a few requests.
const timeLimit = 5 * time.Minute

var (
	_ resource.ResourceWithConfigure      = (*imageResource)(nil)
	_ resource.ResourceWithImportState    = (*imageResource)(nil)
	_ resource.ResourceWithIdentity       = (*imageResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*imageResource)(nil)
	_ resource.ResourceWithUpgradeState   = (*imageResource)(nil)
	_ resource.ResourceWithValidateConfig = (*imageResource)(nil)
)

// run contains the responses of registries since the provider was configured.
type run struct {
	mu       sync.Mutex
	data     *tf.ProviderData
	resolved *registry.Resolver
}

func (r *run) resolver(data *tf.ProviderData) *registry.Resolver {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resolved == nil || r.data != data { // with -debug, one process serves many runs
		r.data, r.resolved = data, registry.New()
	}
	return r.resolved
}
