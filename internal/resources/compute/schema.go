package compute

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const description = `Runs one ML compute: a service, a pool of workers or a training set-up on Kubernetes, as Kubetorch's ` + "`kt.Compute`" + ` does.

The plan shows every field that will be applied in ` + "`manifests`" + `. Fields that somebody else changed since show in the next plan, with who changed them; fields that the provider did not apply are left alone.`

func (r *computeResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: description,
		Attributes:          attributes(),
	}
}

func (r *computeResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = owned.IdentitySchema("compute")
}

func attributes() map[string]schema.Attribute {
	all := map[string]schema.Attribute{
		"timeouts": timeoutsAttribute(),
	}
	for _, group := range []map[string]schema.Attribute{
		identityAttributes(), resourceAttributes(), podAttributes(), modeAttributes(), tensorServerAttributes(), behaviourAttributes(), lifecycleAttributes(), computedAttributes(),
	} {
		maps.Copy(all, group)
	}
	return all
}

// timeoutsAttribute is what [timeouts.Attributes] makes, with validators that
// name the attribute and refuse what is not more than zero.
func timeoutsAttribute() schema.Attribute {
	timeout := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Validators: []validator.String{tf.Timeout()}, MarkdownDescription: description}
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "How long operations may take in all: texts such as `90s` or `1h30m`.",
		CustomType: timeouts.Type{ObjectType: types.ObjectType{AttrTypes: map[string]attr.Type{
			"create": types.StringType, "update": types.StringType, "delete": types.StringType,
		}}},
		Attributes: map[string]schema.Attribute{
			"create": timeout("How long creation may take in all, such as `20m`. Default: `wait_timeout` and five minutes."),
			"update": timeout("How long an update may take in all. Default: `wait_timeout` and five minutes."),
			"delete": timeout("How long deletion may take, until the last pod is gone. Default: `10m`."),
		},
	}
}

func identityAttributes() map[string]schema.Attribute {
	replace := []planmodifier.String{stringplanmodifier.RequiresReplace()}
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Required: true, PlanModifiers: replace, Validators: []validator.String{tf.ServiceName()},
			MarkdownDescription: "Name of the compute, its workload and its Service: an RFC 1035 label of at most 63 characters. Changing it replaces the compute.",
		},
		"namespace": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.NamespaceName()},
			PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown(), stringplanmodifier.RequiresReplace()},
			MarkdownDescription: "Namespace. If left out, it is found once, at creation: the provider's `namespace`, `KT_NAMESPACE`, `~/.kt/config.yaml`, the kubeconfig context's namespace, the pod's own, `default`. Changing it replaces the compute.",
		},
	}
}

func resourceAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"cpus":      quantity("CPUs that each pod requests, such as `0.5` or `500m`."),
		"memory":    quantity("Memory that each pod requests, such as `4Gi`."),
		"disk_size": quantity("Ephemeral storage that each pod requests, such as `10Gi`."),
		"gpus": schema.Int64Attribute{
			Optional: true, CustomType: tf.WholeNumberType{}, Validators: []validator.Int64{int64validator.AtLeast(0)},
			MarkdownDescription: "Whole GPUs of each pod (`nvidia.com/gpu`); 0 is none. Adds the tolerations that GPU nodes need.",
		},
		"gpu_type": schema.StringAttribute{
			Optional: true, Validators: []validator.String{tf.GPUType()},
			MarkdownDescription: "GPU product of the nodes to run on (label `nvidia.com/gpu.product`), or any node label as `key: value`.",
		},
		"gpu_memory": schema.StringAttribute{
			Optional: true, CustomType: tf.QuantityType{}, PlanModifiers: keepQuantity(),
			MarkdownDescription: "Share of one GPU's memory, such as `4Gi`, for the KAI scheduler's GPU sharing. Not together with `gpus`.",
		},
		"shared_memory_limit": quantity("Size limit of `/dev/shm`, such as `2Gi`. Default: the pod's memory limit, or half of the node's memory."),
		"replicas": schema.Int64Attribute{
			Optional: true, Computed: true, CustomType: tf.WholeNumberType{},
			Validators:          []validator.Int64{int64validator.Between(0, 1<<31-1)},
			MarkdownDescription: "Number of pods. With more than one, an update of a Deployment stops all of them before it starts new ones. Default: 1, `distribute.workers`, or what `manifest` says; none with `autoscale`.",
		},
	}
}

