package compute

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

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
var rows = []row{
	quantityRow("cpus", withResources, func(m *model) *tf.Quantity { return &m.CPUs },
		func(c *manifest.Compute) **resource.Quantity { return &c.CPUs }),
	quantityRow("memory", withResources, func(m *model) *tf.Quantity { return &m.Memory },
		func(c *manifest.Compute) **resource.Quantity { return &c.Memory }),
	quantityRow("disk_size", withResources, func(m *model) *tf.Quantity { return &m.DiskSize },
		func(c *manifest.Compute) **resource.Quantity { return &c.DiskSize }),
	number("gpus", withResources, func(m *model) *types.Int64 { return &m.GPUs },
		func(c *manifest.Compute) *int64 { return &c.GPUs }),
	quantityMap("limits", kubetorchPods, func(m *model) *types.Map { return &m.Limits },
		func(c *manifest.Compute) *map[string]resource.Quantity { return &c.Limits }),
	quantityMap("extended_resources", withResources, func(m *model) *types.Map { return &m.ExtendedResources },
		func(c *manifest.Compute) *map[string]resource.Quantity { return &c.ExtendedResources }),
	gpuType(),
	quantityRow("gpu_memory", kubetorchPods, func(m *model) *tf.Quantity { return &m.GPUMemory },
		func(c *manifest.Compute) **resource.Quantity { return &c.GPUMemory }),
	quantityRow("shared_memory_limit", kubetorchPods, func(m *model) *tf.Quantity { return &m.SharedMemoryLimit },
		func(c *manifest.Compute) **resource.Quantity { return &c.SharedMemoryLimit }),
	replicas(),
	boolean("suspend", anyPods|kind.Unchanged, func(m *model) *types.Bool { return &m.Suspend },
		func(c *manifest.Compute) *bool { return &c.Suspend }),

	textMap("labels", anyCompute, func(m *model) *types.Map { return &m.Labels },
		func(c *manifest.Compute) *map[string]string { return &c.Labels }),
	textMap("annotations", anyCompute, func(m *model) *types.Map { return &m.Annotations },
		func(c *manifest.Compute) *map[string]string { return &c.Annotations }),
	podLabels(),
	textMap("node_selector", anyOverride, func(m *model) *types.Map { return &m.NodeSelector },
		func(c *manifest.Compute) *map[string]string { return &c.NodeSelector }).
		unobserved().omittedFrom("nodeSelector"), // follows with gpu_type
	list("tolerations", anyOverride, func(m *model) *types.List { return &m.Tolerations },
		func(c *manifest.Compute) *[]manifest.Toleration { return &c.Tolerations },
		(*converter).decodeToleration, (*converter).encodeToleration).omittedFrom("tolerations"),
	gpuAntiAffinity(),
	custom("affinity", kubetorchPods, func(m *model) *jsontypes.Normalized { return &m.Affinity },
		(*converter).decodeAffinity).followedBy((*converter).followAffinity),
	list("topology_spread_constraints", kubetorchPods, func(m *model) *types.List { return &m.TopologySpread },
		func(c *manifest.Compute) *[]manifest.TopologySpread { return &c.TopologySpread },
		(*converter).decodeTopologySpread, (*converter).encodeTopologySpread),
	text("strategy", kubetorchPods, func(m *model) *types.String { return &m.Strategy },
		func(c *manifest.Compute) *string { return &c.Strategy }),
	field("termination_grace_period", kubetorchPods,
		func(m *model) *tf.Duration { return &m.TerminationGracePeriod },
		func(c *manifest.Compute) **time.Duration { return &c.TerminationGracePeriod },
		func(c *converter, text tf.Duration) *time.Duration {
			return c.decodeDuration("termination_grace_period", text)
		},
		func(_ *converter, text *tf.Duration, before, after *time.Duration) {
			tf.SetChanged(text, before, after, optionalDuration)
		}),
	text("service_account_name", anyOverride, func(m *model) *types.String { return &m.ServiceAccountName },
		func(c *manifest.Compute) *string { return &c.ServiceAccountName }).omittedFrom("serviceAccountName"),
	text("priority_class_name", kubetorchPods, func(m *model) *types.String { return &m.PriorityClassName },
		func(c *manifest.Compute) *string { return &c.PriorityClassName }),
	text("queue_name", kubetorchPods, func(m *model) *types.String { return &m.QueueName },
		func(c *manifest.Compute) *string { return &c.QueueName }),
	queueScheduler(),

	text("image", anyPods, func(m *model) *types.String { return &m.Image },
		func(c *manifest.Compute) *string { return &c.Image }),
	text("image_pull_policy", kubetorchPods, func(m *model) *types.String { return &m.ImagePullPolicy },
		func(c *manifest.Compute) *string { return &c.ImagePullPolicy }),
	textList("image_pull_secrets", anyOverride, func(m *model) *types.List { return &m.ImagePullSecrets },
		func(c *manifest.Compute) *[]string { return &c.ImagePullSecrets }).omittedFrom("imagePullSecrets"),
	imageRef(),
	text("working_dir", kubetorchPods, func(m *model) *types.String { return &m.WorkingDir },
		func(c *manifest.Compute) *string { return &c.WorkingDir }),
	textList("command", anyPods, func(m *model) *types.List { return &m.Command },
		func(c *manifest.Compute) *[]string { return &c.Command }),
	textList("args", anyPods, func(m *model) *types.List { return &m.Args },
		func(c *manifest.Compute) *[]string { return &c.Args }),
	number("port", kubetorchPods, func(m *model) *types.Int64 { return &m.Port },
		func(c *manifest.Compute) *int64 { return &c.Port }),
	text("health_path", kubetorchPods, func(m *model) *types.String { return &m.HealthPath },
		func(c *manifest.Compute) *string { return &c.HealthPath }),
	textMap("env_vars", anyPods, func(m *model) *types.Map { return &m.EnvVars },
		func(c *manifest.Compute) *map[string]string { return &c.EnvVars }),
	list("secrets", anyOverride, func(m *model) *types.List { return &m.Secrets },
		func(c *manifest.Compute) *[]manifest.SecretRef { return &c.Secrets },
		(*converter).decodeSecret, (*converter).encodeSecret),
	list("volumes", anyOverride, func(m *model) *types.List { return &m.Volumes },
		func(c *manifest.Compute) *[]manifest.VolumeRef { return &c.Volumes },
		(*converter).decodeVolume, (*converter).encodeVolume),
	list("volume_claim_templates", kind.SkyTorch, func(m *model) *types.List { return &m.VolumeClaimTemplates },
		func(c *manifest.Compute) *[]manifest.VolumeClaimTemplate { return &c.VolumeClaimTemplates },
		(*converter).decodeClaimTemplate, (*converter).encodeClaimTemplate),

	field("autoscale", kubetorchPods, func(m *model) *types.Object { return &m.Autoscale },
		func(c *manifest.Compute) **manifest.Autoscale { return &c.Autoscale },
		(*converter).decodeAutoscale, (*converter).followAutoscale),
	field("distribute", kubetorchPods, func(m *model) *types.Object { return &m.Distribute },
		func(c *manifest.Compute) **manifest.Distribute { return &c.Distribute },
		(*converter).decodeDistribute, (*converter).followDistribute),
	custom("manifest", kubetorchPods|kind.Unchanged, func(m *model) *tf.Document { return &m.Manifest },
		func(c *converter, m *model, out *manifest.Compute) { out.Manifest = c.decodeManifest(m.Manifest) }),
	boolean("manifest_only", kubetorchPods|kind.Unchanged, func(m *model) *types.Bool { return &m.ManifestOnly },
		func(c *manifest.Compute) *bool { return &c.ManifestOnly }).unobserved(),
	custom("pod_template_path", kubetorchPods|kind.Unchanged,
		func(m *model) *types.String { return &m.PodTemplatePath },
		func(_ *converter, m *model, out *manifest.Compute) {
			out.PodTemplatePath = decodeFieldPath(m.PodTemplatePath)
		}),
	textMap("selector", registered, func(m *model) *types.Map { return &m.Selector },
		func(c *manifest.Compute) *map[string]string { return &c.Selector }).unobserved(), // followed with the Service
	field("endpoint", registered, func(m *model) *types.Object { return &m.Endpoint },
		func(c *manifest.Compute) **manifest.Endpoint { return &c.Endpoint },
		(*converter).decodeEndpoint, nil).unobserved(), // followed with the Service
	field("pod_disruption_budget", kubetorchPods, func(m *model) *types.Object { return &m.PodDisruptionBudget },
		func(c *manifest.Compute) **manifest.DisruptionBudget { return &c.DisruptionBudget },
		(*converter).decodeDisruptionBudget, nil).unobserved(), // followed with the PodDisruptionBudget
	field("expose", registered, func(m *model) *types.Object { return &m.Expose },
		func(c *manifest.Compute) **manifest.Expose { return &c.Expose },
		(*converter).decodeExpose, nil).unobserved(), // followed with the Ingress or the route
	custom("service_template", anyPods, func(m *model) *jsontypes.Normalized { return &m.ServiceTemplate },
		func(c *converter, m *model, out *manifest.Compute) {
			out.ServiceTemplate = c.decodeTemplate(m.ServiceTemplate.StringValue)
		}),

	load(),
	boolean("freeze", kubetorchPods, func(m *model) *types.Bool { return &m.Freeze },
		func(c *manifest.Compute) *bool { return &c.Freeze }),
	scalar("inactivity_ttl", registered, func(m *model) *tf.Duration { return &m.InactivityTTL },
		func(c *manifest.Compute) *string { return &c.InactivityTTL }, tf.Duration.ValueString, tf.DurationOf),
	launchTimeout(),
	text("kubetorch_version", registered, func(m *model) *types.String { return &m.KubetorchVersion },
		func(c *manifest.Compute) *string { return &c.KubetorchVersion }).unobserved(), // see versionsOf
	custom("renderer_revision", registered, func(m *model) *types.Int64 { return &m.RendererRevision },
		func(*converter, *model, *manifest.Compute) {}), // see versionsOf
	logging(),
	textList("allowed_serialization", registered, func(m *model) *types.List { return &m.AllowedSerialization },
		func(c *manifest.Compute) *[]string { return &c.AllowedSerialization }),
}

