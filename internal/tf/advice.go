package tf

import (
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Resource types.
const (
	ComputeType = "kt_compute"
	VolumeType  = "kt_volume"
	SecretType  = "kt_secret"
	ImageType   = "kt_image"
	QueueType   = "kt_queue"
)

// typeOf returns the type of the resource that manages objects of a kind.
func typeOf(k kind.Kind) string {
	if k.Group == kind.KueueGroup || k.GroupKind() == kind.KAIQueue().GroupKind() {
		return QueueType
	}
	switch k.Kind {
	case kind.PersistentVolumeClaim().Kind:
		return VolumeType
	case kind.Secret().Kind:
		return SecretType
	case kind.ConfigMap().Kind:
		return ImageType
	}
	return ComputeType
}

// Explain is like [ready.Explain], but its next step names the attributes of a resource type.
func Explain(resourceType string, cause ready.Cause, logs []string) string {
	words := adviceWords()
	return ready.Explain(&cause, logs, words[resourceType], words[""])
}

// adviceWords returns Terraform's words for the fields and steps of an advice, by resource type. The key "" is for all
// types.
func adviceWords() map[string]map[ready.Advice]string {
	const (
		requests = "the requests (`gpus`, `cpus`, `memory`) or `replicas`"
		replace  = " (`terraform apply -replace=ADDRESS`)"
		fields   = "the attributes that set the fields"
	)
	return map[string]map[ready.Advice]string{
		"": {
			ready.FieldAPIServer: "`host` or the kubeconfig of the provider",
			ready.FieldRejected:  fields,
			ready.FieldTimeLimit: "`timeouts`",
			ready.StepCreateFirst: "Create it first (if it is in the same configuration, reference it or use " +
				"`depends_on`)",
			ready.StepDeclareNodes: "set `node_autoscaling = true` in the provider",
			ready.StepWaitReady:    "Wait until the compute is ready, for example with `depends_on`",
		},
		ComputeType: {
			ready.FieldAffinity:         "`affinity`",
			ready.FieldClaimName:        "`claim_name` in `volumes`",
			ready.FieldConfigMapKey:     "`env_vars` or `env_keys` in `config_maps`",
			ready.FieldConfigMapName:    "the name in `config_maps`, `env_from` or `volumes`",
			ready.FieldCPU:              "`cpus`",
			ready.FieldDeadline:         "`job.active_deadline` or the deadline in `manifest`",
			ready.FieldDevices:          "`extended_resources` or `limits`",
			ready.FieldDisk:             "`disk_size`",
			ready.FieldGPUProduct:       "`gpu_type`",
			ready.FieldGPUs:             "`gpus`",
			ready.FieldHostPort:         "`host_network` or the host port in `service_template`",
			ready.FieldImage:            "`image`",
			ready.FieldInitContainers:   "`init_containers`",
			ready.FieldMaxScale:         "`autoscale.max_scale`",
			ready.FieldMemory:           "`memory`",
			ready.FieldMemoryLimit:      "`limits` (`memory` sets only the request)",
			ready.FieldMetrics:          "`autoscale.metrics`",
			ready.FieldMinScale:         "`autoscale.min_scale`",
			ready.FieldNodeLabels:       "`gpu_type`, `node_selector` or `affinity`",
			ready.FieldNodeSelector:     "`node_selector`",
			ready.FieldPodTemplate:      "`service_template`",
			ready.FieldPriorityClass:    "`priority_class_name`",
			ready.FieldProbePath:        "`health_path` or `probes`",
			ready.FieldProbePort:        "`port` or `probes`",
			ready.FieldRuntimeClass:     "`runtime_class_name`",
			ready.FieldProgressDeadline: "`autoscale.progress_deadline`",
			ready.FieldPtrace:           "SYS_PTRACE with `freeze = true`",
			ready.FieldQueue:            "`queue_name`",
			ready.FieldRejected:         fields + ", `manifest` or `service_template`",
			ready.FieldReplicas:         "`replicas`",
			ready.FieldRequests:         requests,
			ready.FieldResources:        "requests (`cpus`, `memory`, `disk_size`) and `limits`",
			ready.FieldSecretKey:        "`env_vars` or `env_keys` in `secrets`",
			ready.FieldSecretName:       "the name in `secrets`, `env_from` or `volumes`",
			ready.FieldSecurity:         "`security_context`",
			ready.FieldSidecars:         "`sidecars`",
			ready.FieldSpread:           "`topology_spread_constraints`",
			ready.FieldPullSecrets:      "`image_pull_secrets`",
			ready.FieldServiceAccount:   "`service_account_name`",
			ready.FieldSharedMemory:     "`shared_memory_limit`",
			ready.FieldStartupTime:      "`launch_timeout`",
			ready.FieldStrategy:         "`strategy`",
			ready.FieldTriggers:         "`autoscale.triggers`",
			ready.StepAllowGPUNodes:     "Set `gpu_anti_affinity` to false",
			ready.StepReplace:           "Replace the compute" + replace,
			ready.StepScaleOtherwise:    "set `autoscale.scaler` to \"hpa\" or \"keda\"",
		},
		VolumeType: {
			ready.FieldBindingWait: "set `wait_for_bound`",
			ready.FieldResources:   "`size`",
			ready.StepDelete: "destroy it again. A compute that is destroyed in the same run is destroyed first if " +
				"it references `kt_volume.….ref`. If the compute stays and only stops using the volume, apply the " +
				"compute first with `-target`, or set `lifecycle { create_before_destroy = true }` in the volume " +
				"while both are in the configuration",
			ready.StepReplace: "Replace the volume, which deletes its data" + replace,
		},
		SecretType: {ready.StepReplace: "Replace the secret" + replace},
		QueueType: {
			ready.FieldStopPolicy: "`stop_policy`",
			ready.StepReplace:     "Replace the queue" + replace,
		},
		ImageType: {ready.StepReplace: "Replace the image" + replace},
	}
}
