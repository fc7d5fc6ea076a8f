package compute

import (
	"math"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// jobAttributes returns the attributes of a compute that runs to its end.
func jobAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"job": tf.OptionalObject("Runs `command` until it succeeds, in a Job, such as `job = {}`. `replicas` is the "+
			"number of pods that run at a time, each with its index in `JOB_COMPLETION_INDEX`. With more than one, "+
			"they find each other as `<name>-<index>.<name>-headless`. A failed pod is kept, and another one starts. "+
			"Without `port`, there is no Service, and `url` is null. The pods of a Job are immutable, so that most "+
			"changes replace the compute. So do more `replicas` after its end.", map[string]schema.Attribute{
			"completions": atLeast(1, "Number of pods that must succeed. Defaults to `replicas`."),
			"backoff_limit": atLeast(0, "Number of failed pods after which the Job fails. Defaults to the default of "+
				"Kubernetes, `6`."),
			"active_deadline": tf.OptionalDuration("Time after which a Job that still runs fails, in whole seconds, " +
				"such as `12h`. Defaults to none."),
			"ttl": tf.OptionalDuration("Time after its end until Kubernetes deletes the Job, in whole seconds, such " +
				"as `1h`. The next apply creates it again, and it runs again, unless the compute is destroyed or " +
				"removed from the configuration before. Defaults to none: the Job is kept."),
			"pod_failure_policy": tf.OptionalObjects("Rules for failed pods, of which the first one that matches "+
				"applies ([pod failure policy](https://kubernetes.io/docs/concepts/workloads/controllers/job/"+
				"#pod-failure-policy)).", podFailureRule(), listvalidator.SizeBetween(1, 20)),
		}),
	}
}

func podFailureRule() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"action": tf.RequiredText("What a match does: `FailJob` ends the Job, `Ignore` does not count the failure, "+
			"`Count` counts it.", stringvalidator.OneOf(string(batchv1.PodFailurePolicyActionFailJob),
			string(batchv1.PodFailurePolicyActionIgnore), string(batchv1.PodFailurePolicyActionCount))),
		"on_exit_codes": tf.OptionalObject("Matches exit codes of a container.", map[string]schema.Attribute{
			"container_name": tf.OptionalText("Name of the container, `kubetorch` for the one that runs `command`. " +
				"Defaults to any."),
			"operator": tf.RequiredText("`In` or `NotIn`.", stringvalidator.OneOf(
				string(batchv1.PodFailurePolicyOnExitCodesOpIn), string(batchv1.PodFailurePolicyOnExitCodesOpNotIn))),
			"values": schema.ListAttribute{
				Required: true, ElementType: types.Int64Type, MarkdownDescription: "Exit codes.",
				Validators: []validator.List{listvalidator.SizeBetween(1, 255), listvalidator.UniqueValues(),
					listvalidator.ValueInt64sAre(int64validator.Between(0, math.MaxInt32))},
			},
		}),
		"on_pod_conditions": tf.OptionalObjects("Matches conditions of the pod.", map[string]schema.Attribute{
			"type": tf.RequiredText("Type of the condition, such as `DisruptionTarget` for a pod that was preempted, " +
				"or evicted with its node."),
			"status": tf.OptionalText("Status of the condition. Defaults to `True`.", stringvalidator.OneOf(
				string(corev1.ConditionTrue), string(corev1.ConditionFalse), string(corev1.ConditionUnknown))),
		}, listvalidator.SizeBetween(1, 20)),
	}
}
