package compute

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// What supports an attribute.
const (
	anyCompute = anyPods | kind.Existing
	anyPods    = kind.Kubetorch | tensorServers
	// tensorServers are the Computes of all operators.
	tensorServers = kind.SkyTorch | kind.SkyTorch010 | kind.KPU
	// withResources are the pods with configurable resources: the Compute of KPU has no field for them.
	withResources = anyPods &^ kind.KPU
	// anyOverride supports attributes that a Compute has only in its override.
	anyOverride = kind.Kubetorch | kind.SkyTorch
	// kubetorchPods support attributes of Kubetorch's server or its workloads.
	kubetorchPods = kind.Kubetorch
	// registered supports attributes for the clients of Kubetorch.
	registered = kind.Kubetorch | kind.Existing
)

// rows are the attributes that determine the objects of a compute. The order matters, since follow of a row may use
// the values of earlier ones: env_vars is before logging_config, replicas before suspend, and image before image_ref.
//
//nolint:gochecknoglobals // a constant table that every plan uses
var rows = complete([]row{
	{name: "cpus", runners: withResources},
	{name: "memory", runners: withResources},
	{name: "disk_size", runners: withResources},
	{name: "gpus", runners: withResources},
	{name: "limits", runners: kubetorchPods},
	{name: "extended_resources", runners: withResources},
	{name: "gpu_type", runners: anyOverride, override: "nodeSelector", decode: decodeGPUType, follow: followNodeLabels},
	{name: "gpu_memory", runners: kubetorchPods},
	{name: "shared_memory_limit", runners: kubetorchPods},
	{name: "replicas", runners: anyPods | kind.Unchanged, zero: true, decode: decodeReplicas, follow: followReplicas},
	{name: "suspend", runners: anyPods | kind.Unchanged},

	{name: "labels", runners: anyCompute},
	{name: "annotations", runners: anyCompute},
	{name: "pod_labels", runners: kubetorchPods, follow: followPodLabels},
	{name: "node_selector", runners: anyOverride, override: "nodeSelector", unobserved: true}, // follows with gpu_type
	{name: "tolerations", runners: anyOverride, override: "tolerations"},
	{name: "gpu_anti_affinity", runners: anyOverride, follow: followGPUAntiAffinity},
	{name: "affinity", runners: kubetorchPods},
	{name: "topology_spread_constraints", runners: kubetorchPods},
	{name: "strategy", runners: kubetorchPods},
	{name: "max_surge", runners: kubetorchPods},
	{name: "max_unavailable", runners: kubetorchPods},
	{name: "termination_grace_period", runners: kubetorchPods},
	{name: "service_account_name", runners: anyOverride, override: "serviceAccountName"},
	{name: "priority_class_name", runners: kubetorchPods},
	{name: "runtime_class_name", runners: kubetorchPods},
	{name: "security_context", runners: kubetorchPods},
	{name: "host_network", runners: kubetorchPods},
	{name: "restart_triggers", runners: kubetorchPods, unobserved: true}, // pods contain only a digest
	{name: "queue_name", runners: kubetorchPods},
	{name: "queue_scheduler", runners: kubetorchPods, unseenZero: true, // it is known only with a queue
		unset: types.StringValue(kind.QueueSchedulerKueue)}, // the default of every compute

	{name: "image", runners: anyPods},
	{name: "image_pull_policy", runners: kubetorchPods},
	{name: "image_pull_secrets", runners: anyOverride, override: "imagePullSecrets"},
	{name: "image_ref", runners: kubetorchPods, decode: decodeImageRef, follow: followImageRef},
	{name: "working_dir", runners: kubetorchPods},
	{name: "command", runners: anyPods},
	{name: "args", runners: anyPods},
	{name: "port", runners: kubetorchPods},
	{name: "ports", runners: registered, follow: followPorts},
	{name: "service", runners: registered},
	{name: "probes", runners: kubetorchPods, follow: followProbes},
	{name: "health_path", runners: kubetorchPods, follow: followHealthPath},
	{name: "pre_stop", runners: kubetorchPods},
	{name: "env_vars", runners: anyPods},
	{name: "secrets", runners: anyOverride},
	{name: "config_maps", runners: kubetorchPods},
	{name: "env_from", runners: kubetorchPods},
	{name: "volumes", runners: anyOverride},
	{name: "init_containers", runners: kubetorchPods},
	{name: "sidecars", runners: kubetorchPods},
	{name: "volume_claim_templates", runners: kind.SkyTorch},

	{name: "autoscale", runners: kubetorchPods, unseenZero: true}, // only in Knative Services and autoscalers
	{name: "distribute", runners: kubetorchPods, follow: followDistribute},
	{name: "job", runners: kubetorchPods, follow: followJob},
	{name: "manifest", runners: kubetorchPods | kind.Unchanged, unobserved: true,
		decode: func(c *converter, m *model, out *manifest.Compute) { out.Manifest = c.decodeManifest(m.Manifest) }},
	{name: "manifest_only", runners: kubetorchPods | kind.Unchanged, unobserved: true},
	{name: "pod_template_path", runners: kubetorchPods | kind.Unchanged, unobserved: true,
		decode: func(_ *converter, m *model, out *manifest.Compute) {
			out.PodTemplatePath = decodeFieldPath(m.PodTemplatePath)
		}},
	{name: "selector", runners: registered, unobserved: true}, // follows with endpoint
	{name: "endpoint", runners: registered, follow: followEndpoint},
	{name: "pod_disruption_budget", runners: kubetorchPods},
	{name: "expose", runners: registered},
	{name: "service_template", runners: anyPods, unobserved: true},

	{name: "load", runners: kubetorchPods, unobserved: true}, // an import has its environment in env_vars
	{name: "freeze", runners: kubetorchPods},
	{name: "inactivity_ttl", runners: registered},
	{name: "launch_timeout", runners: anyCompute, unseenZero: true},
	{name: "kubetorch_version", runners: registered, unobserved: true}, // see versionsOf
	{name: "renderer_revision", runners: registered, unobserved: true,
		decode: func(*converter, *model, *manifest.Compute) {}}, // see versionsOf
	{name: "logging_config", runners: registered, decode: decodeLogging, follow: followLogLevel},
	{name: "allowed_serialization", runners: registered},
})