// podLabels ignores a label of a pod that differs from the workload because that of the workload has changed.
func podLabels() row {
	return textMap("pod_labels", kubetorchPods, func(m *model) *types.Map { return &m.PodLabels },
		func(c *manifest.Compute) *map[string]string { return &c.PodLabels },
	).followedBy(func(_ *converter, m *model, before, after *manifest.Compute) {
		tf.SetChangedEntries(&m.PodLabels, before.PodLabels, manifest.Without(after.PodLabels, before.Labels))
	})
}

func replicas() row {
	return custom("replicas", anyPods|kind.Unchanged, func(m *model) *types.Int64 { return &m.Replicas },
		func(_ *converter, m *model, out *manifest.Compute) {
			out.Replicas, out.ReplicasGiven = m.Replicas.ValueInt64(), isKnown(m.Replicas)
		},
	).followedBy(func(_ *converter, m *model, before, after *manifest.Compute) {
		if before.Replicas != after.Replicas { // scaling resumes a suspended workload
			m.Replicas, m.Suspend = types.Int64Value(after.Replicas), types.BoolValue(false)
		}
	})
}

func gpuType() row {
	return custom("gpu_type", anyOverride, func(m *model) *types.String { return &m.GPUType },
		func(c *converter, m *model, out *manifest.Compute) {
			if !m.GPUType.IsNull() {
				var err error
				out.GPUType, err = manifest.ParseGPUType(m.GPUType.ValueString(), out.GPUProductLabel)
				c.invalid("gpu_type", err)
			}
		},
	).followedBy(followNodeLabels).omittedFrom("nodeSelector")
}

