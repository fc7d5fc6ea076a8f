package volume

import (
	"context"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// ModifyPlan renders what will be applied, refuses what would lose data, and
// asks the cluster whether it would take what changes.
func (r *volumeResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var plan, state, config model
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(refuseIfProtected(&state)...)
		resp.Diagnostics.Append(owned.PlanDestroy(ctx, r.data, req.Private, "kt_volume", state.ID)...)
		resp.Diagnostics.Append(ask(ctx, resp.Private, true)...)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	remembered, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}

	proposed := plan
	p := planner{r: r, plan: &plan, config: &config, notes: remembered}
	if creating {
		p.replaced = memory // of the volume that is deleted before this one is created, if any
		if len(memory) > 0 {
			resp.Diagnostics.Append(owned.RefuseIfProtected(remembered.Protected, "volume", plan.Name.ValueString())...)
			// Unless it was asked for, a claim that is bound by the time of the apply is kept.
			resp.Diagnostics.Append(ask(ctx, resp.Private, !remembered.Empty)...)
		}
	} else {
		p.state, p.before, p.memory = &state, &state, memory
		p.diags.Append(owned.PlanKeep(ctx, r.data, req.Private, "kt_volume", state.ID)...)
		if before, _ := asked(ctx, req.Private); before {
			p.diags.Append(ask(ctx, resp.Private, false)...)
		}
	}
	p.place()
	if creating {
		p.diags.Append(owned.PlanCreate(r.data, p.creation(), p.replaced.Remembers(plan.key()))...)
		p.look(ctx)
	}
	p.decide(ctx)
	p.keep()
	p.resize(ctx)
	if replaces := len(p.replaces) > 0; !creating && replaces != remembered.Empty {
		remembered.Empty = replaces // a replacement that failed may have left it
		resp.Diagnostics.Append(remembered.save(ctx, resp.Private)...)
	}
	if len(p.replaces) > 0 {
		resp.RequiresReplace = p.replaces
		resp.Diagnostics.Append(p.diags...)
		return // the plan of the replacement is asked for next, as a creation
	}
	if !p.diags.HasError() {
		p.render(ctx, req.Config.Raw.IsFullyKnown())
	}
	if !p.diags.HasError() {
		p.dryRun(ctx)
	}
	p.computed()
	p.keepImported()
	resp.Diagnostics.Append(p.diags...)
	if !reflect.DeepEqual(plan, proposed) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
	}
}

func refuseIfProtected(state *model) diag.Diagnostics {
	return owned.RefuseIfProtected(state.DeletionProtection.ValueBool(), "volume", state.ID.ValueString())
}

// planner works out one plan. Its methods fill in plan, in the order in which
// ModifyPlan calls them.
type planner struct {
	r        *volumeResource
	plan     *model
	config   *model
	state    *model       // nil when creating
	memory   owned.Memory // nil when creating
	replaced owned.Memory // of the volume that goes first
	notes    notes
	diags    diag.Diagnostics

	before  *model       // the claim as it is, of state or in the cluster; nil for a new one
	goes    apitypes.UID // of a claim in the way that is deleted first
	resizes bool
	// choosesLater says that the storage class is the provider's choice, at apply.
	choosesLater bool

	replaces path.Paths // attributes that replace a claim which holds no data
}

// place finds the namespace. One that the configuration leaves out is found once
// and then kept: another kubeconfig context must not move a volume.
func (p *planner) place() {
	prior := types.StringNull()
	if p.state != nil {
		prior = p.state.Namespace
	}
	var diags diag.Diagnostics
	p.plan.Namespace, diags = owned.Namespace(p.r.data, p.config.Namespace, prior, "volume")
	p.diags.Append(diags...)
	p.plan.ID = owned.Identity{Namespace: p.plan.Namespace, Name: p.plan.Name}.ID()
}

func (p *planner) creation() *owned.Creation {
	creation := p.plan.creation()
	creation.Replaced = p.replaced
	if p.r.configured() {
		creation.HeldBy = p.r.data.Cluster.HeldBy
	}
	return creation
}

