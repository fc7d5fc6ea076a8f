package queue

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// model is one kt_queue. Collections are Terraform values, because any of them may be unknown in a plan.
type model struct {
	lifecycle.Common

	Namespaces       types.List   `tfsdk:"namespaces"`
	Cohort           types.String `tfsdk:"cohort"`
	Flavors          types.List   `tfsdk:"flavors"`
	Preemption       types.Object `tfsdk:"preemption"`
	FairShareWeight  tf.Quantity  `tfsdk:"fair_share_weight"`
	AdmissionChecks  types.List   `tfsdk:"admission_checks"`
	QueueingStrategy types.String `tfsdk:"queueing_strategy"`
	StopPolicy       types.String `tfsdk:"stop_policy"`
	Labels           types.Map    `tfsdk:"labels"`
	Annotations      types.Map    `tfsdk:"annotations"`

	WaitForActive types.Bool `tfsdk:"wait_for_active"`

	queueStatus
}

// queueStatus contains the attributes that Kueue reports.
type queueStatus struct {
	Active            types.Bool  `tfsdk:"active"`
	PendingWorkloads  types.Int64 `tfsdk:"pending_workloads"`
	AdmittedWorkloads types.Int64 `tfsdk:"admitted_workloads"`
	Usage             types.Map   `tfsdk:"usage"`
}

type flavorModel struct {
	Name         types.String `tfsdk:"name"`
	NodeLabels   types.Map    `tfsdk:"node_labels"`
	NodeTaints   types.List   `tfsdk:"node_taints"`
	Tolerations  types.List   `tfsdk:"tolerations"`
	TopologyName types.String `tfsdk:"topology_name"`
	Quotas       types.Map    `tfsdk:"quotas"`
}

// definesFlavor reports whether the flavor is created rather than referenced.
func (f flavorModel) definesFlavor() bool {
	return !f.NodeLabels.IsNull() || !f.NodeTaints.IsNull() || !f.Tolerations.IsNull() || !f.TopologyName.IsNull()
}

type taintModel struct {
	Key    types.String `tfsdk:"key"`
	Value  types.String `tfsdk:"value"`
	Effect types.String `tfsdk:"effect"`
}

type quotaModel struct {
	Nominal        tf.Quantity `tfsdk:"nominal"`
	BorrowingLimit tf.Quantity `tfsdk:"borrowing_limit"`
	LendingLimit   tf.Quantity `tfsdk:"lending_limit"`
}

type preemptionModel struct {
	WithinClusterQueue   types.String `tfsdk:"within_cluster_queue"`
	ReclaimWithinCohort  types.String `tfsdk:"reclaim_within_cohort"`
	BorrowWithinCohort   types.String `tfsdk:"borrow_within_cohort"`
	MaxPriorityThreshold types.Int64  `tfsdk:"max_priority_threshold"`
}

func usageType() types.MapType { return types.MapType{ElemType: types.StringType} }

func unknownStatus() queueStatus {
	return queueStatus{types.BoolUnknown(), types.Int64Unknown(), types.Int64Unknown(), types.MapUnknown(usageType())}
}

// statusOf returns the attributes for the status of the ClusterQueue.
func statusOf(status ready.ClusterQueueStatus) queueStatus {
	usage := map[string]attr.Value{}
	for flavor, resources := range status.Reserved {
		texts := map[string]string{}
		for name, quantity := range resources {
			texts[name] = quantity.String()
		}
		usage[flavor] = tf.TextMap(texts)
	}
	return queueStatus{types.BoolValue(status.Verdict.Ready), types.Int64Value(status.Pending),
		types.Int64Value(status.Admitted), types.MapValueMust(usageType(), usage)}
}

// setStatus sets the UID and the status from the live ClusterQueue. Without one, the queue is inactive and empty.
func (m *model) setStatus(live *unstructured.Unstructured) {
	m.UID = types.StringNull()
	if live != nil {
		m.UID = types.StringValue(string(live.GetUID()))
	}
	m.queueStatus = statusOf(ready.AssessClusterQueue(live))
}

// waits reports whether the apply waits until the queue is active.
func (m *model) waits() bool {
	if m.WaitForActive.IsNull() {
		return m.StopPolicy.IsNull() || m.StopPolicy.ValueString() == kueue.StopPolicies()[0]
	}
	return m.WaitForActive.ValueBool()
}

func (m *model) clusterQueueRef() kube.Ref {
	return kube.Ref{Kind: kind.ClusterQueue(kind.KueueVersion), Name: m.Name.ValueString()}
}

func isClusterQueue(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == kind.ClusterQueue(kind.KueueVersion).Kind
}

func flavorRef(name string) kube.Ref {
	return kube.Ref{Kind: kind.ResourceFlavor(kind.KueueVersion), Name: name}
}

// localQueueRefs returns the LocalQueues in the namespace of the queue and in others.
func (m *model) localQueueRefs(others []string) []kube.Ref {
	namespaces := append([]string{m.Namespace.ValueString()}, others...)
	slices.Sort(namespaces)
	var refs []kube.Ref
	for _, namespace := range slices.Compact(namespaces) {
		refs = append(refs, kube.Ref{Kind: kind.LocalQueue(kind.KueueVersion), Namespace: namespace,
			Name: m.Name.ValueString()})
	}
	return refs
}
