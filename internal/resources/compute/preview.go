package compute

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// preview compares what is planned with the cluster, before the apply does.
type preview struct{ *planner }

// run validates each new or changed object with a server-side dry run, and warns of what the plan does not show. An
// unchanged object costs no request.
func (p *preview) run(ctx context.Context) {
	changes, _ := p.rendered.ChangedFrom(p.prior)
	if len(changes) == 0 || p.Short() || p.otherIdentity {
		return // Terraform plans the replacement next, as a creation
	}
	changed := sorted(changes)
	validated := true
	p.Data.Run.Preview(func() { validated = p.validate(ctx, changed) })
	if !validated {
		return
	}
	p.warnOfUnchangedPods(ctx)
	p.warnOfRestart()
	if workload := workloadIn(changes); workload != nil && !p.Plan.Suspend.ValueBool() {
		p.warnOfQueue(ctx, workload)
		p.warnOfGPUs(ctx, workload)
		p.warnOfSurge(workload)
		p.warnOfAddedContainer(workload)
	}
	p.warnOfMissingRequests()
	p.warnOfServiceAccount(ctx)
	p.warnOfExposure(ctx)
	p.warnOfDisruptionBudget()
}

// validate validates the changed objects. It returns false if further checks would only report the same problem.
func (p *preview) validate(ctx context.Context, changed []*unstructured.Unstructured) bool {
	complete := true
	for _, obj := range changed {
		key := manifest.Key(obj)
		before, exists := p.prior[key]
		if !exists && obj.GetKind() == kind.ScaledObject().Kind && withRole(p.prior, manifest.RoleAutoscaler) != nil {
			// KEDA's webhook rejects it until the apply has deleted the other autoscaler.
			ref := kube.Ref{Kind: kind.ScaledObject(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
			forecast := owned.PreviewOwner(ctx, p.Data.Cluster, ref, p.Creation())
			p.Diags.Append(forecast.Diagnostics(p.Creating, false)...)
			continue
		}
		if sent, err := mergeForeign(ctx, p.Data.Cluster, p.Memory(), before, obj); err == nil {
			obj = sent // otherwise the dry run fails with the same error
		}
		verdict := p.DryRun(ctx, obj, exists, p.replacedUID(ctx, obj))
		if exists && (verdict.Is(kube.Immutable) || p.needsNewRun(ctx, verdict, obj, before)) {
			p.replaceObjects()
		}
		if verdict.Unreachable() || p.Diags.HasError() {
			return false
		}
		complete = complete && !verdict.Is(kube.PodsRefused)
	}
	return complete
}

// needsNewRun reports whether a planned object is a workload that has ended, and only a new one runs its pods. A
// template that a running workload uses for new pods has no effect then.
func (p *preview) needsNewRun(
	ctx context.Context, verdict owned.Forecast, planned *unstructured.Unstructured, before *owned.Object,
) bool {
	if verdict.Err != nil || !isWorkload(planned) {
		return false
	}
	live, err := p.Data.Cluster.Store.Get(ctx, verdict.Ref)
	of := kind.WorkloadOf(verdict.Ref.Kind.GroupKind())
	return err == nil && (kind.NeedsNewRun(of, planned.Object, before.Content.Object, live.Object) ||
		of.Ends && kind.Ended(live.Object) && manifest.KeepsPods(before.Content, planned))
}

// replacedUID returns the UID of the object that is deleted before obj is created: the object of the replaced compute,
// or one that an operator created for it, such as the Service of a tensor server.
func (p *preview) replacedUID(ctx context.Context, obj *unstructured.Unstructured) apitypes.UID {
	if len(p.Replaced) == 0 {
		return ""
	}
	ref, err := p.Data.Cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return ""
	}
	live, err := p.Data.Cluster.Store.Get(ctx, ref)
	if err != nil || !isDeletedWith(p.Replaced, live) {
		return ""
	}
	return live.GetUID()
}
