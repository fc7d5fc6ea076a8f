package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// What supports an attribute.
const (
	// anyCompute supports what concerns the compute as a whole.
	anyCompute = anyPods | manifest.Existing
	// anyPods support what every pod template has.
	anyPods = manifest.Kubetorch | tensorServers
	// tensorServers are all Computes of operators.
	tensorServers = manifest.SkyTorch | manifest.SkyTorch010 | manifest.KPU
	// anyOverride supports what a Compute has only in its override.
	anyOverride = manifest.Kubetorch | manifest.SkyTorch
	// kubetorchPods support what only Kubetorch's server or its workloads have.
	kubetorchPods = manifest.Kubetorch
	// registered supports what Kubetorch's clients read.
	registered = manifest.Kubetorch | manifest.Existing
)

// rows are the attributes that decide the objects of a compute. A value that an earlier row has followed may
// decide what a later one shows: env_vars stands above logging, replicas above suspend, and image and image_setup above
// image_ref.
//
//nolint:gochecknoglobals // built once, since every plan uses it; nothing writes to it
var rows = []row{
	size("cpus", anyPods, func(m *model) *tf.Quantity { return &m.CPUs },
		func(c *manifest.Compute) **resource.Quantity { return &c.CPUs }),
	size("memory", anyPods, func(m *model) *tf.Quantity { return &m.Memory },
		func(c *manifest.Compute) **resource.Quantity { return &c.Memory }),
	size("disk_size", anyPods, func(m *model) *tf.Quantity { return &m.DiskSize },
		func(c *manifest.Compute) **resource.Quantity { return &c.DiskSize }),
	number("gpus", anyPods, func(m *model) *types.Int64 { return &m.GPUs },
		func(c *manifest.Compute) *int64 { return &c.GPUs }),
	text("gpu_type", anyOverride, func(m *model) *types.String { return &m.GPUType },
		func(c *manifest.Compute) *string { return &c.GPUType }).observed(followNodes).omitted("nodeSelector"),
	size("gpu_memory", kubetorchPods, func(m *model) *tf.Quantity { return &m.GPUMemory },
		func(c *manifest.Compute) **resource.Quantity { return &c.GPUMemory }),
	size("shared_memory_limit", kubetorchPods, func(m *model) *tf.Quantity { return &m.SharedMemoryLimit },
		func(c *manifest.Compute) **resource.Quantity { return &c.SharedMemoryLimit }),
	replicas(),
	boolean("suspend", anyPods, func(m *model) *types.Bool { return &m.Suspend },
		func(c *manifest.Compute) *bool { return &c.Suspend }),

	pairs("labels", anyCompute, func(m *model) *types.Map { return &m.Labels },
		func(c *manifest.Compute) *map[string]string { return &c.Labels }),
	pairs("annotations", anyCompute, func(m *model) *types.Map { return &m.Annotations },
		func(c *manifest.Compute) *map[string]string { return &c.Annotations }),
	pairs("node_selector", anyOverride, func(m *model) *types.Map { return &m.NodeSelector },
		func(c *manifest.Compute) *map[string]string { return &c.NodeSelector }).
		unobserved().omitted("nodeSelector"), // follows with gpu_type
	list("tolerations", anyOverride, func(m *model) *types.List { return &m.Tolerations },
		func(c *manifest.Compute) *[]manifest.Toleration { return &c.Tolerations },
		(*decoder).toleration, (*follower).toleration).omitted("tolerations"),
	gpuAntiAffinity(),
	text("service_account_name", anyOverride, func(m *model) *types.String { return &m.ServiceAccountName },
		func(c *manifest.Compute) *string { return &c.ServiceAccountName }).omitted("serviceAccountName"),
	text("priority_class_name", kubetorchPods, func(m *model) *types.String { return &m.PriorityClassName },
		func(c *manifest.Compute) *string { return &c.PriorityClassName }),
	text("queue_name", kubetorchPods, func(m *model) *types.String { return &m.QueueName },
		func(c *manifest.Compute) *string { return &c.QueueName }),
	queueScheduler(),

	text("image", anyPods, func(m *model) *types.String { return &m.Image },
		func(c *manifest.Compute) *string { return &c.Image }),
	text("image_pull_policy", kubetorchPods, func(m *model) *types.String { return &m.ImagePullPolicy },
		func(c *manifest.Compute) *string { return &c.ImagePullPolicy }),
	words("image_pull_secrets", anyOverride, func(m *model) *types.List { return &m.ImagePullSecrets },
		func(c *manifest.Compute) *[]string { return &c.ImagePullSecrets }).omitted("imagePullSecrets"),
	nested("image_setup", kubetorchPods, func(m *model) *types.Object { return &m.ImageSetup },
		func(c *manifest.Compute) **manifest.ImageSetup { return &c.ImageSetup },
		(*decoder).imageSetup, (*model).followImageSetup),
	imageRef(),
	text("working_dir", kubetorchPods, func(m *model) *types.String { return &m.WorkingDir },
		func(c *manifest.Compute) *string { return &c.WorkingDir }),
	words("command", tensorServers, func(m *model) *types.List { return &m.Command },
		func(c *manifest.Compute) *[]string { return &c.Command }),
	words("args", tensorServers, func(m *model) *types.List { return &m.Args },
		func(c *manifest.Compute) *[]string { return &c.Args }),
	pairs("env_vars", anyPods, func(m *model) *types.Map { return &m.EnvVars },
		func(c *manifest.Compute) *map[string]string { return &c.EnvVars }),
	list("secrets", anyOverride, func(m *model) *types.List { return &m.Secrets },
		func(c *manifest.Compute) *[]manifest.SecretRef { return &c.Secrets },
		(*decoder).secret, (*follower).secret),
	list("volumes", anyOverride, func(m *model) *types.List { return &m.Volumes },
		func(c *manifest.Compute) *[]manifest.VolumeRef { return &c.Volumes },
		(*decoder).volume, (*follower).volume),
	list("volume_claim_templates", manifest.SkyTorch, func(m *model) *types.List { return &m.VolumeClaimTemplates },
		func(c *manifest.Compute) *[]manifest.VolumeClaimTemplate { return &c.VolumeClaimTemplates },
		(*decoder).claimTemplate, (*follower).claimTemplate),

	nested("autoscale", kubetorchPods, func(m *model) *types.Object { return &m.Autoscale },
		func(c *manifest.Compute) **manifest.Autoscale { return &c.Autoscale },
		(*decoder).autoscale, (*model).followAutoscale),
	nested("distribute", kubetorchPods, func(m *model) *types.Object { return &m.Distribute },
		func(c *manifest.Compute) **manifest.Distribute { return &c.Distribute },
		(*decoder).distribute, (*model).followDistribute),
	workloadManifest(),
	podTemplatePath(),
	pairs("selector", registered, func(m *model) *types.Map { return &m.Selector },
		func(c *manifest.Compute) *map[string]string { return &c.Selector }).unobserved(), // followed with the Service
	nested("endpoint", registered, func(m *model) *types.Object { return &m.Endpoint },
		func(c *manifest.Compute) **manifest.Endpoint { return &c.Endpoint },
		(*decoder).endpoint, nil).unobserved(), // followed with the Service
	serviceTemplate(),

	boolean("freeze", kubetorchPods, func(m *model) *types.Bool { return &m.Freeze },
		func(c *manifest.Compute) *bool { return &c.Freeze }),
	scalar("inactivity_ttl", registered, func(m *model) *tf.Duration { return &m.InactivityTTL },
		func(c *manifest.Compute) *string { return &c.InactivityTTL }, tf.Duration.ValueString, tf.DurationOf),
	launchTimeout(),
	text("kubetorch_version", registered, func(m *model) *types.String { return &m.KubetorchVersion },
		func(c *manifest.Compute) *string { return &c.KubetorchVersion }).unobserved(), // see observeRendering
	bind("renderer_revision", registered, func(m *model) *types.Int64 { return &m.RendererRevision }),
	logging(),
	words("allowed_serialization", registered, func(m *model) *types.List { return &m.AllowedSerialization },
		func(c *manifest.Compute) *[]string { return &c.AllowedSerialization }),
}

