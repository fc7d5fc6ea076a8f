package queue

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type kaiModel struct {
	ParentQueue       types.String `tfsdk:"parent_queue"`
	DisplayName       types.String `tfsdk:"display_name"`
	Priority          types.Int64  `tfsdk:"priority"`
	PreemptMinRuntime tf.Duration  `tfsdk:"preempt_min_runtime"`
	ReclaimMinRuntime tf.Duration  `tfsdk:"reclaim_min_runtime"`
	GPU               types.Object `tfsdk:"gpu"`
	CPU               types.Object `tfsdk:"cpu"`
	Memory            types.Object `tfsdk:"memory"`
}

type shareModel struct {
	Quota           tf.Limit      `tfsdk:"quota"`
	Limit           tf.Limit      `tfsdk:"limit"`
	OverQuotaWeight types.Float64 `tfsdk:"over_quota_weight"`
}

func kaiAttribute() schema.Attribute {
	duration := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, CustomType: tf.DurationType{},
			PlanModifiers: []planmodifier.String{tf.KeepSameDuration()}, MarkdownDescription: description}
	}
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
			"parent_queue": optionalText("Name of the parent queue, such as `kt_queue.….name`. Until it exists, KAI "+
				"ignores the queue. The plan warns if it is missing, or if its quotas are smaller.", tf.ObjectName()),
			"display_name": optionalText("Human-readable name of the queue.", stringvalidator.LengthAtLeast(1)),
			"priority": schema.Int64Attribute{Optional: true, CustomType: tf.IntegerType{},
				MarkdownDescription: "Priority of the queue in the division of the resources that are left after all " +
					"quotas. KAI defaults to 100."},
			"preempt_min_runtime": duration("Minimum run time of a workload before KAI evicts it for a workload of " +
				"the same queue with a higher priority, such as `10m`."),
			"reclaim_min_runtime": duration("Minimum run time of a workload before KAI evicts it to give the " +
				"resources back to another queue, such as `1h`."),
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
	return schema.SingleNestedAttribute{
		Required: true, MarkdownDescription: what + " of the queue.",
		Attributes: map[string]schema.Attribute{
			"quota": amount("Guaranteed quantity, such as " + example + ", or `-1` for no limit."),
			"limit": amount("Maximum quantity, including what other queues do not use, or `-1` for no limit. With " +
				"`0`, the queue gets nothing above its quota."),
			"over_quota_weight": schema.Float64Attribute{Optional: true,
				Validators: []validator.Float64{float64validator.AtLeast(0)},
				MarkdownDescription: "Weight of the queue in the division of the quantity that is left after all " +
					"quotas. KAI defaults to 0, with which the queue gets none of it."},
		},
	}
}

// decodeKAI returns nil for a queue of Kueue. The other attributes are those of the queue.
func (c *converter) decodeKAI(object types.Object, common kueue.Queue) *kai.Queue {
	if object.IsNull() || object.IsUnknown() {
		return nil
	}
	var m kaiModel
	c.diags.Append(tf.Object(c.ctx, object, &m)...)
	at := path.Root("kai")
	return &kai.Queue{
		Name: common.Name, ParentQueue: m.ParentQueue.ValueString(), DisplayName: m.DisplayName.ValueString(),
		Priority:          m.Priority.ValueInt64Pointer(),
		PreemptMinRuntime: c.decodeDuration(at.AtName("preempt_min_runtime"), m.PreemptMinRuntime),
		ReclaimMinRuntime: c.decodeDuration(at.AtName("reclaim_min_runtime"), m.ReclaimMinRuntime),
		GPU:               c.decodeShare(at.AtName("gpu"), m.GPU), CPU: c.decodeShare(at.AtName("cpu"), m.CPU),
		Memory: c.decodeShare(at.AtName("memory"), m.Memory),
		Labels: common.Labels, Annotations: common.Annotations,
		DefaultLabels: common.DefaultLabels, DefaultAnnotations: common.DefaultAnnotations,
	}
}

func (c *converter) decodeDuration(at path.Path, text tf.Duration) *time.Duration {
	if text.IsNull() || text.IsUnknown() {
		return nil
	}
	d, err := manifest.ParseDuration(text.ValueString())
	if err != nil {
		c.diags.AddAttributeError(at, "Invalid duration", at.String()+" "+err.Error())
		return nil
	}
	return &d
}

func (c *converter) decodeShare(at path.Path, object types.Object) kai.Share {
	if object.IsNull() || object.IsUnknown() {
		return kai.Share{}
	}
	var m shareModel
	c.diags.Append(tf.Object(c.ctx, object, &m)...)
	return kai.Share{Quota: c.decodeLimit(at.AtName("quota"), m.Quota),
		Limit: c.decodeLimit(at.AtName("limit"), m.Limit), OverQuotaWeight: m.OverQuotaWeight.ValueFloat64Pointer()}
}

func (c *converter) decodeLimit(at path.Path, text tf.Limit) kai.Amount {
	if text.ValueString() == tf.NoLimit {
		return kai.Amount{Unlimited: true}
	}
	quantity := c.decodeQuantity(at, tf.Quantity(text))
	if quantity == nil {
		return kai.Amount{}
	}
	return kai.Amount{Quantity: *quantity}
}

// kaiEncoder returns a function that encodes a queue of KAI with the type of the attribute.
func (c *converter) kaiEncoder(attribute types.Object) func(*kai.Queue) types.Object {
	return func(q *kai.Queue) types.Object {
		of := attribute.AttributeTypes(c.ctx)
		if q == nil {
			return types.ObjectNull(of)
		}
		share := func(name string, s kai.Share) types.Object {
			object, _ := of[name].(basetypes.ObjectType)
			value, diags := types.ObjectValueFrom(c.ctx, object.AttrTypes, shareModel{encodeLimit(s.Quota),
				encodeLimit(s.Limit), types.Float64PointerValue(s.OverQuotaWeight)})
			c.diags.Append(diags...)
			return value
		}
		object, diags := types.ObjectValueFrom(c.ctx, of, kaiModel{
			ParentQueue: tf.TextOrNull(q.ParentQueue), DisplayName: tf.TextOrNull(q.DisplayName),
			Priority:          types.Int64PointerValue(q.Priority),
			PreemptMinRuntime: encodeDuration(q.PreemptMinRuntime),
			ReclaimMinRuntime: encodeDuration(q.ReclaimMinRuntime),
			GPU:               share("gpu", q.GPU), CPU: share("cpu", q.CPU), Memory: share("memory", q.Memory),
		})
		c.diags.Append(diags...)
		return object
	}
}

func encodeLimit(a kai.Amount) tf.Limit {
	if a.Unlimited {
		return tf.LimitOf(tf.NoLimit)
	}
	return tf.LimitOf(a.Quantity.String())
}

func encodeDuration(d *time.Duration) tf.Duration {
	if d == nil {
		return tf.DurationOf("")
	}
	return tf.DurationOf(manifest.FormatDuration(*d))
}
