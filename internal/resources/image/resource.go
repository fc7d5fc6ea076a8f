// Package image implements the resource kt_image.
package image

import (
	"context"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New returns a constructor of the resource. All instances share the responses
// of registries, so that each reference is requested once per run.
func New() func() resource.Resource {
	shared := &run{}
	return func() resource.Resource { return &imageResource{run: shared} }
}

// imageResource contains only the data of the configured provider.
type imageResource struct {
	data *tf.ProviderData // nil until the provider is configured
	run  *run
}

var (
	_ resource.ResourceWithConfigure      = (*imageResource)(nil)
	_ resource.ResourceWithImportState    = (*imageResource)(nil)
	_ resource.ResourceWithIdentity       = (*imageResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*imageResource)(nil)
	_ resource.ResourceWithValidateConfig = (*imageResource)(nil)
)

func (r *imageResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_image"
}

func (r *imageResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, diags := tf.DataOf(req.ProviderData)
	r.data = data
	resp.Diagnostics.Append(diags...)
}

func (r *imageResource) configured() bool { return r.data != nil && !r.data.Unknown }

func (r *imageResource) registries() *registry.Resolver { return r.run.resolver(r.data) }

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
