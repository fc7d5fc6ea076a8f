package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// Validate checks rules that the schema cannot express. It ignores unknown values.
func (hooks) Validate(ctx context.Context, config *model, _ lifecycle.Validation) diag.Diagnostics {
	return append(checkClass(ctx, config.StorageClass), checkConflicts(ctx, config)...)
}

// checkClass accepts an object name or an empty text.
func checkClass(ctx context.Context, class types.String) diag.Diagnostics {
	if class.ValueString() == "" {
		return nil
	}
	var resp validator.StringResponse
	tf.ObjectName().ValidateString(ctx, validator.StringRequest{Path: path.Root("storage_class"), ConfigValue: class},
		&resp)
	return resp.Diagnostics
}

// checkConflicts reports labels and annotations that the renderer sets.
func checkConflicts(ctx context.Context, config *model) diag.Diagnostics {
	if config.Name.IsUnknown() || config.MountPath.IsUnknown() {
		return nil
	}
	known, _ := config.spec(ctx, tf.Defaults{}) // the type of size reports an invalid one
	return renderErrors(claim.Validate(known))
}
