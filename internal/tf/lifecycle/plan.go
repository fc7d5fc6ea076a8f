package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
	"github.com/ktdev/terraform-provider-kt/internal/tf/run"
)

// Planning is a planned creation or update.
type Planning[M, N any] struct {
	Data         *tf.ProviderData
	Plan         *M // completed by the hook
	Config       *M
	State        *M // empty in a creation
	PrivateState N  // zero in a creation
	Diags        diag.Diagnostics
	// Creating reports that no object is in state.
	Creating bool
	// Replaced and ReplacedPrivateState are from the resource that is deleted before this one is created, if any.
	Replaced             owned.Memory
	ReplacedPrivateState N
	// Replace lists attributes that force a replacement.
	Replace path.Paths
	// Request is that of the framework. It is nil on the [ShortPath], where the configuration is fully known, and as it
	// is written: lifecycle.ignore_changes has replaced nothing in it. The short path discards a plan with changes, so
	// hooks send no dry run then.
	Request *resource.ModifyPlanRequest
	// Moved is the object of a resource that was moved from another provider and not updated since; nil for others.
	Moved *Moved
	// Terminating reports whether the last refresh has found that the object in state is being deleted. The resource is
	// then replaced. It is false while deletion_protection is true in state, which refuses a replacement: every plan
	// would fail, also the one that sets it to false.
	Terminating bool
	// Creation returns the creation of the plan, also for objects that an update adds. Each call returns a new one,
	// which has admitted nothing yet.
	Creation func() *owned.Creation
	// Memory is that of the objects in state; nil in a creation. It is decoded at the first call, since a plan without
	// changes does not need it.
	Memory func() owned.Memory

	private   privateData     // of the resource, and saved with the plan
	previewed *owned.Creation // of the objects of [Planning.DryRun]
}

// ReplaceIfMoved plans a replacement if the name or the namespace changes.
func (p *Planning[M, N]) ReplaceIfMoved() {
	if p.Creating {
		return
	}
	plan, state := commonOf(p.Plan), commonOf(p.State)
	if !plan.Name.Equal(state.Name) {
		p.Replace.Append(path.Root("name"))
	}
	if !plan.Namespace.Equal(state.Namespace) {
		p.Replace.Append(path.Root("namespace"))
	}
}

// DryRun runs a server-side dry run of a planned object, and reports what it finds. The new objects of a plan are those
// of one creation, in the order of their dry runs. replaced is the UID of an object that is deleted first; see
// [owned.Memory.Preview].
func (p *Planning[M, N]) DryRun(
	ctx context.Context, obj *unstructured.Unstructured, inState bool, replaced apitypes.UID,
) owned.Forecast {
	var creation *owned.Creation
	if !inState {
		p.previewed = cmp.Or(p.previewed, p.Creation())
		creation = p.previewed
	}
	forecast := p.Memory().Preview(ctx, p.Data.Cluster, obj, creation, replaced)
	p.Diags.Append(forecast.Diagnostics(p.Creating, inState)...)
	p.Diags.Append(creation.ContinuedWarning(forecast.Ref)...)
	if inState {
		p.Diags.Append(p.Memory().RetainedWarning(forecast.Ref, manifest.Key(obj), forecast.After)...)
	}
	return forecast
}

// PreserveImported keeps the settings that an import has assumed, if the plan then has no changes: adopt_existing, and
// those that others keep. imported reports that the resource was imported and not updated since.
func (p *Planning[M, N]) PreserveImported(imported bool, others ...func()) {
	if p.Creating || !imported {
		return
	}
	plan, state, config := commonOf(p.Plan), commonOf(p.State), commonOf(p.Config)
	owned.PreserveImported(p.Plan, p.State, func() {
		owned.PreserveSetting(&plan.AdoptExisting, state.AdoptExisting, config.AdoptExisting)
		for _, preserve := range others {
			preserve()
		}
	})
}

// PreserveObjects returns the planned objects, of which those that were imported and that an apply would not change
// are those in state. imported contains the keys of the objects that have not been applied since their import.
func (p *Planning[M, N]) PreserveObjects(
	ctx context.Context, planned, prior owned.Objects, imported []string,
) owned.Objects {
	return planned.Preserve(prior, func(planned, before *owned.Object) bool {
		if !slices.Contains(imported, planned.Key) {
			return false
		}
		same, err := owned.AppliesNothing(ctx, p.Data.Cluster, p.Memory(), planned, before)
		if err != nil {
			p.Diags.Append(tf.Failure(err))
		}
		return same
	})
}

// SavePrivateState saves the changed private state with the plan.
func (p *Planning[M, N]) SavePrivateState(ctx context.Context) {
	p.Diags.Append(owned.Save(ctx, p.private, privateStateKey, p.PrivateState)...)
}

// Short reports whether this is the [ShortPath].
func (p *Planning[M, N]) Short() bool { return p.Request == nil }

// ConfigKnown reports whether the configuration is fully known.
func (p *Planning[M, N]) ConfigKnown() bool {
	return p.Short() || p.Request.Config.Raw.IsFullyKnown()
}

