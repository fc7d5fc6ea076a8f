package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// planner completes one plan. Its methods are called in the order in which they
// stand here.
type planner struct {
	*planning

	before  *model       // the claim as it is, of state or in the cluster; nil for a new one
	goes    apitypes.UID // of a claim in the way that is deleted first
	resizes bool
	// choosesLater reports that the provider chooses the storage class at apply.
	choosesLater bool
}

// PlanDestroy marks a plan in which somebody asked for the end of the volume.
func (hooks) PlanDestroy(ctx context.Context, private owned.PrivateWriter) diag.Diagnostics {
	return ask(ctx, private, true)
}

// Plan renders what will be applied, refuses what would lose data, and asks the
// cluster to validate the changes.
func (hooks) Plan(ctx context.Context, planned *planning) {
	p := &planner{planning: planned}
	if p.Creating {
		p.replacement(ctx)
		p.look(ctx)
	} else {
		p.before = p.State
		if before, _ := asked(ctx, p.Request.Private); before {
			p.Diags.Append(ask(ctx, p.Private, false)...)
		}
	}
	p.decide(ctx)
	p.keep()
	p.resize(ctx)
	replaces := len(p.Replace) > 0
	if !p.Creating && replaces != p.PrivateState.Empty {
		p.PrivateState.Empty = replaces // a replacement that failed may have left it
		p.SavePrivateState(ctx)
	}
	if replaces {
		return // Terraform plans the replacement next, as a creation
	}
	if !p.Diags.HasError() {
		p.render(ctx, p.Request.Config.Raw.IsFullyKnown())
	}
	if !p.Diags.HasError() {
		p.dryRun(ctx)
	}
	p.computed()
	p.keepImported()
}

// replacement is for a volume that is deleted before this one is created.
func (p *planner) replacement(ctx context.Context) {
	if len(p.Replaced) == 0 {
		return
	}
	p.Diags.Append(owned.RefuseIfProtected(p.ReplacedPrivateState.Protected, "volume", p.Plan.Name.ValueString())...)
	// Unless it was asked for, a claim that is bound by the time of the apply is kept.
	p.Diags.Append(ask(ctx, p.Private, !p.ReplacedPrivateState.Empty)...)
}

// look finds a claim that a new volume would take over: one that is adopted, or
// one of ours that an interrupted run did not put into state. One that goes
// first has no say, nor has one of ours that is not bound and so holds nothing:
// it is made anew if it has to be.
func (p *planner) look(ctx context.Context) {
	if p.Plan.ID.IsUnknown() || !p.Data.Configured() {
		return
	}
	live, err := p.Data.Cluster.Look(ctx, p.Plan.claimRef())
	if err != nil || live == nil { // the dry run says why it cannot be read
		return
	}
	creation := p.Creation()
	adopts := creation.Adopt
	if err := creation.Admit(p.Plan.claimRef(), live); err != nil {
		p.Diags.Append(owned.Failure(err))
		return
	}
	switch {
	case live.GetDeletionTimestamp() != nil, p.Replaced[p.Plan.key()].UID == live.GetUID(), !adopts && !claim.Bound(live):
		p.goes = live.GetUID()
	default:
		p.before = &model{Common: lifecycle.Common{Name: p.Plan.Name, Namespace: p.Plan.Namespace}}
		p.before.observe(live)
	}
}

// render fills in manifests.
func (p *planner) render(ctx context.Context, known bool) {
	if !known || !p.Data.Configured() || p.Plan.ID.IsUnknown() || p.Plan.StorageClass.IsUnknown() {
		p.Plan.Manifests = types.MapUnknown(types.StringType)
		return
	}
	rendered := *p.Plan
	if p.Config.StorageClass.IsNull() && !p.Creating && !p.State.appliesClass() {
		rendered.StorageClass = types.StringNull() // Kubernetes has chosen it, and goes on to own it
	}
	var diags diag.Diagnostics
	p.Plan.Manifests, diags = rendered.render(ctx, p.Data.Defaults)
	p.Diags.Append(diags...)
}

// keepImported keeps the default that an import gave to a setting of the
// provider alone, where the plan then changes nothing at all: an update takes
// every setting from the configuration.
func (p *planner) keepImported() {
	if p.Creating || !p.PrivateState.Imported {
		return
	}
	owned.PreserveImported(p.Plan, p.State, func(plan *model) {
		owned.PreserveSetting(&plan.AdoptExisting, p.State.AdoptExisting, p.Config.AdoptExisting)
	})
}

// dryRun asks the server about a claim that is new or changes.
func (p *planner) dryRun(ctx context.Context) {
	object, err := p.Plan.object()
	if err != nil {
		p.Diags.AddError("The plan cannot be read", err.Error())
		return
	}
	known := !p.Creating
	if object == nil || (known && p.Plan.Manifests.Equal(p.State.Manifests)) {
		return
	}
	if !known {
		p.Data.Cluster.PreviewCreation(ctx, func() {
			verdict := owned.Preview(ctx, p.Data.Cluster, object, p.Creation(), p.goes)
			p.Diags.Append(verdict.Diagnostics(true, false)...)
		})
		return
	}
	verdict := owned.Preview(ctx, p.Data.Cluster, object, nil, p.goes)
	if verdict.Immutable {
		p.Diags.AddError("Immutable PersistentVolumeClaim field changed", p.Plan.claimRef().String()+
			" would change in a field that Kubernetes never lets change.\n\nNext step: Check what the plan changes in `manifests`, and put that back.")
		return
	}
	p.Diags.Append(verdict.Diagnostics(false, true)...)
	p.Diags.Append(p.Memory.RetainedWarning(verdict.Ref, p.Plan.key(), verdict.After)...)
}

// computed decides what the remaining computed attributes will be.
func (p *planner) computed() {
	p.Plan.Ref = p.Plan.ref()
	p.leaveClass()
	if p.Creating {
		if p.Data.Configured() && p.Data.Defaults.CompactPlans {
			p.Plan.Manifests = types.MapUnknown(types.StringType)
		}
		p.Plan.UID = types.StringUnknown()
		p.Plan.claimStatus = unknownStatus()
		return
	}
	p.Plan.UID = p.State.UID
	p.Plan.claimStatus = p.State.claimStatus
	waits := p.resizes || p.PrivateState.Waiting
	if p.State.UID.IsNull() && (waits || !p.Plan.Manifests.Equal(p.State.Manifests)) {
		p.Plan.UID = types.StringUnknown() // the answer to the creation was lost: the next one tells it
	}
	if waits {
		p.Plan.claimStatus = unknownStatus()
	}
}
