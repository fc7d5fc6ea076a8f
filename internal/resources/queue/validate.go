package queue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// Validate checks the rules of the scheduler for combinations of attributes.
func (hooks) Validate(ctx context.Context, known *model, rules lifecycle.Validation) diag.Diagnostics {
	wanted, invalid := known.spec(ctx, tf.Defaults{}) // the rules do not depend on the provider block
	rules.Hidden.Add(invalid)
	if problems := wanted.validate().Known(rules.Hidden.Has); len(problems) > 0 {
		return renderErrors(problems)
	}
	return nil
}

// renderErrors returns each error of the renderer as a diagnostic of its attribute.
func renderErrors(err error) diag.Diagnostics {
	return tf.AttributeErrors("The objects of this queue cannot be rendered", err)
}
