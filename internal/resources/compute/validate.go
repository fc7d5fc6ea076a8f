package compute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	stdpath "path"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// ValidateConfig checks offline what concerns more than one attribute; the
// schema checks each by itself, and reports those that are left out here because
// they cannot be read. What is unknown yet is checked in the plan.
func (r *computeResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	if id, ok := configID(ctx, req.Config); ok && r.Data() != nil {
		r.Data().Configs.Store(id, req.Config.Raw)
	}
	readable := part(req.Config, func(name string, _ tftypes.Value) bool {
		var value attr.Value
		return !req.Config.GetAttribute(ctx, path.Root(name), &value).HasError()
	})
	var config model
	resp.Diagnostics.Append(readable.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(checkTolerations(ctx, config.Tolerations)...)
	resp.Diagnostics.Append(checkVariables(ctx, &config)...)
	resp.Diagnostics.Append(checkMounts(ctx, &config)...)
	resp.Diagnostics.Append(checkEndpoint(ctx, config.Endpoint)...)
	resp.Diagnostics.Append(checkImageSetup(ctx, config.ImageSetup)...)
	resp.Diagnostics.Append(checkAutoscale(ctx, config.Autoscale)...)
	resp.Diagnostics.Append(checkDistribute(ctx, &config)...)
	resp.Diagnostics.Append(checkScheduling(&config)...)
	resp.Diagnostics.Append(checkTimes(&config)...)
	conflicts := checkRuntime(ctx, &config)
	if !conflicts.HasError() {
		conflicts.Append(checkModes(ctx, &config)...)
	}
	resp.Diagnostics.Append(conflicts...)
	if !conflicts.HasError() {
		resp.Diagnostics.Append(checkRendering(ctx, readable)...)
	}
}

// checkTolerations applies Kubernetes' own rules
// (https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/).
func checkTolerations(ctx context.Context, list types.List) diag.Diagnostics {
	var diags diag.Diagnostics
	for i, t := range tf.Items[tolerationModel](ctx, list) {
		if t.Key.IsUnknown() || t.Operator.IsUnknown() || t.Value.IsUnknown() || t.Effect.IsUnknown() {
			continue
		}
		at := path.Root("tolerations").AtListIndex(i)
		exists := t.Operator.ValueString() == "Exists"
		if exists && t.Value.ValueString() != "" {
			diags.AddAttributeError(at.AtName("value"), "Invalid toleration", at.String()+" has a value, but its operator Exists tolerates every value of the taint: leave out value, or use Equal.")
		}
		if !exists && t.Key.IsNull() {
			diags.AddAttributeError(at.AtName("key"), "Invalid toleration", at.String()+" has no key, and only operator Exists goes without one, for every taint: give a key, or operator = \"Exists\".")
		}
		if !t.TolerationSeconds.IsNull() && t.Effect.ValueString() != "NoExecute" {
			diags.AddAttributeError(at.AtName("toleration_seconds"), "Invalid toleration", at.String()+" has toleration_seconds, which needs the effect NoExecute, the only one that evicts pods: give effect = \"NoExecute\", or leave out toleration_seconds.")
		}
	}
	return diags
}

// checkVariables finds secrets that say too little, and environment variables
// that are set twice.
func checkVariables(ctx context.Context, config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	setBy := map[string]string{}
	for name := range config.EnvVars.Elements() {
		setBy[name] = "env_vars"
	}
	for i, secret := range tf.Items[secretModel](ctx, config.Secrets) {
		at := path.Root("secrets").AtListIndex(i)
		diags.Append(checkRequired(at.AtName("name"), secret.Name, "the name of a Secret of the same namespace")...)
		if secret.EnvVars.IsNull() && secret.MountPath.IsNull() {
			diags.AddAttributeError(at, "Unused secret", at.String()+" is neither exposed nor mounted: give env_vars, mount_path or both.")
		}
		if isGiven(secret.DefaultMode) && secret.MountPath.IsNull() {
			mode := at.AtName("default_mode")
			diags.AddAttributeError(mode, "No files to set permissions of",
				mode.String()+" is for files, but no keys are mounted as files: give mount_path, or remove default_mode.")
		}
		for j, element := range secret.EnvVars.Elements() {
			name, ok := element.(types.String)
			if !ok || name.IsNull() || name.IsUnknown() {
				continue
			}
			if other, taken := setBy[name.ValueString()]; taken {
				item := at.AtName("env_vars").AtListIndex(j)
				diags.AddAttributeError(item, "Variable set twice",
					fmt.Sprintf("%s is %s, a variable that %s sets too: remove one of them.", item, name.ValueString(), other))
			}
			setBy[name.ValueString()] = at.String()
		}
	}
	return diags
}

// checkMounts finds volumes that say too little, and paths where two things are
// mounted.
func checkMounts(ctx context.Context, config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	mounted := map[string]string{}
	if !config.Runtime.IsUnknown() && !manifest.RunsTensorServer(config.Runtime.ValueString()) {
		mounted["/dev/shm"] = "the shared memory"
	}
	if isGiven(config.ImageSetup) {
		mounted["/etc/kubetorch/image"] = "image_setup"
	}
	mount := func(item path.Path, where types.String) {
		if where.IsNull() || where.IsUnknown() {
			return
		}
		clean := stdpath.Clean(where.ValueString())
		if other, taken := mounted[clean]; taken {
			diags.AddAttributeError(item.AtName("mount_path"), "Path mounted twice",
				fmt.Sprintf("%s.mount_path is %s, where %s is mounted: give another path.", item, clean, other))
			return
		}
		mounted[clean] = item.String()
	}
	for i, secret := range tf.Items[secretModel](ctx, config.Secrets) {
		mount(path.Root("secrets").AtListIndex(i), secret.MountPath)
	}
	for i, volume := range tf.Items[volumeModel](ctx, config.Volumes) {
		at := path.Root("volumes").AtListIndex(i)
		diags.Append(checkRequired(at.AtName("claim_name"), volume.ClaimName, "the name of a PersistentVolumeClaim of the same namespace")...)
		diags.Append(checkRequired(at.AtName("mount_path"), volume.MountPath, "an absolute path, such as /data")...)
		mount(at, volume.MountPath)
	}
	for i, template := range tf.Items[claimTemplateModel](ctx, config.VolumeClaimTemplates) {
		mount(path.Root("volume_claim_templates").AtListIndex(i), template.MountPath)
	}
	return diags
}

func checkRequired(at path.Path, value types.String, what string) diag.Diagnostics {
	if !value.IsNull() {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(at, "Missing attribute", fmt.Sprintf("%s is required: give %s.", at, what))}
}

func checkEndpoint(ctx context.Context, object types.Object) diag.Diagnostics {
	var diags diag.Diagnostics
	var endpoint endpointModel
	if object.IsNull() || object.IsUnknown() || tf.Object(ctx, object, &endpoint).HasError() {
		return diags
	}
	at := path.Root("endpoint")
	switch {
	case endpoint.URL.IsUnknown() || endpoint.Selector.IsUnknown():
	case endpoint.URL.IsNull() && endpoint.Selector.IsNull():
		diags.AddAttributeError(at, "Empty endpoint", "endpoint says nothing: give url, for a Service or Ingress that exists, or selector, for the pods that the compute's Service selects; or leave endpoint out.")
	case !endpoint.URL.IsNull() && !endpoint.Selector.IsNull():
		diags.AddAttributeError(at.AtName("url"), "Conflicting attributes", "endpoint has both url, with which no Service is made, and selector, for the Service that is made: give one of the two.")
	}
	return diags
}

func checkScheduling(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	wantsGPU := config.GPUs.ValueInt64() > 0 || (!config.GPUMemory.IsNull() && !config.GPUMemory.IsUnknown())
	if config.GPUAntiAffinity.ValueBool() && wantsGPU {
		diags.AddAttributeError(path.Root("gpu_anti_affinity"), "Conflicting attributes",
			"gpu_anti_affinity keeps the pods off GPU nodes, but gpus or gpu_memory asks for GPUs: leave out one of the two.")
	}
	if config.QueueScheduler.ValueString() == manifest.QueueSchedulerKAI && config.QueueName.IsNull() { // the other is the default
		diags.AddAttributeError(path.Root("queue_scheduler"), "Missing queue_name",
			"queue_scheduler says whose queue queue_name is: give queue_name too, or leave out queue_scheduler.")
	}
	return diags
}

// checkTimes looks at durations that are well formed but unlikely to be meant.
func checkTimes(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if ttl, ok := parsed(config.InactivityTTL); ok && ttl < time.Minute {
		diags.AddAttributeWarning(path.Root("inactivity_ttl"), "Very short inactivity_ttl",
			fmt.Sprintf("Kubetorch may delete the compute before its first call: inactivity_ttl is %s, less than a minute.", config.InactivityTTL.ValueString()))
	}
	diags.Append(checkPositive("launch_timeout", config.LaunchTimeout)...)
	diags.Append(checkPositive("wait_timeout", config.WaitTimeout)...)
	return diags
}

func checkPositive(name string, text tf.Duration) diag.Diagnostics {
	if timeout, ok := parsed(text); !ok || timeout > 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root(name), "Invalid "+name,
		fmt.Sprintf("%s is %q, but must be more than zero: on_not_ready = \"ignore\" is what does not wait.", name, text.ValueString()))}
}

