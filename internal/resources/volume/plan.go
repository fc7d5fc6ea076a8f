package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// planner completes one plan. [hooks.Plan] calls its methods in order.
type planner struct {
	*planning

	before      *model       // the existing claim, from state or from the cluster; nil for a new claim
	replacedUID apitypes.UID // of an existing claim that is deleted first
	resizes     bool
	// selectsAtApply is true if the provider selects the storage class at apply.
	selectsAtApply bool
}

// Plan renders the claim, rejects changes that would lose data, and runs a server-side dry run.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := &planner{planning: planned}
	if p.Creating {
		p.planReplacement(ctx)
		p.findExisting(ctx)
	} else {
		p.before = p.State
		p.SetDestroyRequested(ctx, false)
	}
	p.setImmutable(ctx)
	p.checkImmutable()
	p.resize(ctx)
	replaces := len(p.Replace) > 0
	if !p.Creating && replaces != p.PrivateState.Empty {
		p.PrivateState.Empty = replaces // it may remain from a failed replacement
		p.SavePrivateState(ctx)
	}
	if replaces {
		return // Terraform plans the replacement next, as a creation
	}
	if !p.Diags.HasError() {
		p.render(ctx)
	}
	if !p.Diags.HasError() {
		p.dryRun(ctx)
	}
	p.setComputed()
	p.PreserveImported(p.PrivateState.Imported)
}

// planReplacement plans the deletion of a volume that this one replaces.
func (p *planner) planReplacement(ctx context.Context) {
	if len(p.Replaced) == 0 {
		return
	}
	p.Diags.Append(owned.RefuseIfProtected(p.ReplacedPrivateState.Protected, "volume", p.Plan.Name.ValueString())...)
	// Unless its deletion was requested, a claim that is bound at apply is kept.
	p.SetDestroyRequested(ctx, !p.ReplacedPrivateState.Empty)
}

// findExisting finds a claim that a new volume would take over: an adopted one, or one of an unfinished creation. It
// ignores a claim that is deleted first. It also ignores a claim of an unfinished creation or of a tainted volume if it
// is not bound, because it contains no data and is created again if necessary.
func (p *planner) findExisting(ctx context.Context) {
	if p.Plan.ID.IsUnknown() || !p.Data.Configured() {
		return
	}
	live, err := p.Data.Cluster.Look(ctx, p.Plan.claimRef())
	if err != nil || live == nil { // the dry run reports read errors
		return
	}
	creation := p.Creation()
	if err := creation.Admit(p.Plan.claimRef(), live); err != nil {
		p.Diags.Append(owned.Failure(err))
		return
	}
	if creation.Adopt && !creation.Holds(live) {
		p.Diags.Append(deletedWarning(p.Plan.claimRef(), live)...)
	}
	switch {
	case live.GetDeletionTimestamp() != nil, p.Replaced[p.Plan.key()].UID == live.GetUID(),
		!claim.Bound(live) && (!creation.Adopt || creation.Holds(live)):
		p.replacedUID = live.GetUID()
	default:
		p.before = &model{Common: lifecycle.Common{Name: p.Plan.Name, Namespace: p.Plan.Namespace}}
		p.before.observe(live)
	}
}

// render sets manifests.
func (p *planner) render(ctx context.Context) {
	if !p.ConfigKnown() || !p.Data.Configured() || p.Plan.ID.IsUnknown() || p.Plan.StorageClass.IsUnknown() {
		p.Plan.Manifests = types.MapUnknown(types.StringType)
		return
	}
	rendered := *p.Plan
	if p.Config.StorageClass.IsNull() && !p.Creating && !p.State.appliesClass() {
		rendered.StorageClass = types.StringNull() // Kubernetes selected it and still owns it
	}
	var diags diag.Diagnostics
	p.Plan.Manifests, diags = rendered.render(ctx, p.Data.Defaults)
	p.Diags.Append(diags...)
	p.preserveForeign(ctx, rendered.StorageClass)
}

// preserveForeign keeps the claim of another client as it is while the configuration renders the same as the state of
// its import. The claim becomes owned with the first change of an attribute.
func (p *planner) preserveForeign(ctx context.Context, class types.String) {
	if p.Creating || !p.PrivateState.Imported || !p.Memory().NeverApplied(p.Plan.key()) {
		return
	}
	imported := *p.State
	imported.StorageClass = class
	manifests, diags := imported.render(ctx, p.Data.Defaults)
	if !diags.HasError() && manifests.Equal(p.Plan.Manifests) {
		p.Plan.Manifests = p.State.Manifests
	}
}

// dryRun runs a server-side dry run for a new or changed claim.
func (p *planner) dryRun(ctx context.Context) {
	object, err := owned.ObjectIn(p.Plan.Manifests)
	if err != nil {
		p.Diags.AddError("Cannot read the plan", err.Error())
		return
	}
	if object == nil || p.Short() || !p.Creating && p.Plan.Manifests.Equal(p.State.Manifests) {
		return
	}
	p.Data.Run.Preview(func() {
		forecast := p.DryRun(ctx, object, !p.Creating, p.replacedUID)
		if forecast.Is(kube.Immutable) && !p.Creating { // a replacement would delete the data
			p.Diags.AddError("Immutable PersistentVolumeClaim field changed",
				"The plan would change an immutable field of "+p.Plan.claimRef().String()+
					".\n\nNext step: Check what the plan changes in `manifests`, and revert this change.")
		}
	})
}

// setComputed sets the other computed attributes.
func (p *planner) setComputed() {
	p.Plan.Ref = p.Plan.ref()
	if p.selectsAtApply { // see newClass
		p.Plan.StorageClass, p.Plan.Manifests = types.StringUnknown(), types.MapUnknown(types.StringType)
	}
	waits := p.Creating || p.resizes || p.PrivateState.Waiting
	p.Plan.UID = p.UID(p.State.UID, waits || !p.Plan.Manifests.Equal(p.State.Manifests))
	p.Plan.claimStatus = p.State.claimStatus
	if waits {
		p.Plan.claimStatus = unknownStatus()
	}
}