// ModifyPlan completes a plan. It returns an error for a conflict with another resource of the run.
func (r *Resource[M, N]) ModifyPlan(
	ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse,
) {
	plan, state, config := new(M), new(M), new(M)
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	}
	if req.Plan.Raw.IsNull() {
		resp.Diagnostics.Append(r.refuseIfProtected(commonOf(state))...)
		moved, diags := loadMoved(ctx, req.Private)
		resp.Diagnostics.Append(diags...)
		resp.Diagnostics.Append(requireRefresh(moved, commonOf(state))...)
		resp.Diagnostics.Append(owned.Save(ctx, resp.Private, destroyKey, true)...)
		resp.Diagnostics.Append(r.planInState(ctx, req.Private, commonOf(state), (*run.Planned).Destroy)...)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !creating && ignoresAll(commonOf(config), commonOf(state)) {
		resp.Plan.Raw = req.State.Raw
		resp.Diagnostics.Append(r.planInState(ctx, req.Private, commonOf(state), (*run.Planned).Keep)...)
		return
	}
	proposed := *plan
	resp.Diagnostics.Append(commonOf(plan).Reveal()...)
	resp.Diagnostics.Append(commonOf(state).Reveal()...)
	if resp.Diagnostics.HasError() {
		return
	}
	commonOf(plan).SensitiveValues = commonOf(state).SensitiveValues // no change for the hooks; conceal sets it
	p := r.planning(ctx, plan, config, state, creating, privateData{req.Private, resp.Private})
	p.Request = &req
	if p.Diags.HasError() {
		resp.Diagnostics.Append(p.Diags...)
		return
	}
	if !creating {
		p.Diags.Append(r.recordIgnored(ctx, &req, privateData{req.Private, resp.Private})...)
		p.Diags.Append(r.planInState(ctx, req.Private, commonOf(state), (*run.Planned).Keep)...)
	}
	r.plan(ctx, p)
	before := commonOf(state).SensitiveValues
	unmatched, diags := commonOf(plan).conceal(before)
	p.Diags.Append(diags...)
	p.Diags.Append(commonOf(plan).unmatchedErrors(unmatched)...)
	resp.RequiresReplace = append(resp.RequiresReplace, p.Replace...)
	resp.Diagnostics.Append(mask(p.Diags, before, commonOf(plan).SensitiveValues)...)
	if creating && r.data.Configured() && r.data.Defaults.CompactPlans {
		commonOf(plan).omitManifests()
	}
	if !owned.Unchanged(plan, &proposed) {
		resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	}
}

// planInState is [owned.PlanInState].
func (r *Resource[M, N]) planInState(
	ctx context.Context, private owned.PrivateReader, state *Common, record func(*run.Planned) run.PlanConflict,
) diag.Diagnostics {
	return owned.PlanInState(ctx, r.data, private, r.Kind.Type, state.ID, record)
}

// planning prepares a plan. It reads the private state.
func (r *Resource[M, N]) planning(
	ctx context.Context, plan, config, state *M, creating bool, private privateData,
) *Planning[M, N] {
	p := &Planning[M, N]{
		Data: r.data, Plan: plan, Config: config, State: state, Creating: creating,
		private: private,
	}
	privateState, diags := owned.Load[N](ctx, private, privateStateKey)
	p.Diags.Append(diags...)
	p.Moved, diags = loadMoved(ctx, private)
	p.Diags.Append(diags...)
	terminating, diags := owned.Load[bool](ctx, private, terminatingKey)
	p.Diags.Append(diags...)
	p.Terminating = terminating && !creating && // otherwise, it is of the replaced resource
		!commonOf(state).DeletionProtection.ValueBool()
	load := func() owned.Memory {
		memory, diags := owned.LoadMemory(ctx, private)
		p.Diags.Append(diags...)
		return memory
	}
	if creating {
		p.Memory = func() owned.Memory { return nil }
		p.Replaced, p.ReplacedPrivateState = load(), privateState
	} else {
		p.Memory, p.PrivateState = sync.OnceValue(load), privateState
	}
	p.Creation = func() *owned.Creation {
		creation := r.creation(commonOf(plan))
		creation.Replaced, creation.PerObject = p.Replaced, !creating
		if creating && r.data.Configured() {
			creation.HeldBy = r.data.Run.HeldBy
		}
		return creation
	}
	return p
}

// plan completes a plan.
func (r *Resource[M, N]) plan(ctx context.Context, p *Planning[M, N]) {
	plan, state := commonOf(p.Plan), commonOf(p.State)
	namespace, diags := owned.Namespace(r.data, commonOf(p.Config).Namespace, state.Namespace, r.Kind.Noun)
	p.Diags.Append(diags...)
	plan.Namespace = namespace
	plan.ID = plan.Identity().ID()
	if p.Creating {
		p.Diags.Append(owned.PlanCreate(ctx, r.data, p.Creation(), p.Replaced.Contains(r.Kind.object(plan)))...)
	} else if p.Diags.Append(requireRefresh(p.Moved, state)...); p.Diags.HasError() {
		return
	}
	if p.Terminating {
		p.Replace.Append(path.Root("uid"))
	}
	r.Hooks.Plan(ctx, p)
	if len(p.Replace) > 0 {
		p.Diags.Append(r.refuseIfProtected(state)...)
	}
	p.Diags.Append(p.planMoved(r.Kind)...)
}
