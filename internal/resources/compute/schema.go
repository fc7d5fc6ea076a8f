package compute

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

const description = "Manages one ML compute on Kubernetes, like Kubetorch's `kt.Compute`: a service, a pool of " +
	"workers or a training job.\n\n" +
	"The plan shows every field that will be applied in `manifests`. If another client changes one of these fields, " +
	"the next plan shows the change and the client. Fields that the provider did not apply are not changed."

func attributes() map[string]schema.Attribute {
	all := map[string]schema.Attribute{
		"timeouts": lifecycle.TimeoutsAttribute(
			"Timeout of the creation, until the compute is ready, such as `20m`. Defaults to `launch_timeout` plus "+
				"five minutes.",
			"Timeout of an update, until the compute is ready. Defaults to `launch_timeout` plus five minutes.",
			"Timeout of the deletion, including the termination of the last pod. Defaults to `10m`."),
	}
	for _, group := range []map[string]schema.Attribute{
		identityAttributes(), resourceAttributes(), podAttributes(), sourceAttributes(), securityAttributes(),
		containerAttributes(), placementAttributes(), modeAttributes(), jobAttributes(), servingAttributes(),
		tensorServerAttributes(), behaviourAttributes(), lifecycleAttributes(), computedAttributes(),
	} {
		maps.Copy(all, group)
	}
	return lifecycle.WithCommon(all, "compute", "the objects", "spec.template.spec.containers[0].args")
}

func identityAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the compute, its workload and its Service. Must be an RFC 1035 label of at "+
			"most 63 characters, or with `manifest_only`, which adds no Service, the name of any object. Changing "+
			"this replaces the compute.", tf.ComputeName()),
		"namespace": tf.OptionalComputedText("Namespace of the compute. If not set, it is resolved once, at "+
			"creation: the provider's `namespace` or its default. Changing this replaces the compute.",
			tf.NamespaceName()),
	}
}

func resourceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cpus":      tf.OptionalQuantity("CPU request of each pod, such as `0.5` or `500m`."),
		"memory":    tf.OptionalQuantity("Memory request of each pod, such as `4Gi`.", tf.Bytes()),
		"disk_size": tf.OptionalQuantity("Ephemeral storage request of each pod, such as `10Gi`.", tf.Bytes()),
		"limits": tf.OptionalQuantities("Limits of each pod by resource: `cpu`, `memory`, `ephemeral-storage` or " +
			"`hugepages-<size>`. Without them, pods have no limits, unless a LimitRange of the namespace sets some."),
		"extended_resources": tf.OptionalQuantities("Devices of each pod by extended resource, such as " +
			"`{ \"amd.com/gpu\" = 8 }`, `google.com/tpu`, `nvidia.com/mig-1g.10gb` or `rdma/hca_shared_devices_a`. " +
			"Must be integers. Adds tolerations for taints with the name of the resource, and for NVIDIA those of " +
			"`gpus`."),
		"gpus": tf.OptionalInteger("Number of GPUs of each pod (`nvidia.com/gpu`). Must be an integer; `0` means "+
			"none. Adds the tolerations that GPU nodes require.", int64validator.AtLeast(0)),
		"gpu_type": tf.OptionalText("GPU product of the nodes that run the pods (label `nvidia.com/gpu.product`, or "+
			"the provider's `gpu_type_label`), or any node label as `key: value`. For the labels of a cloud, see [GPU "+
			"types by cloud](../guides/gpu-pools.md#gpu-types-by-cloud).", tf.GPUType()),
		"gpu_memory": tf.OptionalQuantity("Share of the memory of one GPU, such as `4Gi`, for GPU sharing with the "+
			"KAI scheduler. Conflicts with `gpus`.", tf.Bytes()),
		"shared_memory_limit": tf.OptionalQuantity("Size limit of `/dev/shm`, such as `2Gi`. Defaults to the memory "+
			"limit of the pod, or to half of the memory of the node.", tf.Bytes()),
		"replicas": tf.OptionalComputedInteger("Number of pods. For updates of more than one, see `strategy`. "+
			"Defaults to `distribute.workers`, the number in `manifest`, or `1`. Null with `autoscale`.",
			int64validator.Between(0, 1<<31-1)),
	}
}

func podAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"labels":        tf.LabelsAttribute("the workload and its pods"),
		"annotations":   tf.AnnotationsAttribute("the workload and its pods"),
		"pod_labels":    tf.LabelMap("Labels of only the pods, in addition to `labels`, whose values they override."),
		"node_selector": tf.LabelMap("Labels that a node must have to run the pods."),
		"tolerations": tf.OptionalObjects("Tolerations of the pods, in addition to those for GPU nodes if `gpus` "+
			"is set.", tf.TolerationAttributes()),
		"service_account_name": tf.OptionalComputedText("Service account of the pods. Defaults to the value in "+
			"`manifest`, otherwise to `kubetorch-service-account`. With `runtime = \"skytorch\"` or `\"kpu\"`, "+
			"defaults to the default service account of the namespace.", tf.ObjectName()),
		"priority_class_name": tf.OptionalText("Priority class of the pods.", tf.ObjectName()),
		"runtime_class_name": tf.OptionalText("Runtime class of the pods, which selects their container runtime, "+
			"such as `nvidia` or `gvisor`.", tf.ObjectName()),
		"image_pull_policy": tf.OptionalText("Image pull policy, `Always`, `IfNotPresent` or `Never`. If not set, "+
			"Kubernetes selects it by the tag of the image.", stringvalidator.OneOf("Always", "IfNotPresent", "Never")),
		"image_pull_secrets": tf.OptionalTexts("Names of Secrets of the same namespace, of type "+
			"`kubernetes.io/dockerconfigjson`, with credentials to pull the images of the pods. Kubernetes then "+
			"ignores the image pull secrets of the service account. Changing this restarts the pods.",
			listvalidator.UniqueValues(), tf.NoNulls(), listvalidator.ValueStringsAre(tf.ObjectName())),
		"working_dir": tf.OptionalText("Working directory of the container. Must be an absolute path.",
			tf.AbsolutePath()),
		"image": tf.OptionalComputedText("Container image. Conflicts with `image_ref`, which sets it. Defaults to "+
			"the value in `manifest`, otherwise to `ghcr.io/run-house/server:v3`. With `runtime = \"skytorch\"` or "+
			"`\"kpu\"`, the operator selects the default, and the attribute is null.", tf.ImageReference()),
		"image_ref": schema.SingleNestedAttribute{
			Optional: true, Validators: []validator.Object{objectvalidator.ConflictsWith(path.MatchRoot("image"))},
			MarkdownDescription: "Container image and its setup: `kt_image.x.ref`. Sets `image`, and conflicts with " +
				"it.",
			Attributes: map[string]schema.Attribute{
				"image": tf.RequiredText("Container image.", tf.ImageReference()),
				"setup": tf.RequiredObject("Setup of the container, which runs before the server starts.",
					imageSetupAttributes()),
			},
		},
		"env_vars": tf.OptionalTextMap("Environment variables of the container. `$NAME` in a value is expanded by "+
			"the shell, as in `$PATH:/custom/bin`. With `command` or `args` and for tensor servers, Kubernetes "+
			"expands only `$(NAME)`, also for keys of `secrets` and `config_maps`. The values are in state. A plan "+
			"hides those of sensitive variables, and `manifests` contains references to all, such as "+
			"`(env_vars.MODE)`. Other clients can read them in the workload, so use `secrets` for secret values.",
			tf.NoNulls(), mapvalidator.KeysAre(tf.EnvVarName())),
	}
}

func behaviourAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"queue_name": tf.OptionalText("Name of the queue that admits the pods: a LocalQueue of Kueue, such as "+
			"`kt_queue.….name`, or a queue of KAI.",
			tf.LabelValue(), stringvalidator.LengthAtLeast(1)),
		"queue_scheduler": tf.TextWithDefault(kind.QueueSchedulerKueue, "Scheduler of the queue in `queue_name`, "+
			"`kueue` or `kai`. Defaults to `kueue`.",
			stringvalidator.OneOf(kind.QueueSchedulerKueue, kind.QueueSchedulerKAI)),
		"load": loadAttribute(),
		"freeze": tf.Toggle("Whether to disable live code sync. Nothing is then installed at startup, and the " +
			"container has no `SYS_PTRACE` capability. Use it with images that contain all code. Defaults to `false`."),
		"inactivity_ttl": tf.OptionalDuration("Duration without calls after which Kubetorch deletes the compute, " +
			"such as `2h`. With less than one minute, the compute may be deleted too early."),
		"on_expiry": tf.OptionalText("Action after Kubetorch has deleted the compute because of `inactivity_ttl`: "+
			"`recreate` or `keep_suspended`. Defaults to `recreate`, with which the next apply creates it again. "+
			"With `keep_suspended`, the compute stays in state with `ready = false`, and `manifests` contains the "+
			"objects that no longer exist. An apply creates them again if the configuration changes, or with "+
			"`-replace`.",
			stringvalidator.OneOf(recreateOnExpiry, keepOnExpiry),
			stringvalidator.AlsoRequires(path.MatchRoot("inactivity_ttl"))),
		"launch_timeout": tf.OptionalDuration("Maximum start time of the server in a container, such as `30m`. This " +
			"is the limit of the startup probe, after which Kubernetes restarts the container. Defaults to the " +
			"provider's `launch_timeout`, otherwise to `15m`. Changing this restarts the pods. An apply waits for " +
			"the compute until `timeouts.create` or `timeouts.update`."),
		"kubetorch_version": tf.OptionalComputedText("Version of Kubetorch that the pods install, such as `0.5.0`. "+
			"Defaults to the provider's `kubetorch_version`. Otherwise, the version at creation is kept, and updated "+
			"to the default of the provider release by the next change that restarts the pods. Changing this "+
			"restarts the pods.", tf.LabelValue(), stringvalidator.LengthAtLeast(1)),
		"renderer_revision": tf.OptionalComputedInteger("Revision of the startup script and the probes. By default, "+
			"the revision at creation is kept, and updated to the latest one by the next change that restarts the "+
			"pods. Changing this restarts the pods.", int64validator.AtLeast(1)),
		"gpu_anti_affinity": tf.OptionalBool("Whether to keep the pods off GPU nodes. Applies only to computes " +
			"without GPUs. Defaults to the provider's `gpu_anti_affinity`, otherwise to `false`."),
		"logging_config": tf.OptionalObject("Logging of the Kubetorch server in the container. `level` applies to "+
			"the server. The other attributes are those of Kubetorch's `LoggingConfig` for clients. They are stored "+
			"in an annotation of the KubetorchWorkload and have no effect with Kubetorch 0.5.0, whose clients do not "+
			"read it. `env_vars = { KT_LOG_STREAMING_ENABLED = \"false\" }` stops the pods from sending their "+
			"logs.", loggingAttributes()),
		"allowed_serialization": tf.OptionalTexts("Serialization formats that calls may use, such as `json` and "+
			"`pickle`. Defaults to the default of Kubetorch.",
			listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), tf.NoNulls(),
			listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1), tf.LabelValue())),
		"service_template": tf.OptionalJSON("JSON to merge into the rendered workload, as the last step. Objects are "+
			"merged field by field and lists of named items by `name`. Other lists are replaced. A null removes a "+
			"field.", tf.JSONObject()),
		"suspend": tf.Toggle("Whether to scale the compute to zero and keep all other objects. `false` restores " +
			"`replicas`. Other clients can suspend a Job, JobSet or CronJob without drift, as queues do. Defaults to " +
			"`false`."),
		"endpoint": tf.OptionalObject("Endpoint of the pods, instead of the Service of the compute.",
			map[string]schema.Attribute{
				"url": tf.OptionalText("URL of an existing Service or Ingress. No Service is created.",
					tf.EndpointURL()),
				"selector": tf.OptionalTextMap("Labels of the pods that the Service selects, instead of the labels "+
					"of the compute.", append(tf.Labels(), mapvalidator.SizeAtLeast(1))...),
			}),
	}
}

func lifecycleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"on_not_ready": tf.TextWithDefault(failOnNotReady, "Action if the compute cannot become ready: `error`, "+
			"`warn`, or `ignore`, which does not wait. Defaults to `error`. Applies to permanent failures. A wait "+
			"that times out, is interrupted or loses the connection to the API server ends with a warning and `ready "+
			"= false`, and the next run waits again. After an error, Terraform would destroy the compute. To fail "+
			"the run in these cases too, set a postcondition on `self.ready`.",
			stringvalidator.OneOf(failOnNotReady, warnOnNotReady, ignoreOnNotReady)),
		"wait_for_completion": tf.OptionalBool("Whether the apply waits until the workload has run to its end, " +
			"instead of until its pods run, and `ready` is true only then. For `job`, and a Job, JobSet, RayJob, " +
			"training job or Pod in `manifest`. The default of the `timeouts` is then 24 hours longer."),
		"adopt_existing": tf.Toggle("Whether to take over existing objects of the same name, regardless of who " +
			"created them. Defaults to `false`, in which case an existing object is an error."),
	}
}

func computedAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"mode": tf.ComputedString("Mode of the compute: `deployment`, `knative`, `raycluster`, `job`, `compute` for " +
			"a tensor server, the kind of `manifest` in lowercase, or `selector` for existing pods."),
		"service_name": tf.ComputedString("Name of the Service, which is the name of the compute."),
		"url": tf.ComputedString("URL of the compute inside the cluster, " +
			"`http://<name>.<namespace>.svc.cluster.local:80`, or `endpoint.url`. Null with `runtime = \"skytorch\"` " +
			"or `\"kpu\"`."),
		"grpc_target": tf.ComputedString("gRPC target of a tensor server inside the cluster, " +
			"`<name>.<namespace>.svc.cluster.local:50051`. Null with `runtime = \"kubetorch\"`."),
		"ready": tf.ComputedBool("Whether the workload is ready. `false` while the compute is suspended."),
		"uid":   tf.ComputedString("UID of the workload. Null if `selector` is set without `manifest`."),
		"manifests": tf.ComputedTextMap("Fields of each object that the provider owns, as JSON by " +
			"`Kind/namespace/name`. A plan shows the values to apply, a refresh the current values. " +
			"`(env_vars.NAME)` stands for a value of `env_vars`, `(sensitive N)` for one of `sensitive_fields`."),
	}
}

func loadAttribute() schema.Attribute {
	return tf.OptionalObject("Function or class of the image that Kubetorch's server loads when it starts, so that "+
		"it serves calls without a client that sends code. Use it with `freeze`. Changing this restarts the pods.",
		map[string]schema.Attribute{
			"module_name": tf.RequiredText("Name of the Python module, such as `train`.",
				stringvalidator.LengthAtLeast(1)),
			"cls_or_fn_name": tf.RequiredText("Name of the function or class in the module.",
				stringvalidator.LengthAtLeast(1)),
			"file_path": tf.OptionalText("Directory that contains the module, such as `/app`. Not required if the " +
				"module is installed, or is in `working_dir`."),
			"callable_type": tf.OptionalText("Type of the callable, `fn` or `cls`. Defaults to `fn`.",
				stringvalidator.OneOf("fn", "cls")),
			"init_args": tf.OptionalJSON("Keyword arguments of the constructor of a class as JSON, such as "+
				"`jsonencode({ model = \"llama\" })`.", tf.JSONObject()),
		})
}
