package queue

import (
	"fmt"
	"math"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

const description = "Manages a team's quota of GPUs and other resources of a cluster with " +
	"[Kueue](https://kueue.sigs.k8s.io/): a ClusterQueue, a LocalQueue in each namespace of the team, and " +
	"optionally the ResourceFlavors of the nodes. Or, with `kai`, a Queue of the " +
	"[KAI scheduler](https://github.com/kai-scheduler/KAI-Scheduler). A `kt_compute` is queued with " +
	"`queue_name = kt_queue.….name`.\n\nRequires Kueue 0.15 or newer (API version v1beta2), or KAI."

func attributes() map[string]schema.Attribute {
	return lifecycle.WithCommon(map[string]schema.Attribute{
		"name": tf.RequiredText("Name of the ClusterQueue and of the LocalQueues, or of the Queue of KAI. At most 63 "+
			"lowercase letters, digits, dashes and dots. A ClusterQueue and a Queue have no namespace, so the name "+
			"must be unique in the cluster. Changing this replaces the queue.",
			tf.ObjectName(), stringvalidator.LengthAtMost(63)),
		"namespace": tf.OptionalComputedText("Namespace of the team, with a LocalQueue. Defaults to a namespace that "+
			"is resolved once, at creation, like the namespace of `kt_compute`. With `kai`, it is only part of the "+
			"ID. Changing this replaces the queue.", tf.NamespaceName()),
		"namespaces": tf.OptionalTexts("Other namespaces of the team. Each gets a LocalQueue with the same name.",
			listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), tf.NoNulls(),
			listvalidator.ValueStringsAre(tf.NamespaceName())),
		"flavors":    flavorsAttribute(),
		"preemption": preemptionAttribute(),
		"kai":        kaiAttribute(),
		"cohort": tf.OptionalText("Cohort of the queue. Queues in the same cohort can borrow the unused quota of each "+
			"other.", tf.ObjectName()),
		"fair_share_weight": tf.OptionalQuantity("Weight of the queue when the queues of a cohort compete for unused " +
			"quota, such as `2` or `500m`. Requires fair sharing in the configuration of Kueue, which defaults to a " +
			"weight of 1."),
		"admission_checks": tf.OptionalTexts("Names of the AdmissionChecks that a workload must pass in addition to "+
			"the quota.",
			listvalidator.SizeAtLeast(1), listvalidator.UniqueValues(), tf.NoNulls(),
			listvalidator.ValueStringsAre(tf.ObjectName())),
		"queueing_strategy": tf.OptionalText("Order of the workloads: `BestEffortFIFO`, where a workload that does "+
			"not fit does not block newer ones, or `StrictFIFO`, where it does. Kueue defaults to `BestEffortFIFO`.",
			stringvalidator.OneOf(kueue.QueueingStrategies()...)),
		"stop_policy": tf.OptionalText("Policy for stopping the queue: `None` (not stopped), `Hold` (admits no "+
			"workloads, admitted ones continue) or `HoldAndDrain` (also evicts admitted ones). Kueue defaults to "+
			"`None`.",
			stringvalidator.OneOf(kueue.StopPolicies()...)),
		"wait_for_active": tf.OptionalBool("Whether to wait until the ClusterQueue is active. Defaults to `true`, " +
			"except for a queue that `stop_policy` stops."),
		"adopt_existing": tf.Toggle("Whether to take over existing objects of the same names, regardless of who " +
			"created them. Defaults to `false`, in which case an existing object is an error."),
		"timeouts": lifecycle.TimeoutsAttribute(
			"Timeout of the creation, until the queue is active. Defaults to `2m`.",
			"Timeout of an update, until the queue is active. Defaults to `2m`.",
			"Timeout of the deletion, including the wait for admitted workloads. Defaults to `10m`."),

		"uid": tf.ComputedString("UID of the ClusterQueue, or of the Queue of KAI."),
		"active": tf.ComputedBool("Whether the ClusterQueue is active, and can admit workloads. A Queue of KAI is " +
			"active once it exists."),
		"pending_workloads": tf.ComputedInteger("Number of workloads that wait in the queue. Null with `kai`."),
		"admitted_workloads": tf.ComputedInteger("Number of workloads that are admitted and have not finished. Null " +
			"with `kai`."),
		"usage": schema.MapAttribute{
			Computed: true, ElementType: types.MapType{ElemType: types.StringType},
			MarkdownDescription: "Reserved quota by flavor and resource, including what is borrowed, such as " +
				"`usage[\"h100\"][\"nvidia.com/gpu\"]`. With `kai`, the keys are `allocated` and `requested`, and " +
				"the quantities include those of the child queues.",
		},
		"manifests": tf.ComputedTextMap("Fields of the objects that the provider owns, as JSON by " +
			"`Kind/namespace/name`, without a namespace for an object of the cluster. A plan shows the " +
			"values to apply, a refresh the current values."),
	}, "queue", "the objects of the queue", "metadata.annotations[\"example.com/owner\"]")
}

