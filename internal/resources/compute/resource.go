// Package compute is the resource kt_compute.
package compute

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New makes the resource.
func New() resource.Resource { return &computeResource{} }

// computeResource holds nothing but what the provider was configured with.
type computeResource struct {
	data *tf.ProviderData // nil until the provider is configured
}

var (
	_ resource.ResourceWithConfigure      = (*computeResource)(nil)
	_ resource.ResourceWithImportState    = (*computeResource)(nil)
	_ resource.ResourceWithIdentity       = (*computeResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*computeResource)(nil)
	_ resource.ResourceWithValidateConfig = (*computeResource)(nil)
)

func (r *computeResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_compute"
}

func (r *computeResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, diags := tf.DataOf(req.ProviderData)
	r.data = data
	resp.Diagnostics.Append(diags...)
}