// followPodLabels ignores a label of a pod that differs from the workload because that of the workload has changed.
func followPodLabels(_ *converter, m *model, before, after *manifest.Compute) {
	tf.SetChangedEntries(&m.PodLabels, before.PodLabels, manifest.Without(after.PodLabels, before.Labels))
}

func decodeReplicas(_ *converter, m *model, out *manifest.Compute) {
	out.Replicas, out.ReplicasGiven = m.Replicas.ValueInt64(), isKnown(m.Replicas)
}

func followReplicas(_ *converter, m *model, before, after *manifest.Compute) {
	switch {
	case before.Replicas == after.Replicas:
	case m.scalesWorkload(): // only a suspension by kt_suspend is followed
		m.Suspend = types.BoolValue(after.Replicas == 0)
	default: // scaling resumes a suspended workload
		m.Replicas, m.Suspend = types.Int64Value(after.Replicas), types.BoolValue(false)
	}
}

func decodeGPUType(c *converter, m *model, out *manifest.Compute) {
	if !m.GPUType.IsNull() {
		var err error
		out.GPUType, err = manifest.ParseGPUType(m.GPUType.ValueString(), out.GPUProductLabel)
		c.invalid("gpu_type", err)
	}
}

// followGPUAntiAffinity overrides the default of the provider.
func followGPUAntiAffinity(_ *converter, m *model, before, after *manifest.Compute) {
	unset := m.GPUAntiAffinity.IsNull() && !after.GPUAntiAffinity
	if before.GPUAntiAffinity != after.GPUAntiAffinity && !unset {
		m.GPUAntiAffinity = types.BoolValue(after.GPUAntiAffinity)
	}
}

