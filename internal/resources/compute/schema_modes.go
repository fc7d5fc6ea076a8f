package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// modeAttributes returns the attributes that select the kind of the workload.
func modeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"autoscale": tf.OptionalObject("Autoscaling, which adds and removes pods by load, as `scaler` selects. "+
			"The autoscaler controls the number of pods. Conflicts with `replicas`.", autoscaleAttributes()),
		"distribute": tf.OptionalObject("Distribution of the compute over several workers: a RayCluster for `ray`, "+
			"otherwise a Deployment with the headless Service `<name>-headless`.", distributeAttributes()),
		"manifest": schema.StringAttribute{
			Optional: true, CustomType: tf.DocumentType{}, PlanModifiers: []planmodifier.String{tf.KeepSameDocument()},
			MarkdownDescription: "Custom workload, as YAML or JSON: a Deployment, StatefulSet, DaemonSet, " +
				"ReplicaSet, Job, CronJob, Pod, Knative Service, RayCluster, RayJob, PyTorchJob, TFJob, MXJob, " +
				"XGBoostJob, JobSet or LeaderWorkerSet, or another kind with `pod_template_path`. " +
				"The defaults of Kubetorch and the other attributes are merged into it, but do not override its " +
				"fields. The main container is `pytorch`, `tensorflow`, `mxnet` or `xgboost` in the respective " +
				"training jobs, otherwise `kubetorch`.",
		},
		"manifest_only": tf.OptionalBool("Whether the compute consists of exactly `manifest`: no label, container, " +
			"probe or Service of Kubetorch is added. `replicas` and `suspend` are the only attributes about " +
			"workloads and pods that can be set. `url` is null. " +
			"Use it to adopt a workload that another client created without restarting its pods. Defaults to `false`."),
		"pod_template_path": tf.OptionalText("Path of the pod template in a `manifest` of a kind that the provider "+
			"does not support by name, such as `spec.template`.", tf.FieldPath()),
		"selector": tf.OptionalTextMap("Labels of existing pods. Without `manifest`, no workload is created, only a "+
			"Service (and the registration with Kubetorch) for these pods. With `manifest`, selects the pods of the "+
			"workload that receive the calls.", append(tf.Labels(), mapvalidator.SizeAtLeast(1))...),
	}
}

func imageSetupAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"config_map": tf.RequiredText("Name of the ConfigMap with `setup.sh`.", tf.ObjectName()),
		"digest": tf.RequiredText("Digest of the content of the ConfigMap. Changing this replaces the pods.",
			stringvalidator.LengthAtLeast(1)),
		"python_path": tf.OptionalText("Absolute path of the Python interpreter that runs the server. Defaults to "+
			"`python3`, otherwise `python`, in `PATH`.", tf.AbsolutePath()),
		"install_cmd": tf.OptionalText("Command that installs Kubetorch. Defaults to uv if the image contains it, "+
			"otherwise pip.", stringvalidator.LengthAtLeast(1)),
	}
}

func distributeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"type": tf.TextWithDefault(manifest.DefaultDistribution, "Type of the distribution: `spmd`, `pytorch`, "+
			"`jax`, `tensorflow`, `monarch` or `ray`. Defaults to `spmd`.",
			stringvalidator.OneOf(manifest.DefaultDistribution, "pytorch", "jax", "tensorflow", "monarch",
				kind.DistributionRay)),
		"workers": atLeast(1, "Number of pods, including the first one (the head of Ray). Defaults to `1`."),
		"quorum_workers": atLeast(1, "Number of workers that must be available before a call starts. Defaults to all "+
			"workers."),
		"quorum_timeout": tf.OptionalDuration("Maximum time that a call waits for the quorum. Defaults to " +
			"`launch_timeout`."),
		"monitor_members": tf.OptionalBool("Whether a change of the members ends a running call. Defaults to the " +
			"default of Kubetorch."),
		"args": tf.OptionalJSON("Additional settings of the type as JSON, such as `jsonencode({ num_proc = 8 })`. "+
			"Ray also supports `rayVersion`.", tf.JSONObject()),
	}
}

// loggingAttributes returns the attributes of Kubetorch's LoggingConfig.
func loggingAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"level": tf.TextWithDefault(manifest.DefaultLogLevel, "Log level of the server: `debug`, `info`, `warning` "+
			"or `error`. Defaults to `info`.", stringvalidator.OneOf("debug", "info", "warning", "error")),
		"stream_logs": tf.OptionalBool("Whether calls show the log. Defaults to the default of Kubetorch, `true`."),
		"include_system_logs": tf.OptionalBool("Whether calls also show the log lines of the server. Defaults to the " +
			"default of Kubetorch, `false`."),
		"include_events": tf.OptionalBool("Whether calls show Kubernetes events during startup. Defaults to the " +
			"default of Kubetorch, `true`."),
		"include_name": tf.OptionalBool("Whether each line starts with the name of the compute. Defaults to the " +
			"default of Kubetorch, `true`."),
		"grace_period": tf.OptionalDuration("Time that a call waits for late log lines. Defaults to the default of " +
			"Kubetorch, `2s`."),
		"poll_timeout": tf.OptionalDuration("Timeout of one poll for log lines. Defaults to the default of " +
			"Kubetorch, `1s`."),
		"shutdown_grace_period": tf.OptionalDuration("Time that the calling program waits for log lines before it " +
			"exits. Defaults to the default of Kubetorch, which does not wait."),
	}
}
