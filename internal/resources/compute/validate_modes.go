package compute

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// checkModes finds attributes that ask for different ways to run a compute.
func checkModes(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, pair := range []struct {
		at     string
		value  attr.Value
		other  string
		beside attr.Value
		why    string
	}{
		{"distribute", config.Distribute, "autoscale", config.Autoscale, "a compute has a fixed number of workers or is scaled by its load"},
		{"manifest", config.Manifest, "autoscale", config.Autoscale, "autoscale makes a Knative Service, and manifest brings a workload of your own: give the annotations of autoscaling.knative.dev in manifest"},
		{"replicas", config.Replicas, "autoscale", config.Autoscale, "Knative decides how many pods run: give autoscale.min_scale and max_scale"},
		{"replicas", config.Replicas, "distribute", config.Distribute, "their number is distribute.workers"},
	} {
		if !pair.value.IsNull() && !pair.beside.IsNull() {
			diags.AddAttributeError(path.Root(pair.at), "Conflicting attributes",
				fmt.Sprintf("%s stands beside %s, but %s: leave out one of the two.", pair.at, pair.other, pair.why))
		}
	}
	if !config.PodTemplatePath.IsNull() && config.Manifest.IsNull() {
		diags.AddAttributeError(path.Root("pod_template_path"), "Missing manifest",
			"pod_template_path says where the pod template is in manifest: give manifest too, or leave out pod_template_path.")
	}
	if !config.Selector.IsNull() && config.Manifest.IsNull() {
		diags.Append(checkPodless(config)...)
	}
	return diags
}

// checkPodless finds what has no place where no workload is made.
func checkPodless(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, given := range []struct {
		at    string
		value attr.Value
	}{
		{"autoscale", config.Autoscale}, {"distribute", config.Distribute}, {"replicas", config.Replicas},
		{"cpus", config.CPUs}, {"memory", config.Memory}, {"disk_size", config.DiskSize},
		{"gpus", config.GPUs}, {"gpu_type", config.GPUType}, {"gpu_memory", config.GPUMemory}, {"gpu_anti_affinity", config.GPUAntiAffinity},
		{"shared_memory_limit", config.SharedMemoryLimit},
		{"node_selector", config.NodeSelector}, {"tolerations", config.Tolerations},
		{"service_account_name", config.ServiceAccountName}, {"priority_class_name", config.PriorityClassName},
		{"image", config.Image}, {"image_setup", config.ImageSetup}, {"image_pull_policy", config.ImagePullPolicy}, {"working_dir", config.WorkingDir},
		{"env_vars", config.EnvVars}, {"secrets", config.Secrets}, {"volumes", config.Volumes},
		{"queue_name", config.QueueName}, {"service_template", config.ServiceTemplate},
		{"freeze", onlyTrue(config.Freeze)}, {"suspend", onlyTrue(config.Suspend)},
	} {
		if !given.value.IsNull() {
			diags.AddAttributeError(path.Root(given.at), "Conflicting attributes",
				fmt.Sprintf("%s says how pods are run, but with selector alone the pods exist already and no workload is made: leave it out, or bring the workload in manifest.", given.at))
		}
	}
	return diags
}

// onlyTrue takes false for not given.
func onlyTrue(value types.Bool) types.Bool {
	if value.ValueBool() || value.IsUnknown() {
		return value
	}
	return types.BoolNull()
}

// checkImageSetup finds an image_setup that says too little.
func checkImageSetup(ctx context.Context, object types.Object) diag.Diagnostics {
	var setup imageSetupModel
	if object.IsNull() || object.IsUnknown() || tf.Object(ctx, object, &setup).HasError() {
		return nil
	}
	at := path.Root("image_setup")
	diags := checkRequired(at.AtName("config_map"), setup.ConfigMap, "the name of a ConfigMap with setup.sh, as kt_image.x.setup does")
	return append(diags, checkRequired(at.AtName("digest"), setup.Digest, "a digest of its content, as kt_image.x.setup does")...)
}
