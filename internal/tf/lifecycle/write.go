package lifecycle

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Writing is a creation or an update.
type Writing[M, N any] struct {
	Data            *tf.ProviderData
	Plan            *M // becomes the new state
	Config          *M // as planned: lifecycle.ignore_changes has replaced the attributes that it contains
	Prior           *M // empty in a creation
	Memory          owned.Memory
	PrivateState    N
	RecordedCluster owned.RecordedCluster // of the resource in state; zero in a creation
	Creation        *owned.Creation
	Creating        bool
	Diags           *diag.Diagnostics

	// Private is saved with the state.
	Private owned.PrivateWriter

	state  *tfsdk.State
	hidden concealer[M]
}

// Save saves the plan, as completed so far, in the state.
func (w *Writing[M, N]) Save(ctx context.Context) { w.SaveAs(ctx, w.Plan) }

// SaveAs saves another model in the state, such as the prior one after a failed update. The paths of sensitive_fields
// are those of the plan, since the objects that the update has reached are also its.
func (w *Writing[M, N]) SaveAs(ctx context.Context, model *M) {
	commonOf(model).SensitiveFields = commonOf(w.Plan).SensitiveFields
	if w.Creating { // only the first call has an effect
		w.Diags.Append(owned.RecordCreated(ctx, w.Data, w.Creation, w.Private)...)
	}
	model, diags := w.hidden.concealed(model)
	w.Diags.Append(diags...)
	w.Diags.Append(w.state.Set(ctx, model)...)
	w.Diags.Append(w.Memory.Save(ctx, w.Private)...)
	w.Diags.Append(owned.Save(ctx, w.Private, privateStateKey, w.PrivateState)...)
}

// Create applies a planned creation.
func (r *Resource[M, N]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	written := resource.UpdateResponse{State: resp.State, Identity: resp.Identity, Private: resp.Private}
	r.write(ctx, resource.UpdateRequest{Config: req.Config, Plan: req.Plan}, &written, true)
	resp.State, resp.Diagnostics = written.State, written.Diagnostics
}

// Update applies a planned update.
func (r *Resource[M, N]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	r.write(ctx, req, resp, false)
}

// write applies a planned creation, of which req has neither a state nor private state, or a planned update.
func (r *Resource[M, N]) write(
	ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse, creating bool,
) {
	r.data.Run.BeginApply()
	diags := &resp.Diagnostics
	w := &Writing[M, N]{
		Data: r.data, Plan: new(M), Config: new(M), Prior: new(M), Memory: owned.Memory{}, Creating: creating,
		Diags: diags, state: &resp.State, Private: resp.Private,
	}
	plan, prior := commonOf(w.Plan), commonOf(w.Prior)
	diags.Append(req.Plan.Get(ctx, w.Plan)...)
	if !creating {
		diags.Append(req.State.Get(ctx, w.Prior)...)
	}
	planned, unreadable := plannedConfig(ctx, req.Config, req.Plan, req.Private)
	diags.Append(unreadable...)
	diags.Append(planned.Get(ctx, w.Config)...)
	w.hidden = concealer[M]{plan: w.Plan, planned: plan.SensitiveValues, prior: prior.SensitiveValues}
	diags.Append(plan.Reveal()...)
	diags.Append(prior.Reveal()...)
	if diags.HasError() {
		return
	}
	attribute, configured := "timeouts.create", plan.Timeouts.Create
	if creating {
		r.resolveIdentity(plan, diags)
	} else {
		attribute, configured = "timeouts.update", plan.Timeouts.Update
		w.Memory, w.PrivateState, w.RecordedCluster, unreadable = r.recorded(ctx, req.Private, prior)
		diags.Append(unreadable...)
	}
	limit, unreadable := configured(ctx, r.Kind.Apply+r.waitTimeout(w.Plan))
	diags.Append(unreadable...)
	ctx, cancel := tf.WithTimeLimit(ctx, limit, attribute)
	defer cancel()
	if diags.HasError() {
		return
	}
	defer func() { *diags = w.hidden.mask(*diags) }()
	w.Creation = r.creation(plan)
	w.Creation.PerObject = !creating
	defer w.Creation.End(r.data.Run)
	if creating {
		diags.Append(resp.Private.SetKey(ctx, destroyKey, nil)...) // it was for a replaced resource
	}
	r.recoverMemory(w.Memory, prior)
	r.Hooks.Apply(ctx, w)
	if resp.State.Raw.IsNull() {
		return // nothing was created
	}
	if !creating && !diags.HasError() { // this apply has taken the moved object over
		diags.Append(resp.Private.SetKey(ctx, movedKey, nil)...)
	}
	diags.Append(resp.Identity.Set(ctx, plan.Identity())...)
	w.Creation.Complete(r.data.Run)
}

