// Package secret is the resource kt_secret. No value of a Secret leaves it, but
// to the cluster: not into state, a plan, a log or an error. The one exception
// is the attribute values, which Terraform itself keeps.
package secret

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// New makes the resource.
func New() resource.Resource { return &secretResource{} }

// secretResource holds nothing but what the provider was configured with.
type secretResource struct {
	data *tf.ProviderData // nil until the provider is configured
}

var (
	_ resource.ResourceWithConfigure      = (*secretResource)(nil)
	_ resource.ResourceWithImportState    = (*secretResource)(nil)
	_ resource.ResourceWithIdentity       = (*secretResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*secretResource)(nil)
	_ resource.ResourceWithValidateConfig = (*secretResource)(nil)
)

func (r *secretResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_secret"
}

func (r *secretResource) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	data, diags := tf.DataOf(req.ProviderData)
	r.data = data
	resp.Diagnostics.Append(diags...)
}

func (r *secretResource) configured() bool { return r.data != nil && !r.data.Unknown }
