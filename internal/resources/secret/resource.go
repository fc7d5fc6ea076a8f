// Package secret is the resource kt_secret. No value of a Secret leaves it, but
// to the cluster: not into state, a plan, a log or an error. The one exception
// is the attribute values, which Terraform itself keeps.
package secret

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// timeLimit is the default timeout of an operation. Only finalizers take time.
const timeLimit = 5 * time.Minute

// secretResource adds the schema and the validation to the common life cycle.
type secretResource struct {
	lifecycle.Resource[model, *model, remembered]
}

// hooks are the part of the life cycle that is specific to secrets.
type hooks struct{}

type (
	reading  = lifecycle.Reading[model, remembered]
	planning = lifecycle.Planning[model, remembered]
	writing  = lifecycle.Writing[model, remembered]
	deleting = lifecycle.Deleting[model, remembered]
)

var (
	_ resource.ResourceWithConfigure      = (*secretResource)(nil)
	_ resource.ResourceWithImportState    = (*secretResource)(nil)
	_ resource.ResourceWithIdentity       = (*secretResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*secretResource)(nil)
	_ resource.ResourceWithValidateConfig = (*secretResource)(nil)
)

// New makes the resource.
func New() resource.Resource {
	r := &secretResource{lifecycle.Resource[model, *model, remembered]{
		Kind: lifecycle.Kind{
			Type: "kt_secret", Noun: "secret", Example: "huggingface",
			Create: timeLimit, Update: timeLimit, Delete: timeLimit,
		},
		Hooks: hooks{},
	}}
	r.PrivateState = lifecycle.PrivateStateCodec[remembered]{
		Load: func(ctx context.Context, private owned.PrivateReader) (remembered, diag.Diagnostics) {
			return recall(ctx, private, sealerOf(r.Data()))
		},
		Save: save,
	}
	return r
}