// look finds a claim that a new volume would take over: one that is adopted, or
// one of ours that an interrupted run did not put into state. One that goes
// first has no say, nor has one of ours that is not bound and so holds nothing:
// it is made anew if it has to be.
func (p *planner) look(ctx context.Context) {
	if p.plan.ID.IsUnknown() || !p.r.configured() {
		return
	}
	live, err := p.r.data.Cluster.Look(ctx, p.plan.claimRef())
	if err != nil || live == nil { // the dry run says why it cannot be read
		return
	}
	creation := p.creation()
	adopts := creation.Adopt
	if err := creation.Admit(p.plan.claimRef(), live); err != nil {
		p.diags.Append(owned.Failure(err))
		return
	}
	switch {
	case live.GetDeletionTimestamp() != nil, p.replaced[p.plan.key()].UID == live.GetUID(), !adopts && !claim.Bound(live):
		p.goes = live.GetUID()
	default:
		p.before = &model{Name: p.plan.Name, Namespace: p.plan.Namespace}
		p.before.observe(live)
	}
}

// render fills in manifests.
func (p *planner) render(ctx context.Context, known bool) {
	if !known || !p.r.configured() || p.plan.ID.IsUnknown() || p.plan.StorageClass.IsUnknown() {
		p.plan.Manifests = types.MapUnknown(types.StringType)
		return
	}
	rendered := *p.plan
	if p.config.StorageClass.IsNull() && p.state != nil && !p.state.appliesClass() {
		rendered.StorageClass = types.StringNull() // Kubernetes has chosen it, and goes on to own it
	}
	var diags diag.Diagnostics
	p.plan.Manifests, diags = rendered.render(ctx, p.r.data.Defaults)
	p.diags.Append(diags...)
}

// keepImported keeps the default that an import gave to a setting of the
// provider alone, where the plan then changes nothing at all: an update takes
// every setting from the configuration.
func (p *planner) keepImported() {
	if p.state == nil || !p.notes.Imported {
		return
	}
	owned.PreserveImported(p.plan, p.state, func(plan *model) {
		owned.PreserveSetting(&plan.AdoptExisting, p.state.AdoptExisting, p.config.AdoptExisting)
	})
}

// dryRun asks the server about a claim that is new or changes.
func (p *planner) dryRun(ctx context.Context) {
	object, err := p.plan.object()
	if err != nil {
		p.diags.AddError("The plan cannot be read", err.Error())
		return
	}
	known := p.state != nil
	if object == nil || (known && p.plan.Manifests.Equal(p.state.Manifests)) {
		return
	}
	if !known {
		p.r.data.Cluster.PreviewCreation(ctx, func() {
			verdict := owned.Preview(ctx, p.r.data.Cluster, object, p.creation(), p.goes)
			p.diags.Append(verdict.Diagnostics(true, false)...)
		})
		return
	}
	verdict := owned.Preview(ctx, p.r.data.Cluster, object, nil, p.goes)
	if verdict.Immutable {
		p.diags.AddError("Immutable PersistentVolumeClaim field changed", p.plan.claimRef().String()+
			" would change in a field that Kubernetes never lets change.\n\nNext step: Check what the plan changes in `manifests`, and put that back.")
		return
	}
	p.diags.Append(verdict.Diagnostics(false, true)...)
	p.diags.Append(p.memory.Staying(verdict.Ref, p.plan.key(), verdict.After)...)
}

// computed decides what the remaining computed attributes will be.
func (p *planner) computed() {
	p.plan.Ref = p.plan.ref()
	p.leaveClass()
	if p.state == nil {
		if p.r.configured() && p.r.data.Defaults.CompactPlans {
			p.plan.Manifests = types.MapUnknown(types.StringType)
		}
		p.plan.UID = types.StringUnknown()
		p.plan.Phase, p.plan.Capacity, p.plan.Volume = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
		return
	}
	p.plan.UID = p.state.UID
	p.plan.Phase, p.plan.Capacity, p.plan.Volume = p.state.Phase, p.state.Capacity, p.state.Volume
	waits := p.resizes || p.notes.Waiting
	if p.state.UID.IsNull() && (waits || !p.plan.Manifests.Equal(p.state.Manifests)) {
		p.plan.UID = types.StringUnknown() // the answer to the creation was lost: the next one tells it
	}
	if waits {
		p.plan.Phase, p.plan.Capacity, p.plan.Volume = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	}
}
