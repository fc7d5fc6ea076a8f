package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// modeAttributes decide what runs the pods.
func modeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"autoscale":  schema.SingleNestedAttribute{Optional: true, Attributes: autoscaleAttributes(), MarkdownDescription: "Run a Knative Service, which adds and removes pods by load. It reports the number of pods itself, so `replicas` is not set."},
		"distribute": schema.SingleNestedAttribute{Optional: true, Attributes: distributeAttributes(), MarkdownDescription: "Spread the compute over workers: a RayCluster for `ray`, else a Deployment with a headless Service `<name>-headless`."},
		"manifest": schema.StringAttribute{
			Optional: true, CustomType: tf.DocumentType{}, PlanModifiers: []planmodifier.String{tf.KeepSameDocument()},
			MarkdownDescription: "Your own workload, as YAML or JSON: a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, Pod, Knative Service, RayCluster, PyTorchJob, TFJob, MXJob, XGBoostJob, JobSet or LeaderWorkerSet, or another kind with `pod_template_path`. " +
				"Kubetorch's defaults and the other attributes are merged beneath it: what it says wins. The main container is the one named `pytorch`, `tensorflow`, `mxnet` or `xgboost` in the training jobs of these names, else `kubetorch`.",
		},
		"pod_template_path": schema.StringAttribute{
			Optional: true, Validators: []validator.String{tf.FieldPath()},
			MarkdownDescription: "Where the pod template is in a `manifest` of a kind that the provider does not know, such as `spec.template`.",
		},
		"selector": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, Validators: append(tf.Labels(), mapvalidator.SizeAtLeast(1)),
			MarkdownDescription: "Labels of pods that exist already. Alone, no workload is made: only a Service (and Kubetorch's registration) for these pods. With `manifest`, the pods of it that calls go to.",
		},
		"image_setup": schema.SingleNestedAttribute{
			Optional: true, MarkdownDescription: "How the container is set up before the server starts: `kt_image.x.setup`.",
			Attributes: map[string]schema.Attribute{
				"config_map":  schema.StringAttribute{Optional: true, Validators: []validator.String{tf.ObjectName()}, MarkdownDescription: "Name of the ConfigMap with `setup.sh`."},
				"digest":      schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Digest of its content: the pods are replaced when it changes."},
				"python_path": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.AbsolutePath()}, MarkdownDescription: "The python that runs the server. Default: `python3` or `python` in PATH."},
				"install_cmd": schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "Command that installs Kubetorch. Default: uv, else pip."},
			},
		},
	}
}

func autoscaleAttributes() map[string]schema.Attribute {
	scale := func(atLeast int64, description string) schema.Attribute {
		return schema.Int64Attribute{Optional: true, CustomType: tf.WholeNumberType{}, Validators: []validator.Int64{int64validator.Between(atLeast, 1<<31-1)}, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"min_scale":                          scale(0, "Fewest pods; 0 lets it scale to zero. Default: Knative's."),
		"max_scale":                          scale(0, "Most pods; 0 is no limit. Default: Knative's."),
		"initial_scale":                      scale(0, "Pods right after a change, before the load is known. Default: Knative's, 1."),
		"target":                             scale(1, "Load per pod that is aimed at, in the unit of `metric`."),
		"target_utilization":                 schema.Int64Attribute{Optional: true, CustomType: tf.WholeNumberType{}, Validators: []validator.Int64{int64validator.Between(1, 100)}, MarkdownDescription: "Percentage of `target` at which pods are added, 1 to 100. Default: Knative's, 70."},
		"metric":                             schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.LengthAtLeast(1)}, MarkdownDescription: "`concurrency` (Knative's default), `rps`, `cpu`, `memory`, or a metric of yours. `cpu` and `memory` need `autoscaler_class = \"hpa.autoscaling.knative.dev\"`."},
		"window":                             duration("Time over which the load is averaged, `6s` to `1h`. Default: Knative's, `60s`."),
		"concurrency":                        scale(0, "Most requests at a time in one pod (`containerConcurrency`); 0 is no limit. Default: no limit."),
		"scale_down_delay":                   duration("How long a lower load must last before pods are removed. Default: `1m`."),
		"scale_to_zero_pod_retention_period": duration("How long the last pod is kept before scaling to zero. Default: `10m`."),
		"autoscaler_class":                   schema.StringAttribute{Optional: true, Validators: []validator.String{stringvalidator.OneOf(kind.KPAClass, kind.HPAClass)}, MarkdownDescription: "`kpa.autoscaling.knative.dev` (Knative's default) or `hpa.autoscaling.knative.dev`."},
		"progress_deadline":                  duration("How long a revision may take to become ready. Default: the longest of `10m`, `launch_timeout` and a minute, and 1.2 times `launch_timeout`."),
		"extra_annotations":                  schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: []validator.Map{tf.NoNulls(), mapvalidator.KeysAre(tf.LabelKey())}, MarkdownDescription: "Further annotations of the pod template, for Knative."},
	}
}

// distributeTypes are the values of distribute.type.
func distributeTypes() []string {
	return []string{"spmd", "pytorch", "jax", "tensorflow", "monarch", kind.DistributionRay}
}

func distributeAttributes() map[string]schema.Attribute {
	workers := func(description string) schema.Attribute {
		return schema.Int64Attribute{Optional: true, CustomType: tf.WholeNumberType{}, Validators: []validator.Int64{int64validator.Between(1, 1<<31-1)}, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"type": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString("spmd"),
			Validators:          []validator.String{stringvalidator.OneOf(distributeTypes()...)},
			MarkdownDescription: "`spmd` (default), `pytorch`, `jax`, `tensorflow`, `monarch` or `ray`.",
		},
		"workers":         workers("Number of pods, the first one (Ray's head) included. Default: 1."),
		"quorum_workers":  workers("How many workers must be there before a call starts. Default: all."),
		"quorum_timeout":  duration("How long a call waits for them. Default: `launch_timeout`."),
		"monitor_members": schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether a change of the members ends a running call. Default: Kubetorch's."},
		"args": schema.StringAttribute{
			Optional: true, CustomType: jsontypes.NormalizedType{}, Validators: []validator.String{tf.JSONObject()},
			MarkdownDescription: "Further settings of the type as JSON, such as `jsonencode({ num_proc = 8 })`; for Ray also `rayVersion`.",
		},
	}
}

// loggingAttributes are Kubetorch's LoggingConfig.
func loggingAttributes() map[string]schema.Attribute {
	option := func(description string) schema.Attribute {
		return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
	}
	return map[string]schema.Attribute{
		"level": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString("info"),
			Validators:          []validator.String{stringvalidator.OneOf("debug", "info", "warning", "error")},
			MarkdownDescription: "`debug`, `info` (default), `warning` or `error`.",
		},
		"stream_logs":           option("Whether calls show the log. Default: Kubetorch's, true."),
		"include_system_logs":   option("Whether they show the server's own lines too. Default: Kubetorch's, false."),
		"include_events":        option("Whether they show Kubernetes events during start-up. Default: Kubetorch's, true."),
		"include_name":          option("Whether each line begins with the compute's name. Default: Kubetorch's, true."),
		"grace_period":          duration("How long a call waits for late lines. Default: Kubetorch's, `2s`."),
		"poll_timeout":          duration("How long one look for lines waits. Default: Kubetorch's, `1s`."),
		"shutdown_grace_period": duration("How long the end of the caller's program waits for lines. Default: Kubetorch's, none."),
	}
}
