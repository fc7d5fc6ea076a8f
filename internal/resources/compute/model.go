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

	Labels                 types.Map            `tfsdk:"labels"`
	Annotations            types.Map            `tfsdk:"annotations"`
	PodLabels              types.Map            `tfsdk:"pod_labels"`
	NodeSelector           types.Map            `tfsdk:"node_selector"`
	Affinity               jsontypes.Normalized `tfsdk:"affinity"`
	TopologySpread         types.List           `tfsdk:"topology_spread_constraints"`
	Strategy               types.String         `tfsdk:"strategy"`
	TerminationGracePeriod tf.Duration          `tfsdk:"termination_grace_period"`
	Tolerations            types.List           `tfsdk:"tolerations"`
	ServiceAccountName     types.String         `tfsdk:"service_account_name"`
	PriorityClassName      types.String         `tfsdk:"priority_class_name"`
	ImagePullPolicy        types.String         `tfsdk:"image_pull_policy"`
	ImagePullSecrets       types.List           `tfsdk:"image_pull_secrets"`
	WorkingDir             types.String         `tfsdk:"working_dir"`

	Image    types.String `tfsdk:"image"`
	ImageRef types.Object `tfsdk:"image_ref"`
	EnvVars  types.Map    `tfsdk:"env_vars"`
	Secrets  types.List   `tfsdk:"secrets"`
	Volumes  types.List   `tfsdk:"volumes"`

	Command              types.List   `tfsdk:"command"`
	Args                 types.List   `tfsdk:"args"`
	Port                 types.Int64  `tfsdk:"port"`
	HealthPath           types.String `tfsdk:"health_path"`
	VolumeClaimTemplates types.List   `tfsdk:"volume_claim_templates"`

	Autoscale       types.Object `tfsdk:"autoscale"`
	Distribute      types.Object `tfsdk:"distribute"`
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
	PodDisruptionBudget  types.Object         `tfsdk:"pod_disruption_budget"`
	Expose               types.Object         `tfsdk:"expose"`
	Runtime              types.String         `tfsdk:"runtime"`

	OnNotReady types.String `tfsdk:"on_not_ready"`

	Mode        types.String `tfsdk:"mode"`
	ServiceName types.String `tfsdk:"service_name"`
	URL         types.String `tfsdk:"url"`
	GRPCTarget  types.String `tfsdk:"grpc_target"`
	Ready       types.Bool   `tfsdk:"ready"`
}

type topologySpreadModel struct {
	TopologyKey       types.String `tfsdk:"topology_key"`
	MaxSkew           types.Int64  `tfsdk:"max_skew"`
	WhenUnsatisfiable types.String `tfsdk:"when_unsatisfiable"`
}

type secretModel struct {
	Name        types.String `tfsdk:"name"`
	EnvVars     types.List   `tfsdk:"env_vars"`
	EnvKeys     types.Map    `tfsdk:"env_keys"`
	MountPath   types.String `tfsdk:"mount_path"`
	DefaultMode types.String `tfsdk:"default_mode"`
}

type volumeModel struct {
	ClaimName types.String `tfsdk:"claim_name"`
	MountPath types.String `tfsdk:"mount_path"`
	ReadOnly  types.Bool   `tfsdk:"read_only"`
}

type claimTemplateModel struct {
	Name         types.String `tfsdk:"name"`
	Size         tf.Quantity  `tfsdk:"size"`
	MountPath    types.String `tfsdk:"mount_path"`
	StorageClass types.String `tfsdk:"storage_class"`
	AccessMode   types.String `tfsdk:"access_mode"`
}

type loggingModel struct {
	Level               types.String `tfsdk:"level"`
	StreamLogs          types.Bool   `tfsdk:"stream_logs"`
	IncludeSystemLogs   types.Bool   `tfsdk:"include_system_logs"`
	IncludeEvents       types.Bool   `tfsdk:"include_events"`
	IncludeName         types.Bool   `tfsdk:"include_name"`
	GracePeriod         tf.Duration  `tfsdk:"grace_period"`
	PollTimeout         tf.Duration  `tfsdk:"poll_timeout"`
	ShutdownGracePeriod tf.Duration  `tfsdk:"shutdown_grace_period"`
}

type autoscaleModel struct {
	MinScale                      types.Int64  `tfsdk:"min_scale"`
	MaxScale                      types.Int64  `tfsdk:"max_scale"`
	InitialScale                  types.Int64  `tfsdk:"initial_scale"`
	Target                        types.Int64  `tfsdk:"target"`
	TargetUtilization             types.Int64  `tfsdk:"target_utilization"`
	Metric                        types.String `tfsdk:"metric"`
	Window                        tf.Duration  `tfsdk:"window"`
	Concurrency                   types.Int64  `tfsdk:"concurrency"`
	ScaleDownDelay                tf.Duration  `tfsdk:"scale_down_delay"`
	ScaleToZeroPodRetentionPeriod tf.Duration  `tfsdk:"scale_to_zero_pod_retention_period"`
	AutoscalerClass               types.String `tfsdk:"autoscaler_class"`
	ProgressDeadline              tf.Duration  `tfsdk:"progress_deadline"`
	ExtraAnnotations              types.Map    `tfsdk:"extra_annotations"`
}

type distributeModel struct {
	Type           types.String         `tfsdk:"type"`
	Workers        types.Int64          `tfsdk:"workers"`
	QuorumWorkers  types.Int64          `tfsdk:"quorum_workers"`
	QuorumTimeout  tf.Duration          `tfsdk:"quorum_timeout"`
	MonitorMembers types.Bool           `tfsdk:"monitor_members"`
	Args           jsontypes.Normalized `tfsdk:"args"`
}

type imageRefModel struct {
	Image types.String `tfsdk:"image"`
	Setup types.Object `tfsdk:"setup"`
}

type imageSetupModel struct {
	ConfigMap  types.String `tfsdk:"config_map"`
	Digest     types.String `tfsdk:"digest"`
	PythonPath types.String `tfsdk:"python_path"`
	InstallCmd types.String `tfsdk:"install_cmd"`
}

type exposeModel struct {
	Hosts            types.List   `tfsdk:"hosts"`
	Path             types.String `tfsdk:"path"`
	Protocol         types.String `tfsdk:"protocol"`
	Annotations      types.Map    `tfsdk:"annotations"`
	IngressClassName types.String `tfsdk:"ingress_class_name"`
	TLSSecretName    types.String `tfsdk:"tls_secret_name"`
	Gateway          types.Object `tfsdk:"gateway"`
}

type gatewayModel struct {
	Name        types.String `tfsdk:"name"`
	Namespace   types.String `tfsdk:"namespace"`
	SectionName types.String `tfsdk:"section_name"`
}

type disruptionBudgetModel struct {
	MinAvailable   types.String `tfsdk:"min_available"`
	MaxUnavailable types.String `tfsdk:"max_unavailable"`
}

type endpointModel struct {
	URL      types.String `tfsdk:"url"`
	Selector types.Map    `tfsdk:"selector"`
}

// Values of on_not_ready.
const (
	failOnNotReady   = "error"
	warnOnNotReady   = "warn"
	ignoreOnNotReady = "ignore"
)
