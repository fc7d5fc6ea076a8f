package queue

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func kaiAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		Validators: []validator.Object{objectvalidator.ConflictsWith(
			path.MatchRoot("flavors"), path.MatchRoot("namespaces"), path.MatchRoot("preemption"),
			path.MatchRoot("cohort"), path.MatchRoot("fair_share_weight"), path.MatchRoot("admission_checks"),
			path.MatchRoot("queueing_strategy"), path.MatchRoot("stop_policy"), path.MatchRoot("wait_for_active"))},
		MarkdownDescription: "Queue of the [KAI scheduler](https://github.com/kai-scheduler/KAI-Scheduler), instead " +
			"of one of Kueue. Requires KAI's API version v2. Only a queue without child queues schedules workloads. " +
			"Excludes `flavors` and the other attributes of Kueue. Adding or removing it replaces the queue.",
		Attributes: map[string]schema.Attribute{
			"parent_queue": tf.OptionalText("Name of the parent queue, such as `kt_queue.….name`. Until it exists, "+
				"KAI ignores the queue. The plan warns if it is missing, or if its quotas are smaller.",
				tf.ObjectName()),
			"display_name": tf.OptionalText("Human-readable name of the queue.", stringvalidator.LengthAtLeast(1)),
			"priority": tf.OptionalInteger("Priority of the queue in the division of the resources that are left " +
				"after all quotas. KAI defaults to 100."),
			"preempt_min_runtime": tf.OptionalDuration("Minimum run time of a workload before KAI evicts it for a " +
				"workload of the same queue with a higher priority, such as `10m`."),
			"reclaim_min_runtime": tf.OptionalDuration("Minimum run time of a workload before KAI evicts it to give " +
				"the resources back to another queue, such as `1h`."),
			"gpu":    shareAttribute("GPUs", "`8` or `0.5`"),
			"cpu":    shareAttribute("CPUs", "`64` or `500m`"),
			"memory": shareAttribute("Memory", "`512Gi`"),
		},
	}
}

func shareAttribute(what, example string) schema.Attribute {
	amount := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Required: true, CustomType: tf.LimitType{},
			PlanModifiers: []planmodifier.String{tf.KeepSameLimit()}, MarkdownDescription: description}
	}
	return tf.RequiredObject(what+" of the queue.", map[string]schema.Attribute{
		"quota": amount("Guaranteed quantity, such as " + example + ", or `-1` for no limit."),
		"limit": amount("Maximum quantity, including what other queues do not use, or `-1` for no limit. With `0`, " +
			"the queue gets nothing above its quota."),
		"over_quota_weight": schema.Float64Attribute{Optional: true,
			Validators: []validator.Float64{float64validator.AtLeast(0)},
			MarkdownDescription: "Weight of the queue in the division of the quantity that is left after all " +
				"quotas. KAI defaults to 0, with which the queue gets none of it."},
	})
}
