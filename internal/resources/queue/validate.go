package queue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// ValidateConfig checks the rules of the scheduler for combinations of attributes, without a cluster. It ignores
// invalid attributes, which the schema reports, and unknown ones, which the plan checks.
func (r *queueResource) ValidateConfig(
	ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse,
) {
	var known model
	hidden, diags := tf.GetKnown(ctx, req.Config, &known)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(validate(ctx, &known, hidden)...)
}

// ValidateKnown is like ValidateConfig, for a configuration that is known.
func (hooks) ValidateKnown(ctx context.Context, config *model) diag.Diagnostics {
	return validate(ctx, config, tf.PathSet{})
}

// validate checks a configuration without the values at the hidden paths.
func validate(ctx context.Context, known *model, hidden tf.PathSet) diag.Diagnostics {
	wanted, invalid := known.spec(ctx, tf.Defaults{}) // the rules do not depend on the provider block
	hidden.Add(invalid)
	if problems := wanted.validate().Known(hidden.Has); len(problems) > 0 {
		return renderErrors(problems)
	}
	return nil
}

// renderErrors returns each error of the renderer as a diagnostic of its attribute.
func renderErrors(err error) diag.Diagnostics {
	return tf.AttributeErrors("The objects of this queue cannot be rendered", err)
}
