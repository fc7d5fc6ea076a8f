package compute

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// ValidateConfig checks offline what concerns more than one attribute. What is
// unknown yet is checked again when it is known, in the plan.
func (r *computeResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(checkTolerations(ctx, config.Tolerations)...)
	resp.Diagnostics.Append(checkScheduling(&config)...)
	resp.Diagnostics.Append(checkTimes(&config)...)
	if resp.Diagnostics.HasError() || !req.Config.Raw.IsFullyKnown() {
		return
	}
	// The renderer knows what else does not go together: the namespace and the
	// user, which may come from the environment, make no difference to that.
	if config.Namespace.IsNull() {
		config.Namespace = types.StringValue("default")
	}
	_, diags := render(ctx, &config, tf.Defaults{LaunchTimeout: time.Minute})
	resp.Diagnostics.Append(diags...)
}

// checkTolerations applies Kubernetes' own rules
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func checkTolerations(ctx context.Context, list types.List) diag.Diagnostics {
	if list.IsNull() || list.IsUnknown() {
		return nil
	}
	var tolerations []tolerationModel
	diags := list.ElementsAs(ctx, &tolerations, false)
	for i, t := range tolerations {
		at := path.Root("tolerations").AtListIndex(i)
		exists := t.Operator.ValueString() == "Exists"
		known := !t.Key.IsUnknown() && !t.Operator.IsUnknown() && !t.Value.IsUnknown() && !t.Effect.IsUnknown()
		switch {
		case !known:
		case exists && t.Value.ValueString() != "":
			diags.AddAttributeError(at.AtName("value"), "Invalid toleration", "operator Exists tolerates every value of the taint: leave out value, or use Equal.")
		case !exists && t.Key.ValueString() == "":
			diags.AddAttributeError(at.AtName("key"), "Invalid toleration", "without a key, operator must be Exists, which tolerates every taint.")
		case !t.TolerationSeconds.IsNull() && t.Effect.ValueString() != "NoExecute":
			diags.AddAttributeError(at.AtName("toleration_seconds"), "Invalid toleration", "toleration_seconds needs effect NoExecute, the only one that evicts pods.")
		}
	}
	return diags
}

func checkScheduling(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if config.GPUAntiAffinity.ValueBool() && (config.GPUs.ValueInt64() > 0 || !config.GPUMemory.IsNull()) {
		diags.AddAttributeError(path.Root("gpu_anti_affinity"), "Conflicting attributes", "gpu_anti_affinity keeps the pods off GPU nodes, but they ask for GPUs.")
	}
	if config.QueueScheduler.ValueString() != "" && config.QueueName.IsNull() {
		diags.AddAttributeError(path.Root("queue_scheduler"), "Missing queue_name", "queue_scheduler says whose queue queue_name is; set queue_name too.")
	}
	return diags
}

// checkTimes looks at durations that are valid but unlikely to be meant.
func checkTimes(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	ttl, err := manifest.ParseDuration(config.InactivityTTL.ValueString())
	if known(config.InactivityTTL) && err == nil && ttl < time.Minute {
		diags.AddAttributeWarning(path.Root("inactivity_ttl"), "Very short inactivity_ttl",
			fmt.Sprintf("Kubetorch may delete the compute before its first call: %s is less than a minute.", config.InactivityTTL.ValueString()))
	}
	timeout, err := manifest.ParseDuration(config.LaunchTimeout.ValueString())
	if known(config.LaunchTimeout) && err == nil && timeout <= 0 {
		diags.AddAttributeError(path.Root("launch_timeout"), "Invalid launch_timeout", "it must be more than zero; on_not_ready = \"ignore\" does not wait at all.")
	}
	return diags
}

func known(text tf.Duration) bool { return !text.IsNull() && !text.IsUnknown() }
