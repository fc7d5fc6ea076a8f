// Package volume is the resource kt_volume.
package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New makes the resource.
func New() resource.Resource { return &volumeResource{} }

// volumeResource holds nothing but what the provider was configured with.
type volumeResource struct {
	data *tf.ProviderData // nil until the provider is configured
}

var (
	_ resource.ResourceWithConfigure      = (*volumeResource)(nil)
	_ resource.ResourceWithImportState    = (*volumeResource)(nil)
	_ resource.ResourceWithIdentity       = (*volumeResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*volumeResource)(nil)
	_ resource.ResourceWithValidateConfig = (*volumeResource)(nil)
)

func (r *volumeResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_volume"
}

func (r *volumeResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, diags := tf.DataOf(req.ProviderData)
	r.data = data
	resp.Diagnostics.Append(diags...)
}

func (r *volumeResource) configured() bool { return r.data != nil && !r.data.Unknown }
