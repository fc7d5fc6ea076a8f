package tf

import (
	"github.com/ktdev/terraform-provider-kt/internal/advice"
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
func adviceWords() map[string]map[advice.Field]string {
	const (
		replace = " (`terraform apply -replace=ADDRESS`)"
		fields  = "the attributes that set the fields"
	)
	return map[string]map[advice.Field]string{
		"": {
			advice.APIServer: "`host` or the kubeconfig of the provider",
			advice.Rejected:  fields,
			advice.TimeLimit: "`timeouts`",
			advice.CreateFirst: "Create it first (if it is in the same configuration, reference it or use " +
				"`depends_on`)",
			advice.DeclareNodes: "set `node_autoscaling = true` in the provider",
			advice.WaitReady:    "Wait until the compute is ready, for example with `depends_on`",
		},
		ComputeType: {
			advice.Affinity:         "`affinity`",
			advice.ClaimName:        "`claim_name` in `volumes`",
			advice.ConfigMapKey:     "`env_vars` or `env_keys` in `config_maps`",
			advice.ConfigMapName:    "the name in `config_maps`, `env_from` or `volumes`",
			advice.CPU:              "`cpus`",
			advice.Deadline:         "`job.active_deadline` or the deadline in `manifest`",
			advice.Devices:          "`extended_resources` or `limits`",
			advice.Disk:             "`disk_size`",
			advice.GPUProduct:       "`gpu_type`",
			advice.GPUs:             "`gpus`",
			advice.HostPort:         "`host_network` or the host port in `service_template`",
			advice.Image:            "`image`, or the kt_image of `image_ref`",
			advice.InitContainers:   "`init_containers`",
			advice.MaxScale:         "`autoscale.max_scale`",
			advice.Memory:           "`memory`",
			advice.MemoryLimit:      "`limits` (`memory` is only the request, except of a tensor server)",
			advice.Metrics:          "`autoscale.metrics`",
			advice.MinScale:         "`autoscale.min_scale`",
			advice.NodeLabels:       "`gpu_type`, `node_selector` or `affinity`",
			advice.NodeSelector:     "`node_selector`",
			advice.PodTemplate:      "`service_template`",
			advice.PriorityClass:    "`priority_class_name`",
			advice.ProbePath:        "`health_path` or `probes`",
			advice.ProbePort:        "`port` or `probes`",
			advice.RuntimeClass:     "`runtime_class_name`",
			advice.ProgressDeadline: "`autoscale.progress_deadline`",
			advice.Ptrace:           "SYS_PTRACE (with `freeze = true`, or from `security_context`)",
			advice.Queue:            "`queue_name`",
			advice.Rejected:         fields + ", `manifest` or `service_template`",
			advice.Replicas:         "`replicas` or `distribute.workers`",
			advice.Requests:         "the requests (`gpus`, `cpus`, `memory`), `replicas` or `distribute.workers`",
			advice.Resources:        "requests (`cpus`, `memory`, `disk_size`) and `limits`",
			advice.SecretKey:        "`env_vars` or `env_keys` in `secrets`",
			advice.SecretName:       "the name in `secrets`, `env_from` or `volumes`",
			advice.Security:         "`security_context`",
			advice.Sidecars:         "`sidecars`",
			advice.Spread:           "`topology_spread_constraints`",
			advice.PullSecrets:      "`image_pull_secrets`",
			advice.ServiceAccount:   "`service_account_name`",
			advice.SharedMemory:     "`shared_memory_limit`",
			advice.StartupTime:      "`launch_timeout` (or `probes.startup`)",
			advice.Strategy:         "`strategy`",
			advice.Triggers:         "`autoscale.triggers`",
			advice.AllowGPUNodes:    "Set `gpu_anti_affinity` to false",
			advice.ReplaceObject:    "Replace the compute" + replace,
			advice.ScaleOtherwise:   "set `autoscale.scaler` to \"hpa\" or \"keda\"",
		},
		VolumeType: {
			advice.BindingWait: "set `wait_for_bound`",
			advice.Resources:   "`size`",
			advice.DeleteAgain: "destroy it again. A compute that is destroyed in the same run is destroyed first if " +
				"it references `kt_volume.….ref`. If the compute stays and only stops using the volume, apply the " +
				"compute first with `-target`, or set `lifecycle { create_before_destroy = true }` in the volume " +
				"while both are in the configuration",
			advice.ReplaceObject: "Replace the volume, which deletes its data" + replace,
		},
		SecretType: {advice.ReplaceObject: "Replace the secret" + replace},
		QueueType: {
			advice.StopPolicy:    "`stop_policy`",
			advice.ReplaceObject: "Replace the queue" + replace,
		},
		ImageType: {advice.ReplaceObject: "Replace the image" + replace},
	}
}
