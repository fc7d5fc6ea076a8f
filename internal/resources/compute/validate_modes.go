package compute

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// checkModes finds attributes that ask for different ways to run a compute.
// What is not known yet may turn out not to be given, and is no conflict.
func checkModes(ctx context.Context, config *model) diag.Diagnostics {
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
		same := pair.at == "replicas" && config.Replicas.Equal(config.Distribute.Attributes()["workers"])
		if isGiven(pair.value) && isGiven(pair.beside) && !same {
			diags.AddAttributeError(path.Root(pair.at), "Conflicting attributes",
				fmt.Sprintf("%s stands beside %s, but %s: leave out one of the two.", pair.at, pair.other, pair.why))
		}
	}
	if !diags.HasError() && isFilled(config.Selector) && config.Manifest.IsNull() {
		diags.Append(checkPodless(config)...)
	}
	diags.Append(checkPodTemplatePath(config)...)
	return append(diags, checkKind(ctx, config)...)
}

func isGiven(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// isFilled tells whether a value is given and is more than an empty collection
// or false.
func isFilled(value attr.Value) bool {
	switch value := value.(type) {
	case types.Bool:
		return value.ValueBool()
	case interface{ Elements() map[string]attr.Value }:
		return len(value.Elements()) > 0
	case interface{ Elements() []attr.Value }:
		return len(value.Elements()) > 0
	default:
		return isGiven(value)
	}
}

// checkPodless finds what has no place where no workload is made.
func checkPodless(config *model) diag.Diagnostics {
	return refuseGiven([]given{
		{"autoscale", config.Autoscale}, {"distribute", config.Distribute}, {"replicas", config.Replicas},
		{"cpus", config.CPUs}, {"memory", config.Memory}, {"disk_size", config.DiskSize},
		{"gpus", types.BoolValue(config.GPUs.ValueInt64() > 0)},
		{"gpu_type", config.GPUType}, {"gpu_memory", config.GPUMemory}, {"gpu_anti_affinity", config.GPUAntiAffinity},
		{"shared_memory_limit", config.SharedMemoryLimit},
		{"node_selector", config.NodeSelector}, {"tolerations", config.Tolerations},
		{"service_account_name", config.ServiceAccountName}, {"priority_class_name", config.PriorityClassName},
		{"image", config.Image}, {"image_setup", config.ImageSetup}, {"image_pull_policy", config.ImagePullPolicy}, {"working_dir", config.WorkingDir},
		{"env_vars", config.EnvVars}, {"secrets", config.Secrets}, {"volumes", config.Volumes},
		{"queue_name", config.QueueName}, {"service_template", config.ServiceTemplate},
		{"freeze", config.Freeze}, {"suspend", config.Suspend},
	}, "%s says how pods are run, but with selector alone the pods exist already and no workload is made: leave it out, or bring the workload in manifest.")
}

// checkPodTemplatePath finds a path to no pod template. Of the kinds that the
// provider knows, the renderer knows where it is.
func checkPodTemplatePath(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	at := path.Root("pod_template_path")
	if !isGiven(config.PodTemplatePath) || config.Manifest.IsUnknown() {
		return diags
	}
	if config.Manifest.IsNull() {
		diags.AddAttributeError(at, "Missing manifest",
			"pod_template_path says where the pod template is in manifest: give manifest too, or leave out pod_template_path.")
		return diags
	}
	workload, err := manifest.ParseDocument(config.Manifest.ValueString())
	steps := fieldPath(config.PodTemplatePath)
	if err != nil || isKnownKind(workload) || slices.Contains(steps, "") { // the last is for the schema to report
		return diags
	}
	if missing, found := followTo(workload, steps); !found {
		diags.AddAttributeError(at, "Invalid pod_template_path",
			fmt.Sprintf("pod_template_path is %s, but manifest has no object at %s: give the path of its pod template, as in spec.template.", config.PodTemplatePath.ValueString(), missing))
	}
	return diags
}

func isKnownKind(workload map[string]any) bool {
	apiVersion, _ := workload["apiVersion"].(string)
	name, _ := workload["kind"].(string)
	return kind.WorkloadOf(schema.FromAPIVersionAndKind(apiVersion, name).GroupKind()).Mode != ""
}

// followTo tells whether there is an object at a path of names and, in lists,
// of indexes; if not, up to where there is none.
func followTo(value any, steps []string) (missing string, found bool) {
	for i, step := range steps {
		var next any
		switch in := value.(type) {
		case map[string]any:
			next = in[step]
		case []any:
			if index, err := strconv.Atoi(step); err == nil && index >= 0 && index < len(in) {
				next = in[index]
			}
		}
		if next == nil {
			return strings.Join(steps[:i+1], "."), false
		}
		value = next
	}
	_, found = value.(map[string]any)
	return strings.Join(steps, "."), found
}

// checkKind finds what does not go with the kind of workload.
func checkKind(ctx context.Context, config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	var endpoint endpointModel
	mode := config.mode(ctx).ValueString()
	of := kind.OfMode(mode)
	if isGiven(config.Endpoint) && !tf.Object(ctx, config.Endpoint, &endpoint).HasError() && of.Autoscales && isFilled(endpoint.Selector) {
		diags.AddAttributeError(path.Root("endpoint").AtName("selector"), "Conflicting attributes",
			"endpoint.selector asks for a Service that selects pods, but Knative makes the Service of this compute itself: give endpoint.url, or leave out endpoint.")
	}
	if name := config.Name.ValueString(); of.Server != nil && len(name) > longestTensorServerName && len(name) <= longestName {
		diags.AddAttributeError(path.Root("name"), "Invalid name",
			fmt.Sprintf("name has %d characters, but the pod of a tensor server gets a label with it, a dash and a hash, and no value of a label is longer than %d: give a name of at most %d.",
				len(name), longestName, longestTensorServerName))
	}
	way, ok := config.Distribute.Attributes()["type"].(types.String)
	if !ok || way.IsUnknown() || mode == "" {
		return diags
	}
	at := path.Root("distribute").AtName("type")
	ray := way.ValueString() == kind.DistributionRay
	switch {
	case ray && of.Distribution != kind.DistributionRay && isGiven(config.Manifest):
		diags.AddAttributeError(at, "Conflicting attributes",
			fmt.Sprintf("distribute.type is %q, but manifest is of mode %s: bring a RayCluster, or give another type.", kind.DistributionRay, mode))
	case !ray && of.Autoscales && isGiven(config.Manifest):
		diags.AddAttributeError(path.Root("distribute"), "Conflicting attributes",
			"distribute needs a fixed number of workers, but Knative, whose Service manifest is, decides how many pods run: leave out one of the two.")
	}
	longest := longestName - len(kind.HeadlessName(""))
	if name := config.Name.ValueString(); !ray && len(name) > longest && len(name) <= longestName {
		diags.AddAttributeError(path.Root("name"), "Invalid name",
			fmt.Sprintf("name has %d characters, but a distributed compute also has a Service %s, and no name of a Service is longer than %d: give a name of at most %d.",
				len(name), kind.HeadlessName("<name>"), longestName, longest))
	}
	return diags
}

const (
	// longestName is how many characters the name of a Service can have, and the
	// value of a label.
	longestName = 63
	// longestTensorServerName leaves room for what a StatefulSet adds.
	longestTensorServerName = longestName - len("-0123456789")
)

// checkImageSetup finds an image_setup that says too little.
func checkImageSetup(ctx context.Context, object types.Object) diag.Diagnostics {
	var setup imageSetupModel
	if !isGiven(object) || tf.Object(ctx, object, &setup).HasError() {
		return nil
	}
	at := path.Root("image_setup")
	diags := checkRequired(at.AtName("config_map"), setup.ConfigMap, "the name of a ConfigMap with setup.sh, as kt_image.x.setup does")
	return append(diags, checkRequired(at.AtName("digest"), setup.Digest, "a digest of its content, as kt_image.x.setup does")...)
}
