package compute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// Validate checks the rules of [manifest.Validate] for combinations of attributes.
func (hooks) Validate(ctx context.Context, known *model, rules lifecycle.Validation) diag.Diagnostics {
	hidden := rules.Hidden
	diags := checkDurations(known)
	// The provider block may be unknown here. The rules do not depend on it.
	spec, invalid := known.spec(newConverter(ctx), tf.Defaults{LaunchTimeout: time.Minute})
	if misplaced := hidden.Add(invalid); len(misplaced) > 0 {
		return append(diags, misplaced...)
	}
	diags.Append(checkLaunch(spec)...)
	diags.Append(checkCompletion(known, spec.Mode(), hidden)...)
	// Until the namespace of the compute is resolved, that in a manifest or template is assumed to be the same.
	spec.Namespace = cmp.Or(spec.Namespace, kind.TextAt(spec.Manifest, "metadata", "namespace"),
		kind.TextAt(spec.ServiceTemplate, "metadata", "namespace"), "default")
	return append(diags, renderErrors(manifest.Validate(spec, hidden.Has))...)
}

func isKnown(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// checkDurations checks for durations that are valid but probably not intended.
func checkDurations(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if tf.DurationOr(config.InactivityTTL, time.Minute) < time.Minute {
		diags.AddAttributeWarning(path.Root("inactivity_ttl"), "Very short inactivity_ttl",
			fmt.Sprintf("Kubetorch may delete the compute before its first call: inactivity_ttl is %s, less than a "+
				"minute.", config.InactivityTTL.ValueString()))
	}
	if tf.DurationOr(config.LaunchTimeout, time.Minute) <= 0 {
		diags.AddAttributeError(path.Root("launch_timeout"), "Invalid launch_timeout",
			fmt.Sprintf("launch_timeout is %q, but must be more than zero: on_not_ready = \"ignore\" disables the "+
				"wait.", config.LaunchTimeout.ValueString()))
	}
	return diags
}

// checkCompletion rejects a wait for the end of a workload that has none.
func checkCompletion(known *model, mode string, hidden tf.PathSet) diag.Diagnostics {
	var diags diag.Diagnostics
	decided := !slices.ContainsFunc([]string{"autoscale", "distribute", "job", "manifest", "selector", "runtime"},
		func(name string) bool { return hidden[name] })
	of := kind.OfMode(mode)
	if known.WaitForCompletion.ValueBool() && decided && of.Mode != "" && !of.Ends {
		diags.AddAttributeError(path.Root("wait_for_completion"), "Wait without an end",
			fmt.Sprintf("The apply would wait until its timeout, because the pods of a compute with the mode %s never "+
				"end. Set job, or a manifest that runs to its end, or remove wait_for_completion.", mode))
	}
	return diags
}

// checkLaunch warns about pods that would restart before their server has started.
func checkLaunch(spec manifest.Compute) diag.Diagnostics {
	var diags diag.Diagnostics
	timeout := spec.LaunchTimeout
	if timeout > 0 && timeout <= manifest.WaitForCallable && manifest.WaitsForCallable(spec) {
		diags.AddAttributeWarning(path.Root("launch_timeout"), "Too short launch_timeout",
			fmt.Sprintf("Kubernetes may restart the pods forever: launch_timeout is %s, and at each start Kubetorch's "+
				"server waits %s for a function that a client registers. Increase launch_timeout, or set load.",
				timeout, manifest.WaitForCallable))
	}
	return diags
}