// gpuAntiAffinity overrides the default of the provider.
func gpuAntiAffinity() row {
	r := custom("gpu_anti_affinity", anyOverride, func(m *model) *types.Bool { return &m.GPUAntiAffinity },
		func(_ *converter, m *model, out *manifest.Compute) {
			if !m.GPUAntiAffinity.IsNull() {
				out.GPUAntiAffinity = m.GPUAntiAffinity.ValueBool()
			}
		},
	).followedBy(func(_ *converter, m *model, before, after *manifest.Compute) {
		unset := m.GPUAntiAffinity.IsNull() && !after.GPUAntiAffinity
		if before.GPUAntiAffinity != after.GPUAntiAffinity && !unset {
			m.GPUAntiAffinity = types.BoolValue(after.GPUAntiAffinity)
		}
	})
	r.unset = types.BoolValue(false)
	return r
}

func queueScheduler() row {
	r := text("queue_scheduler", kubetorchPods, func(m *model) *types.String { return &m.QueueScheduler },
		func(c *manifest.Compute) *string { return &c.QueueScheduler })
	r.unset = types.StringValue(kind.QueueSchedulerKueue) // the default of every compute
	follow := r.follow
	return r.followedBy(func(c *converter, m *model, before, after *manifest.Compute) {
		if after.QueueScheduler != "" { // known only with a queue
			follow(c, m, before, after)
		}
	})
}

