package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// Validate checks rules that the schema cannot express. It ignores unknown values.
func (hooks) Validate(ctx context.Context, config *model, _ lifecycle.Validation) diag.Diagnostics {
	diags := checkSize(config.Size)
	diags.Append(checkClass(ctx, config.StorageClass)...)
	diags.Append(checkConflicts(ctx, config)...)
	return diags
}

// checkSize requires an integer number of bytes that is more than zero. A fraction of a byte is usually a typo, such as
// 10m instead of 10M.
func checkSize(size tf.Quantity) diag.Diagnostics {
	quantity, err := manifest.ParseQuantity(size.ValueString())
	if err != nil {
		return nil // unknown, or its type reports this
	}
	var diags diag.Diagnostics
	switch text := size.ValueString(); {
	case quantity.Sign() <= 0:
		diags.AddAttributeError(path.Root("size"), "Invalid size",
			fmt.Sprintf("size is %q, but must be more than zero: set a size such as \"100Gi\".", text))
	case quantity.CmpInt64(1<<40) < 0 && quantity.MilliValue()%1000 != 0:
		diags.AddAttributeError(path.Root("size"), "Invalid size",
			fmt.Sprintf("size is %q, which is a fraction of a byte: m means a thousandth, M a million. "+
				"Set a size such as \"100Gi\".", text))
	}
	return diags
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