// resolveIdentity sets the namespace if it was unknown in the plan, and the ID.
func (r *Resource[M, N]) resolveIdentity(plan *Common, diags *diag.Diagnostics) {
	if plan.Namespace.IsUnknown() {
		namespace, err := r.data.Cluster.Namespace()
		if err != nil {
			diags.Append(tf.Failure(err))
			return
		}
		plan.Namespace = types.StringValue(namespace)
	}
	plan.ID = plan.Identity().ID()
}

// Waiter is a hook for a wait with its own time limit. The limit is added to the default time limits of a creation
// and of an update.
type Waiter[M any] interface {
	WaitTimeout(*tf.ProviderData, *M) time.Duration
}

func (r *Resource[M, N]) waitTimeout(plan *M) time.Duration {
	if hook, ok := r.Hooks.(Waiter[M]); ok {
		return hook.WaitTimeout(r.data, plan)
	}
	return 0
}

// Deleting is a deletion.
type Deleting[M, N any] struct {
	Data            *tf.ProviderData
	State           *M
	Memory          owned.Memory
	PrivateState    N
	RecordedCluster owned.RecordedCluster
	Diags           *diag.Diagnostics
	// DestroyRequested reports whether a plan has recorded that the deletion was requested; see
	// [Planning.SetDestroyRequested].
	DestroyRequested bool
}

// DeleteObjects deletes objects in the given order, as [owned.DeleteObjects].
func (d *Deleting[M, N]) DeleteObjects(
	ctx context.Context, objects []*unstructured.Unstructured, podLabels map[string]string,
) (remaining map[string]bool) {
	remaining, diags := owned.DeleteObjects(ctx, d.Data.Run, d.RecordedCluster, objects, d.Memory, podLabels)
	d.Diags.Append(diags...)
	return remaining
}

// Delete deletes the objects in state. It returns an error if the provider is configured for another cluster.
func (r *Resource[M, N]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	r.data.Run.BeginApply()
	state := new(M)
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	resp.Diagnostics.Append(commonOf(state).Reveal()...)
	defer func() { resp.Diagnostics = mask(resp.Diagnostics, commonOf(state).SensitiveValues) }()
	resp.Diagnostics.Append(r.refuseIfProtected(commonOf(state))...)
	resp.Diagnostics.Append(r.refuseIfHeld(commonOf(state))...)
	if resp.Diagnostics.HasError() {
		return
	}
	memory, privateState, recordedCluster, diags := r.recorded(ctx, req.Private, commonOf(state))
	resp.Diagnostics.Append(diags...)
	requested, diags := owned.Load[bool](ctx, req.Private, destroyKey)
	resp.Diagnostics.Append(diags...)
	if !requested && len(memory) == 0 {
		resp.Diagnostics.Append(r.refuseUnapplied(commonOf(state))...)
	}
	limit, diags := commonOf(state).Timeouts.Delete(ctx, r.Kind.Delete)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.delete")
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	r.recoverMemory(memory, commonOf(state))
	r.Hooks.Delete(ctx, &Deleting[M, N]{
		Data: r.data, State: state, Memory: memory, PrivateState: privateState, RecordedCluster: recordedCluster,
		Diags: &resp.Diagnostics, DestroyRequested: requested,
	})
}
