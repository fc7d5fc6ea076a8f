package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// model is one kt_compute. Collections are Terraform values, since a plan may contain unknown ones.
type model struct {
	lifecycle.Common

	CPUs              tf.Quantity  `tfsdk:"cpus"`
	Memory            tf.Quantity  `tfsdk:"memory"`
	DiskSize          tf.Quantity  `tfsdk:"disk_size"`
	Limits            types.Map    `tfsdk:"limits"`
	ExtendedResources types.Map    `tfsdk:"extended_resources"`
	GPUs              types.Int64  `tfsdk:"gpus"`
	GPUType           types.String `tfsdk:"gpu_type"`
	GPUMemory         tf.Quantity  `tfsdk:"gpu_memory"`
	SharedMemoryLimit tf.Quantity  `tfsdk:"shared_memory_limit"`
	Replicas          types.Int64  `tfsdk:"replicas"`

	PodLabels              types.Map            `tfsdk:"pod_labels"`
	NodeSelector           types.Map            `tfsdk:"node_selector"`
	Affinity               jsontypes.Normalized `tfsdk:"affinity"`
	TopologySpread         types.List           `tfsdk:"topology_spread_constraints"`
	Strategy               types.String         `tfsdk:"strategy"`
	MaxSurge               types.String         `tfsdk:"max_surge"`
	MaxUnavailable         types.String         `tfsdk:"max_unavailable"`
	TerminationGracePeriod tf.Duration          `tfsdk:"termination_grace_period"`
	Tolerations            types.List           `tfsdk:"tolerations"`
	ServiceAccountName     types.String         `tfsdk:"service_account_name"`
	PriorityClassName      types.String         `tfsdk:"priority_class_name"`
	RuntimeClassName       types.String         `tfsdk:"runtime_class_name"`
	SecurityContext        types.Object         `tfsdk:"security_context"`
	HostNetwork            types.Bool           `tfsdk:"host_network"`
	RestartTriggers        types.Map            `tfsdk:"restart_triggers"`
	ImagePullPolicy        types.String         `tfsdk:"image_pull_policy"`
	ImagePullSecrets       types.List           `tfsdk:"image_pull_secrets"`
	WorkingDir             types.String         `tfsdk:"working_dir"`

	Image      types.String `tfsdk:"image"`
	ImageRef   types.Object `tfsdk:"image_ref"`
	EnvVars    types.Map    `tfsdk:"env_vars"`
	Secrets    types.List   `tfsdk:"secrets"`
	ConfigMaps types.List   `tfsdk:"config_maps"`
	EnvFrom    types.List   `tfsdk:"env_from"`
	Volumes    types.List   `tfsdk:"volumes"`

	InitContainers types.List `tfsdk:"init_containers"`
	Sidecars       types.List `tfsdk:"sidecars"`

	Command              types.List   `tfsdk:"command"`
	Args                 types.List   `tfsdk:"args"`
	Port                 types.Int64  `tfsdk:"port"`
	HealthPath           types.String `tfsdk:"health_path"`
	Ports                types.List   `tfsdk:"ports"`
	Service              types.Object `tfsdk:"service"`
	Probes               types.Object `tfsdk:"probes"`
	PreStop              types.Object `tfsdk:"pre_stop"`
	VolumeClaimTemplates types.List   `tfsdk:"volume_claim_templates"`

	Autoscale       types.Object `tfsdk:"autoscale"`
	Distribute      types.Object `tfsdk:"distribute"`
	Job             types.Object `tfsdk:"job"`
	Manifest        tf.Document  `tfsdk:"manifest"`
	ManifestOnly    types.Bool   `tfsdk:"manifest_only"`
	PodTemplatePath types.String `tfsdk:"pod_template_path"`
	Selector        types.Map    `tfsdk:"selector"`

	QueueName      types.String `tfsdk:"queue_name"`
	QueueScheduler types.String `tfsdk:"queue_scheduler"`

	Load                 types.Object         `tfsdk:"load"`
	Freeze               types.Bool           `tfsdk:"freeze"`
	InactivityTTL        tf.Duration          `tfsdk:"inactivity_ttl"`
	OnExpiry             types.String         `tfsdk:"on_expiry"`
	LaunchTimeout        tf.Duration          `tfsdk:"launch_timeout"`
	GPUAntiAffinity      types.Bool           `tfsdk:"gpu_anti_affinity"`
	KubetorchVersion     types.String         `tfsdk:"kubetorch_version"`
	RendererRevision     types.Int64          `tfsdk:"renderer_revision"`
	Logging              types.Object         `tfsdk:"logging_config"`
	AllowedSerialization types.List           `tfsdk:"allowed_serialization"`
	ServiceTemplate      jsontypes.Normalized `tfsdk:"service_template"`
	Suspend              types.Bool           `tfsdk:"suspend"`
	Endpoint             types.Object         `tfsdk:"endpoint"`
	DisruptionBudget     types.Object         `tfsdk:"pod_disruption_budget"`
	Expose               types.Object         `tfsdk:"expose"`
	Runtime              types.String         `tfsdk:"runtime"`

	OnNotReady        types.String `tfsdk:"on_not_ready"`
	WaitForCompletion types.Bool   `tfsdk:"wait_for_completion"`

	Mode        types.String `tfsdk:"mode"`
	ServiceName types.String `tfsdk:"service_name"`
	URL         types.String `tfsdk:"url"`
	GRPCTarget  types.String `tfsdk:"grpc_target"`
	Ready       types.Bool   `tfsdk:"ready"`
}

// Values of on_not_ready.
const (
	failOnNotReady   = "error"
	warnOnNotReady   = "warn"
	ignoreOnNotReady = "ignore"
)
