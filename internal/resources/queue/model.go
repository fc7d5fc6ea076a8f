package queue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/api/resource"
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
	KAI              types.Object `tfsdk:"kai"` // excludes the attributes of Kueue

	WaitForActive types.Bool `tfsdk:"wait_for_active"`

	queueStatus
}

// queueStatus contains the attributes that Kueue or KAI reports.
type queueStatus struct {
	Active            types.Bool  `tfsdk:"active"`
	PendingWorkloads  types.Int64 `tfsdk:"pending_workloads"`
	AdmittedWorkloads types.Int64 `tfsdk:"admitted_workloads"`
	Usage             types.Map   `tfsdk:"usage"`
}

func usageType() types.MapType { return types.MapType{ElemType: types.StringType} }

func (m *model) unknownStatus() queueStatus {
	status := queueStatus{types.BoolUnknown(), types.Int64Unknown(), types.Int64Unknown(),
		types.MapUnknown(usageType())}
	if m.ofKAI() && !m.KAI.IsUnknown() {
		status.PendingWorkloads, status.AdmittedWorkloads = types.Int64Null(), types.Int64Null()
	}
	return status
}

func usageOf(quantities map[string]map[string]resource.Quantity) types.Map {
	usage := map[string]attr.Value{}
	for key, resources := range quantities {
		usage[key] = tf.TextMap(kind.EachValue(resources, func(q resource.Quantity) string { return q.String() }))
	}
	return types.MapValueMust(usageType(), usage)
}

// setStatus sets the UID and the status from the live queue. Without one, the queue is inactive and empty.
func (m *model) setStatus(live *unstructured.Unstructured) {
	m.UID = types.StringNull()
	if live != nil {
		m.UID = types.StringValue(string(live.GetUID()))
	}
	if m.ofKAI() {
		m.queueStatus = queueStatus{Active: types.BoolValue(live != nil), Usage: usageOf(ready.KAIUsage(live))}
		return
	}
	status := ready.AssessClusterQueue(live)
	m.queueStatus = queueStatus{types.BoolValue(status.Verdict.Ready), types.Int64Value(status.Pending),
		types.Int64Value(status.Admitted), usageOf(status.Reserved)}
}

// ofKAI reports whether KAI schedules the workloads of the queue, and not Kueue.
func (m *model) ofKAI() bool { return !m.KAI.IsNull() }

// waits reports whether the apply waits until the queue is active. A queue of KAI is active once it exists.
func (m *model) waits() bool {
	if m.ofKAI() {
		return false
	}
	if m.WaitForActive.IsNull() {
		return m.StopPolicy.IsNull() || m.StopPolicy.ValueString() == kueue.StopPolicies()[0]
	}
	return m.WaitForActive.ValueBool()
}

// ref returns the object with the quotas: a ClusterQueue, or a Queue of KAI.
func (m *model) ref() kube.Ref {
	if m.ofKAI() {
		return kaiQueueRef(m.Name.ValueString())
	}
	return kube.Ref{Kind: kind.ClusterQueue(kind.KueueVersion), Name: m.Name.ValueString()}
}

func kaiQueueRef(name string) kube.Ref { return kube.Ref{Kind: kind.KAIQueue(), Name: name} }

// hasQuotas reports whether an object is the one of [model.ref].
func hasQuotas(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == kind.ClusterQueue(kind.KueueVersion).Kind || isKAIQueue(obj)
}

// isImported reports whether an import finds an object, or the ClusterQueue of a LocalQueue.
func isImported(obj *unstructured.Unstructured) bool {
	return hasQuotas(obj) || kind.TextAt(obj.Object, "spec", "clusterQueue") == obj.GetName()
}

func isKAIQueue(obj *unstructured.Unstructured) bool { return obj.GetKind() == kind.KAIQueue().Kind }

func flavorRef(name string) kube.Ref {
	return kube.Ref{Kind: kind.ResourceFlavor(kind.KueueVersion), Name: name}
}

// spec converts a model without unknown values into the input of the renderer.
func (m *model) spec(ctx context.Context, defaults tf.Defaults) (spec, diag.Diagnostics) {
	c := tf.NewConverter(ctx)
	var out spec
	c.DecodeModel(m, &out.Queue)
	out.DefaultLabels, out.DefaultAnnotations = defaults.Labels, defaults.Annotations
	c.Decode(path.Root("kai"), m.KAI, &out.KAI)
	if q := out.KAI; q != nil { // the other attributes are those of the queue
		q.Name, q.Labels, q.Annotations = out.Name, out.Labels, out.Annotations
		q.DefaultLabels, q.DefaultAnnotations = out.DefaultLabels, out.DefaultAnnotations
	}
	return out, c.Diags
}

// follow updates the attributes with the differences between two observations of the objects. An attribute whose field
// did not change keeps its notation.
func (m *model) follow(ctx context.Context, before, after spec) diag.Diagnostics {
	c := tf.NewConverter(ctx)
	m.KAI = tf.Follow(c, m.KAI, before.KAI, after.KAI)
	c.FollowModel(m, &before.Queue, &after.Queue, "Cohort", "Flavors", "Preemption", "FairShareWeight",
		"AdmissionChecks", "QueueingStrategy", "StopPolicy", "Labels", "Annotations")
	return c.Diags
}