func replicas() row {
	r := bind("replicas", anyPods, func(m *model) *types.Int64 { return &m.Replicas })
	r.spec = func(_ *decoder, m *model, c *manifest.Compute) {
		c.Replicas, c.ReplicasGiven = m.Replicas.ValueInt64(), isGiven(m.Replicas)
	}
	return r.observed(func(_ *follower, m *model, before, after *manifest.Compute) {
		if before.Replicas != after.Replicas { // a workload that was suspended is resumed
			m.Replicas, m.Suspend = types.Int64Value(after.Replicas), types.BoolValue(false)
		}
	})
}

// gpuAntiAffinity overrides the default of the provider.
func gpuAntiAffinity() row {
	r := boolean("gpu_anti_affinity", anyOverride, func(m *model) *types.Bool { return &m.GPUAntiAffinity }, nil)
	r.spec = func(_ *decoder, m *model, c *manifest.Compute) {
		if !m.GPUAntiAffinity.IsNull() {
			c.GPUAntiAffinity = m.GPUAntiAffinity.ValueBool()
		}
	}
	return r.observed(func(_ *follower, m *model, before, after *manifest.Compute) {
		unset := m.GPUAntiAffinity.IsNull() && !after.GPUAntiAffinity
		if before.GPUAntiAffinity != after.GPUAntiAffinity && !unset {
			m.GPUAntiAffinity = types.BoolValue(after.GPUAntiAffinity)
		}
	})
}