func parsed(text tf.Duration) (time.Duration, bool) {
	if text.IsNull() || text.IsUnknown() {
		return 0, false
	}
	d, err := manifest.ParseDuration(text.ValueString())
	return d, err == nil
}

// checkRendering asks the renderer what else does not go together. It is given
// only what is wholly known: an attribute that is not cannot be blamed yet, nor
// can any while it is not known what runs the pods.
func checkRendering(ctx context.Context, readable tfsdk.Config) diag.Diagnostics {
	var scheduler types.String
	diags := readable.GetAttribute(ctx, path.Root("queue_scheduler"), &scheduler)
	var known model
	decided := true
	diags.Append(part(readable, func(name string, value tftypes.Value) bool {
		whole := isWhole(value)
		decided = decided && (whole || !decidesMode(name))
		// Whose queue it is decides which label its name becomes.
		return whole && (name != "queue_name" || !scheduler.IsUnknown())
	}).Get(ctx, &known)...)
	if diags.HasError() || !decided || known.Name.ValueString() == "" {
		return diags // a missing name is for the schema to report
	}
	// Nothing of the provider block is known here, nor does it matter to what
	// goes together.
	spec, diags := known.spec(ctx, tf.Defaults{LaunchTimeout: time.Minute})
	if diags.HasError() {
		return nil // what cannot be read is for the schema to report
	}
	withoutRefused(&spec)
	_, err := manifest.Render(spec)
	if err == nil {
		return nil
	}
	if found, ok := errors.AsType[manifest.Errors](err); ok {
		err = slices.DeleteFunc(found, checkedElsewhere)
	}
	return atWorkers(renderErrors(err))
}

