package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// model is one kt_compute. Collections are Terraform values rather than Go
// ones, since any of them may be unknown in a plan.
type model struct {
	Name      types.String `tfsdk:"name"`
	Namespace types.String `tfsdk:"namespace"`

	CPUs              tf.Quantity  `tfsdk:"cpus"`
	Memory            tf.Quantity  `tfsdk:"memory"`
	DiskSize          tf.Quantity  `tfsdk:"disk_size"`
	GPUs              types.Int64  `tfsdk:"gpus"`
	GPUType           types.String `tfsdk:"gpu_type"`
	GPUMemory         tf.Quantity  `tfsdk:"gpu_memory"`
	SharedMemoryLimit tf.Quantity  `tfsdk:"shared_memory_limit"`
	Replicas          types.Int64  `tfsdk:"replicas"`

	Labels             types.Map    `tfsdk:"labels"`
	Annotations        types.Map    `tfsdk:"annotations"`
	NodeSelector       types.Map    `tfsdk:"node_selector"`
	Tolerations        types.List   `tfsdk:"tolerations"`
	ServiceAccountName types.String `tfsdk:"service_account_name"`
	PriorityClassName  types.String `tfsdk:"priority_class_name"`
	ImagePullPolicy    types.String `tfsdk:"image_pull_policy"`
	WorkingDir         types.String `tfsdk:"working_dir"`

	Image   types.String `tfsdk:"image"`
	EnvVars types.Map    `tfsdk:"env_vars"`
	Secrets types.List   `tfsdk:"secrets"`
	Volumes types.List   `tfsdk:"volumes"`

	QueueName      types.String `tfsdk:"queue_name"`
	QueueScheduler types.String `tfsdk:"queue_scheduler"`

	Freeze               types.Bool           `tfsdk:"freeze"`
	InactivityTTL        tf.Duration          `tfsdk:"inactivity_ttl"`
	LaunchTimeout        tf.Duration          `tfsdk:"launch_timeout"`
	GPUAntiAffinity      types.Bool           `tfsdk:"gpu_anti_affinity"`
	Logging              types.Object         `tfsdk:"logging"`
	AllowedSerialization types.List           `tfsdk:"allowed_serialization"`
	ServiceTemplate      jsontypes.Normalized `tfsdk:"service_template"`
	Suspend              types.Bool           `tfsdk:"suspend"`
	Endpoint             types.Object         `tfsdk:"endpoint"`
	Runtime              types.String         `tfsdk:"runtime"`

	OnNotReady         types.String   `tfsdk:"on_not_ready"`
	AdoptExisting      types.Bool     `tfsdk:"adopt_existing"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`

	ID          types.String `tfsdk:"id"`
	Mode        types.String `tfsdk:"mode"`
	ServiceName types.String `tfsdk:"service_name"`
	URL         types.String `tfsdk:"url"`
	Ready       types.Bool   `tfsdk:"ready"`
	UID         types.String `tfsdk:"uid"`
	Manifests   types.Map    `tfsdk:"manifests"`
}

type tolerationModel struct {
	Key               types.String `tfsdk:"key"`
	Operator          types.String `tfsdk:"operator"`
	Value             types.String `tfsdk:"value"`
	Effect            types.String `tfsdk:"effect"`
	TolerationSeconds types.Int64  `tfsdk:"toleration_seconds"`
}

type secretModel struct {
	Name      types.String `tfsdk:"name"`
	EnvVars   types.List   `tfsdk:"env_vars"`
	MountPath types.String `tfsdk:"mount_path"`
}

type volumeModel struct {
	ClaimName types.String `tfsdk:"claim_name"`
	MountPath types.String `tfsdk:"mount_path"`
	ReadOnly  types.Bool   `tfsdk:"read_only"`
}

type loggingModel struct {
	Level types.String `tfsdk:"level"`
}

type endpointModel struct {
	URL      types.String `tfsdk:"url"`
	Selector types.Map    `tfsdk:"selector"`
}

type identityModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
}

// Values of on_not_ready.
const (
	failOnNotReady   = "error"
	warnOnNotReady   = "warn"
	ignoreOnNotReady = "ignore"
)