// What items of secrets and volumes must have is optional here, and required by
// checkRequired: for an item that is unknown as a whole, such as kt_volume.x.ref
// before it exists, the framework reports each required attribute as missing.
func podAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"labels": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			Validators:          tf.Labels(),
			MarkdownDescription: "Labels of the workload and its pods, over the provider's `default_labels`.",
		},
		"annotations": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.LabelKey())},
			MarkdownDescription: "Annotations of the workload and its pods, over the provider's `default_annotations`.",
		},
		"node_selector": schema.MapAttribute{
			Optional: true, ElementType: types.StringType,
			Validators:          tf.Labels(),
			MarkdownDescription: "Labels that a node must have.",
		},
		"tolerations": schema.ListNestedAttribute{
			Optional: true, Validators: []validator.List{tf.NoNulls()}, MarkdownDescription: "Taints that the pods tolerate, besides those of GPU nodes when `gpus` is set.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":                schema.StringAttribute{Optional: true, Validators: []validator.String{tf.LabelKey()}, MarkdownDescription: "Key of the taint; left out with `Exists`, every taint."},
				"operator":           schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.OneOf("Exists", "Equal")}, MarkdownDescription: "`Equal` (Kubernetes' default) or `Exists`."},
				"value":              schema.StringAttribute{Optional: true, Validators: []validator.String{tf.LabelValue()}, MarkdownDescription: "Value of the taint, with `Equal`."},
				"effect":             schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")}, MarkdownDescription: "Effect of the taint; left out, every effect."},
				"toleration_seconds": schema.Int64Attribute{Optional: true, CustomType: tf.WholeNumberType{}, MarkdownDescription: "How long a `NoExecute` taint is tolerated, in seconds."},
			}},
		},
		"service_account_name": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.ObjectName()},
			MarkdownDescription: "Service account of the pods. Default: what `manifest` says, else `kubetorch-service-account`; the namespace's own with `runtime = \"skytorch\"` or `\"kpu\"`.",
		},
		"priority_class_name": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Priority class of the pods."},
		"image_pull_policy":   schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.OneOf("Always", "IfNotPresent", "Never")}, MarkdownDescription: "`Always`, `IfNotPresent` or `Never`. Default: Kubernetes decides by the image's tag."},
		"working_dir":         schema.StringAttribute{Optional: true, Validators: []validator.String{tf.AbsolutePath()}, MarkdownDescription: "Working directory in the container, an absolute path."},
		"image": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.ImageReference()},
			MarkdownDescription: "Container image. Default: what `manifest` says, else `ghcr.io/run-house/server:v3`; with `runtime = \"skytorch\"` or `\"kpu\"` the operator's, and then null.",
		},
		"env_vars": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.EnvVarName())},
			MarkdownDescription: "Environment variables of the container; `$NAME` in a value is expanded by its shell, as in `$PATH:/custom/bin`. They show in the plan and in `manifests`: keep secret values in `secrets`.",
		},
		"secrets": schema.ListNestedAttribute{
			Optional: true, Validators: []validator.List{tf.NoNulls()}, MarkdownDescription: "Secrets of the same namespace, as environment variables, as files, or both.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"name": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Name of the Secret; required."},
				"env_vars": schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Keys of the Secret that become environment variables of the same name.",
					Validators: []validator.List{listvalidator.SizeAtLeast(1), tf.NoNulls(), listvalidator.ValueStringsAre(tf.EnvVarName())}},
				"mount_path": schema.StringAttribute{Optional: true, MarkdownDescription: "Folder that its keys are mounted into as files, read-only.",
					Validators: []validator.String{tf.MountPath()}},
				"default_mode": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.FileMode()},
					MarkdownDescription: "Permission bits of the files in `mount_path`, four octal digits from `0000` to `0777`, such as `0400`. Default: Kubernetes' own, `0644`; " +
						"`kt_secret`'s `ref` has `0400` for SSH keys. The files belong to root: [kt_secret](secret.md#permissions-of-files) says what pods of other users need. Changing this restarts the pods."},
			}},
		},
		"volumes": schema.ListNestedAttribute{
			Optional: true, Validators: []validator.List{tf.NoNulls()}, MarkdownDescription: "PersistentVolumeClaims of the same namespace to mount.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"claim_name": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Name of the claim; required."},
				"mount_path": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.MountPath()}, MarkdownDescription: "Where it is mounted, an absolute path; required."},
				"read_only":  schema.BoolAttribute{Optional: true, MarkdownDescription: "Mount it read-only."},
			}},
		},
	}
}

func behaviourAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"queue_name": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.LabelValue(), stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Queue that admits the pods: Kueue's LocalQueue or KAI's queue."},
		"queue_scheduler": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString("kueue"), Validators: []validator.String{stringvalidator.OneOf("kueue", "kai")},
			MarkdownDescription: "Whose queue `queue_name` is: `kueue` (default) or `kai`.",
		},
		"freeze":         toggle("No live code sync: nothing is installed at start-up, and the container has no SYS_PTRACE capability. For images that hold all code. Default: false."),
		"inactivity_ttl": duration("Kubetorch ends the compute after this long without calls, such as `2h`. Below one minute it may end too early."),
		"launch_timeout": duration("How long the server in a container may take to start, such as `30m`: the budget of the startup probe, after which Kubernetes restarts the container. " +
			"Default: the provider's, `15m`. Changing this restarts the pods; to only wait longer, set `wait_timeout`."),
		"kubetorch_version": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{tf.LabelValue(), stringvalidator.LengthAtLeast(1)},
			MarkdownDescription: "Release of Kubetorch that the pods install, such as `0.5.0`. Default: the provider's; else the one that the compute was created with, which moves to the provider release's own when the pods change anyway. " +
				"Changing this restarts the pods.",
		},
		"renderer_revision": schema.Int64Attribute{
			Optional: true, Computed: true, CustomType: tf.WholeNumberType{}, Validators: []validator.Int64{int64validator.AtLeast(1)},
			MarkdownDescription: "Revision of the start-up script and the probes. Default: the one that the compute was created with, which moves to the newest one when the pods change anyway. Changing this restarts the pods.",
		},
		"gpu_anti_affinity": schema.BoolAttribute{Optional: true, MarkdownDescription: "Keep the pods off GPU nodes; only without GPUs. Default: the provider's, false."},
		"logging": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "Logging of Kubetorch's server in the container. All but `level` is for the clients that read the log, and goes to the compute's KubetorchWorkload where its CRD is installed.",
			Attributes: loggingAttributes(),
		},
		"allowed_serialization": schema.ListAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Serialization formats that calls may use, such as `json` and `pickle`. Default: Kubetorch's.",
			Validators: []validator.List{listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), tf.NoNulls(), listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1), tf.LabelValue())},
		},
		"service_template": schema.StringAttribute{
			Optional: true, CustomType: jsontypes.NormalizedType{}, Validators: []validator.String{tf.JSONObject()},
			MarkdownDescription: "JSON that is merged over the rendered workload, last: objects field by field, lists of named items by `name`, other lists as a whole; null removes a field.",
		},
		"suspend": toggle("Scale to zero and keep everything else; false restores `replicas`. Default: false."),
		"endpoint": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "Another way to reach the pods than the compute's own Service.",
			Attributes: map[string]schema.Attribute{
				"url": schema.StringAttribute{Optional: true, MarkdownDescription: "URL of a Service or Ingress that exists; no Service is made.",
					Validators: []validator.String{tf.EndpointURL()}},
				"selector": schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: "Labels of the pods that the Service selects instead of the compute's own.",
					Validators: append(tf.Labels(), mapvalidator.SizeAtLeast(1))},
			},
		},
	}
}

func lifecycleAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"on_not_ready": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(failOnNotReady),
			Validators: []validator.String{stringvalidator.OneOf(failOnNotReady, warnOnNotReady, ignoreOnNotReady)},
			MarkdownDescription: "What a run does about a compute that cannot become ready: `error` (default), `warn`, or `ignore`, which does not wait. " +
				"This is about permanent failures. A wait that times out, is interrupted or loses the API server ends with a warning and `ready = false`, " +
				"and the next plan waits again: after an error, Terraform would destroy the compute. A postcondition on `self.ready` fails the run in these cases too.",
		},
		"wait_timeout": duration("How long an apply waits for the compute to become ready, such as `1h`. Default: `launch_timeout`. " +
			"Changing this changes no object and restarts nothing."),
		"adopt_existing":      toggle("Take over objects of the same name that exist already, whoever created them. Default: false, which makes them an error."),
		"deletion_protection": toggle("Refuse to delete or replace the compute until this is set to false and applied. Default: false."),
	}
}

func computedAttributes() map[string]schema.Attribute {
	computed := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"id":           computed("`namespace/name`."),
		"mode":         computed("What runs the pods: `deployment`, `knative`, `raycluster`, `compute` for a tensor server, the kind of `manifest` in lower case, or `selector` for pods that exist."),
		"service_name": computed("Name of the Service; that of the compute."),
		"url":          computed("Address inside of the cluster, `http://<name>.<namespace>.svc.cluster.local:80`, or `endpoint.url`; null with `runtime = \"skytorch\"` or `\"kpu\"`."),
		"grpc_target":  computed("Where gRPC clients inside of the cluster reach a tensor server, `<name>.<namespace>.svc.cluster.local:50051`; null with `runtime = \"kubetorch\"`."),
		"ready":        schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether the workload is ready now. False while it is suspended."},
		"uid":          computed("UID of the workload; none with `selector` alone."),
		"manifests": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "The fields that the provider owns of each object, as JSON by `Kind/namespace/name`: what will be applied, and in a refresh, what they hold now.",
		},
	}
}

func quantity(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: tf.QuantityType{}, PlanModifiers: keepQuantity(), MarkdownDescription: description}
}

func keepQuantity() []planmodifier.String { return []planmodifier.String{tf.KeepSameQuantity()} }

func duration(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: tf.DurationType{}, PlanModifiers: []planmodifier.String{tf.KeepSameDuration()}, MarkdownDescription: description}
}

func toggle(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false), MarkdownDescription: description}
}