func decidesMode(attribute string) bool {
	return slices.Contains([]string{"autoscale", "distribute", "manifest", "pod_template_path", "runtime", "selector"}, attribute)
}

// withoutRefused takes out of a spec what the schema or a check of this package
// refuses, so that the renderer does not do so again.
func withoutRefused(spec *manifest.Compute) {
	if spec.Namespace == "" {
		spec.Namespace = cmp.Or(namespaceOf(spec.Manifest), namespaceOf(spec.ServiceTemplate), "default")
	}
	if _, _, err := manifest.ParseGPUType(spec.GPUType); err != nil {
		spec.GPUType = ""
	}
	if spec.Replicas < 0 || spec.Replicas > math.MaxInt32 {
		spec.Replicas, spec.ReplicasGiven = 0, false
	}
	if d := spec.Distribute; d != nil { // checkDistribute sees the rest
		spec.Distribute = &manifest.Distribute{}
		if slices.Contains(distributeTypes(), d.Type) {
			spec.Distribute.Type = d.Type
		}
		if d.Workers > 0 && d.Workers <= math.MaxInt32 {
			spec.Distribute.Workers = d.Workers
		}
	}
}

// checkedElsewhere tells whether the schema or a check of this package reports
// all that the renderer finds wrong with an attribute, and at a better path.
func checkedElsewhere(e *manifest.AttributeError) bool {
	switch e.Attribute {
	case "name", "namespace", "gpus", "queue_scheduler", "endpoint", "secrets", "volumes", "volume_claim_templates", "image_setup", "autoscale", "runtime":
		return true
	default:
		return false
	}
}

// atWorkers puts what the renderer says of distribute at its number of workers:
// all else about it has been checked.
func atWorkers(diags diag.Diagnostics) diag.Diagnostics {
	at := path.Root("distribute").AtName("workers")
	for i, d := range diags {
		if placed, ok := d.(diag.DiagnosticWithPath); ok && placed.Path().Equal(path.Root("distribute")) {
			diags[i] = diag.NewAttributeErrorDiagnostic(at, d.Summary(), strings.Replace(d.Detail(), "distribute", at.String(), 1))
		}
	}
	return diags
}

// namespaceOf is the namespace that a manifest or template gives the workload,
// which is right where the compute's own turns out to be the same.
func namespaceOf(object map[string]any) string {
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	return namespace
}

// part is a configuration in which the attributes that are not wanted are null.
func part(config tfsdk.Config, wanted func(name string, value tftypes.Value) bool) tfsdk.Config {
	var own map[string]tftypes.Value
	if err := config.Raw.As(&own); err != nil {
		return config
	}
	attributes := maps.Clone(own) // As does not copy
	for name, value := range own {
		if !wanted(name, value) {
			attributes[name] = tftypes.NewValue(value.Type(), nil)
		}
	}
	return tfsdk.Config{Raw: tftypes.NewValue(config.Raw.Type(), attributes), Schema: config.Schema}
}

// isWhole tells whether all of a value is known, and no item of a collection is
// null, which the schema refuses.
func isWhole(value tftypes.Value) bool {
	whole := true
	err := tftypes.Walk(value, func(at *tftypes.AttributePath, v tftypes.Value) (bool, error) {
		_, attribute := at.LastStep().(tftypes.AttributeName)
		inCollection := len(at.Steps()) > 0 && !attribute
		whole = whole && v.IsKnown() && !(v.IsNull() && inCollection)
		return whole, nil
	})
	return whole && err == nil
}