// imageRef contains the setup of the image, and sets image.
func imageRef() row {
	return custom("image_ref", kubetorchPods, func(m *model) *types.Object { return &m.ImageRef },
		func(c *converter, m *model, out *manifest.Compute) {
			if !m.ImageRef.IsNull() {
				ref := decodeObject[imageRefModel](c, m.ImageRef)
				out.Image, out.ImageSetup = ref.Image.ValueString(), c.decodeImageSetup(ref.Setup)
			}
		},
	).followedBy(func(c *converter, m *model, before, after *manifest.Compute) {
		setup, was := decodeObject[imageRefModel](c, m.ImageRef).Setup, before.ImageSetup
		if m.ImageRef.IsNull() {
			if _, added := observedChange(was, after.ImageSetup); !added {
				return
			}
			of, _ := m.ImageRef.AttributeTypes(c.ctx)["setup"].(types.ObjectType)
			setup, was = types.ObjectNull(of.AttrTypes), nil
		}
		c.followImageSetup(&setup, was, after.ImageSetup)
		c.setObject(&m.ImageRef, imageRefModel{m.Image, setup})
	})
}

// launchTimeout overrides the default of the provider.
func launchTimeout() row {
	return custom("launch_timeout", anyCompute, func(m *model) *tf.Duration { return &m.LaunchTimeout },
		func(c *converter, m *model, out *manifest.Compute) {
			if timeout := c.decodeDuration("launch_timeout", m.LaunchTimeout); timeout != nil {
				out.LaunchTimeout = *timeout
			}
		},
	).followedBy(func(_ *converter, m *model, before, after *manifest.Compute) {
		if before.LaunchTimeout != after.LaunchTimeout && after.LaunchTimeout > 0 {
			m.LaunchTimeout = encodeDuration(after.LaunchTimeout)
		}
	})
}

func logging() row {
	return custom("logging_config", registered, func(m *model) *types.Object { return &m.Logging },
		func(c *converter, m *model, out *manifest.Compute) {
			out.LogLevel, out.Logging = c.decodeLogging(m.Logging)
		},
	).followedBy(func(c *converter, m *model, before, after *manifest.Compute) {
		m.followLogLevel(c, before.LogLevel, after.LogLevel)
	})
}