// decodeImageRef sets the setup of the image, and the image.
func decodeImageRef(c *converter, m *model, out *manifest.Compute) {
	if !m.ImageRef.IsNull() {
		out.Image = memberOf[types.String](m.ImageRef, "image").ValueString()
		c.Decode(path.Root("image_ref").AtName("setup"), memberOf[types.Object](m.ImageRef, "setup"), &out.ImageSetup)
	}
}

func followImageRef(c *converter, m *model, before, after *manifest.Compute) {
	setup, was := memberOf[types.Object](m.ImageRef, "setup"), before.ImageSetup
	if m.ImageRef.IsNull() {
		if after.ImageSetup == nil || reflect.DeepEqual(was, after.ImageSetup) {
			return
		}
		of, _ := m.ImageRef.AttributeTypes(c.Context)["setup"].(types.ObjectType)
		setup, was = types.ObjectNull(of.AttrTypes), nil
	}
	setup = tf.Follow(&c.Converter, setup, was, after.ImageSetup)
	m.ImageRef = tf.With(c.Context, tf.With(c.Context, m.ImageRef, "image", m.Image), "setup", setup)
}

func decodeLogging(c *converter, m *model, out *manifest.Compute) {
	out.LogLevel = memberOf[types.String](m.Logging, "level").ValueString()
	c.Decode(path.Root("logging_config"), m.Logging, &out.Logging)
}

// followPorts keeps app_protocol of the ports of a container that have changed: only the Service has it.
func followPorts(c *converter, m *model, before, after *manifest.Compute) {
	if reflect.DeepEqual(before.Ports, after.Ports) {
		return
	}
	var given []manifest.Port
	c.Decode(path.Root("ports"), m.Ports, &given)
	protocols := map[string]string{}
	for _, port := range given {
		protocols[port.Name] = port.AppProtocol
	}
	for _, port := range before.Ports {
		if port.AppProtocol != "" { // a Service has been observed
			delete(protocols, port.Name)
		}
	}
	seen := slices.Clone(after.Ports)
	for i, port := range seen {
		seen[i].AppProtocol = cmp.Or(port.AppProtocol, protocols[port.Name])
	}
	m.Ports = tf.Encode(&c.Converter, m.Ports, seen)
}

// followProbes does not set probes of a server that health_path or the default describe. An import sets them first; see
// [model.adopt].
func followProbes(c *converter, m *model, before, after *manifest.Compute) {
	if !m.Probes.IsNull() {
		m.Probes = tf.Follow(&c.Converter, m.Probes, before.Probes, after.Probes)
	}
}

// followHealthPath ignores the path of probes, which replace those of health_path.
func followHealthPath(c *converter, m *model, before, after *manifest.Compute) {
	if m.Probes.IsNull() {
		m.HealthPath = tf.Follow(&c.Converter, m.HealthPath, before.HealthPath, after.HealthPath)
	}
}

// spec converts a model without unknown values into the input of the renderer.
func (m *model) spec(c *converter, defaults tf.Defaults) (manifest.Compute, diag.Diagnostics) {
	out := manifest.Compute{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Runtime: m.Runtime.ValueString(),
		Username: defaults.Username, InstallNamespace: defaults.InstallNamespace,
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
		LaunchTimeout: defaults.LaunchTimeout, GPUAntiAffinity: defaults.GPUAntiAffinity,
		GPUProductLabel: defaults.GPUTypeLabel,
	}
	for _, r := range rows {
		r.decode(c, m, &out)
		if r.isSet(m) {
			out.Settings = append(out.Settings, manifest.Setting{Attribute: r.name, Runners: r.runners})
		}
	}
	return out, c.Diags
}

// renderErrors returns each error of the renderer as a diagnostic of its attribute.
func renderErrors(err error) diag.Diagnostics {
	return tf.AttributeErrors("The objects of this compute cannot be rendered", err)
}