func queueScheduler() row {
	r := text("queue_scheduler", kubetorchPods, func(m *model) *types.String { return &m.QueueScheduler },
		func(c *manifest.Compute) *string { return &c.QueueScheduler })
	r.unset = types.StringValue(manifest.QueueSchedulerKueue) // the default of every compute
	changed := r.follow
	return r.observed(func(f *follower, m *model, before, after *manifest.Compute) {
		if after.QueueScheduler != "" { // only a queue tells
			changed(f, m, before, after)
		}
	})
}

// imageRef sets image and image_setup.
func imageRef() row {
	r := bind("image_ref", kubetorchPods, func(m *model) *types.Object { return &m.ImageRef })
	r.spec = func(d *decoder, m *model, c *manifest.Compute) {
		if !m.ImageRef.IsNull() {
			image, setup := m.imageAndSetup(d.ctx)
			c.Image, c.ImageSetup = image.ValueString(), d.imageSetup(setup)
		}
	}
	return r.observed(func(f *follower, m *model, _, _ *manifest.Compute) {
		if !m.ImageRef.IsNull() {
			m.ImageRef = f.object(m.ImageRef, imageRefModel{m.Image, m.ImageSetup})
		}
	})
}

// launchTimeout overrides the default of the provider.
func launchTimeout() row {
	r := bind("launch_timeout", anyCompute, func(m *model) *tf.Duration { return &m.LaunchTimeout })
	r.spec = func(d *decoder, m *model, c *manifest.Compute) {
		if timeout := d.duration("launch_timeout", m.LaunchTimeout); timeout != nil {
			c.LaunchTimeout = *timeout
		}
	}
	return r.observed(func(_ *follower, m *model, before, after *manifest.Compute) {
		if before.LaunchTimeout != after.LaunchTimeout && after.LaunchTimeout > 0 {
			m.LaunchTimeout = tf.DurationOf(durationText(after.LaunchTimeout))
		}
	})
}

func logging() row {
	r := bind("logging", registered, func(m *model) *types.Object { return &m.Logging })
	r.spec = func(d *decoder, m *model, c *manifest.Compute) { c.LogLevel, c.Logging = d.logging(m.Logging) }
	return r.observed(func(f *follower, m *model, before, after *manifest.Compute) {
		m.followLogLevel(f, before.LogLevel, after.LogLevel)
	})
}

func workloadManifest() row {
	r := bind("manifest", kubetorchPods, func(m *model) *tf.Document { return &m.Manifest })
	r.spec = func(d *decoder, m *model, c *manifest.Compute) { c.Manifest = d.manifest(m.Manifest) }
	return r
}

func podTemplatePath() row {
	r := bind("pod_template_path", kubetorchPods, func(m *model) *types.String { return &m.PodTemplatePath })
	r.spec = func(_ *decoder, m *model, c *manifest.Compute) { c.PodTemplatePath = fieldPath(m.PodTemplatePath) }
	return r
}

func serviceTemplate() row {
	r := bind("service_template", anyPods, func(m *model) *jsontypes.Normalized { return &m.ServiceTemplate })
	r.spec = func(d *decoder, m *model, c *manifest.Compute) {
		c.ServiceTemplate = d.template(m.ServiceTemplate.StringValue)
	}
	return r
}