func flavorsAttribute() schema.Attribute {
	return tf.OptionalObjects("ResourceFlavors (node types) with their quotas, in the order in which Kueue tries "+
		"them. Flavors that have a resource in common must have quotas for the same resources. Required without `kai`.",
		map[string]schema.Attribute{
			"name": tf.RequiredText("Name of the ResourceFlavor. It is created if `node_labels`, `node_taints`, "+
				"`tolerations` or `topology_name` is set. Otherwise it must exist, for example as a flavor of "+
				"another `kt_queue`.", tf.ObjectName()),
			"node_labels": tf.LabelMap("Labels of the nodes, such as `{ \"nvidia.com/gpu.product\" = " +
				"\"NVIDIA-H100-80GB-HBM3\" }`, or `{}` for all nodes. Kueue adds them to the node selectors of pods."),
			"node_taints": tf.OptionalObjects("Taints of the nodes. A workload gets the flavor only if it, or "+
				"`tolerations` of the flavor, tolerates them. `PreferNoSchedule` is ignored.",
				map[string]schema.Attribute{
					"key":   tf.RequiredText("Key of the taint.", tf.LabelKey()),
					"value": tf.OptionalText("Value of the taint.", tf.LabelValue()),
					"effect": tf.RequiredText("Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`.",
						tf.TaintEffect()),
				}, listvalidator.SizeAtLeast(1)),
			"tolerations": tf.OptionalObjects("Tolerations that Kueue adds to pods that get the flavor.",
				tf.TolerationAttributes(), listvalidator.SizeAtLeast(1)),
			"topology_name": tf.OptionalText("Name of a Topology, for topology-aware scheduling. Requires "+
				"`node_labels`. Once it is set, neither it nor `node_labels` and `tolerations` can be changed.",
				tf.ObjectName()),
			"quotas": schema.MapNestedAttribute{
				Required: true,
				Validators: []validator.Map{mapvalidator.SizeAtLeast(1), tf.NoNulls(),
					mapvalidator.KeysAre(tf.LabelKey())},
				MarkdownDescription: "Quotas by resource, such as `nvidia.com/gpu`, `cpu` or `memory`. Kueue does " +
					"not admit workloads that request a resource without a quota.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"nominal": tf.RequiredQuantity("Quota of the queue, such as `16` or `1Ti`. What is unused can be " +
						"borrowed by the cohort, up to `lending_limit`."),
					"borrowing_limit": tf.OptionalQuantity("Maximum quantity to borrow from the cohort. If not set, " +
						"there is no limit. Requires `cohort`."),
					"lending_limit": tf.OptionalQuantity("Maximum unused quantity that the queue lends to the " +
						"cohort, at most `nominal`. If not set, there is no limit. Requires `cohort`."),
				}},
			},
		})
}

func preemptionAttribute() schema.Attribute {
	policy := func(text string, values []string) schema.StringAttribute {
		return tf.OptionalText(fmt.Sprintf("%s One of `%s`. Kueue defaults to `%s`.", text,
			strings.Join(values, "`, `"), kueue.Never), stringvalidator.OneOf(values...))
	}
	return tf.OptionalObject("Which admitted workloads Kueue may evict for a workload of this queue. If not set, it "+
		"evicts none.", map[string]schema.Attribute{
		"within_cluster_queue": policy("Eviction of workloads of this queue.", kueue.WithinClusterQueuePolicies()),
		"reclaim_within_cohort": policy("Eviction of workloads of other queues of the cohort that use borrowed "+
			"quota.",
			kueue.ReclaimWithinCohortPolicies()),
		"borrow_within_cohort": policy("Eviction of workloads of other queues of the cohort for a workload that "+
			"must borrow. Requires `reclaim_within_cohort`, and has no effect with fair sharing.",
			kueue.BorrowWithinCohortPolicies()),
		"max_priority_threshold": tf.OptionalInteger("Maximum priority of workloads that are evicted by "+
			"`borrow_within_cohort`. If not set, there is no limit.",
			int64validator.Between(math.MinInt32, math.MaxInt32)),
	})
}
