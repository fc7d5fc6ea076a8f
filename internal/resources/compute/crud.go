package compute

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const (
	// requestTime is what an operation may take beyond the wait for readiness.
	requestTime = 5 * time.Minute
	deleteTime  = 10 * time.Minute
)

// Create applies what was planned, puts it into state, and waits.
func (r *computeResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.data.Cluster.BeginApply()
	limit, diags := plan.Timeouts.Create(ctx, r.waitTimeout(&plan)+requestTime)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.create")
	defer cancel()

	w := writer{
		r: r, model: &plan, config: &config, creation: plan.creation(), memory: owned.Memory{},
		state: &resp.State, private: resp.Private, diags: &resp.Diagnostics,
	}
	defer w.creation.End(r.data.Cluster)
	w.notes.Designed = notes{}.designedFor(&plan, &model{})
	w.apply(ctx, objects{})
	w.notes.Origin = originOf(&config, r.data.Defaults)
	if len(w.done) == 0 { // nothing exists, so nothing goes into state
		if !resp.Diagnostics.HasError() {
			resp.Diagnostics.Append(nothingApplied())
		}
		return
	}
	defer w.creation.Complete(r.data.Cluster)
	resp.Diagnostics.Append(owned.Settle(ctx, r.data, w.creation, resp.Private)...)
	w.save(ctx)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	w.wait(ctx)
}

// Update applies the objects that change, removes those that are no more, and waits.
func (r *computeResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	before, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	home, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_compute", state.ID)
	resp.Diagnostics.Append(diags...)
	prior, diags := objectsOf(ctx, state.Manifests)
	resp.Diagnostics.Append(diags...)
	limit, diags := plan.Timeouts.Update(ctx, r.waitTimeout(&plan)+requestTime)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.update")
	defer cancel()

	w := writer{
		r: r, model: &plan, config: &config, creation: plan.creation(), memory: memory, notes: before,
		state: &resp.State, private: resp.Private, diags: &resp.Diagnostics,
	}
	w.creation.Apart, w.home = true, home
	defer w.creation.Complete(r.data.Cluster)
	w.notes.Designed = before.designedFor(&plan, &state)
	if before.Origin == nil {
		before.Origin = observedOrigin(&state, prior)
	}
	w.notes.Origin = originOf(&config, before.Origin.keep(r.data.Defaults))
	mustWait := plan.Ready.IsUnknown()
	plan.Ready = state.Ready
	w.apply(ctx, prior)
	if resp.Diagnostics.HasError() {
		w.savePartly(ctx, &state)
		return
	}
	w.notes.Configured = true
	w.save(ctx)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	if mustWait {
		w.wait(ctx)
	}
}

// Delete removes the objects in the foreground and waits until the pods are
// gone, so that their GPUs are free when it returns.
func (r *computeResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(refuseIfProtected(&state)...)
	home, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_compute", state.ID)
	resp.Diagnostics.Append(diags...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	limit, diags := state.Timeouts.Delete(ctx, deleteTime)
	resp.Diagnostics.Append(diags...)
	prior, diags := objectsOf(ctx, state.Manifests)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.delete")
	defer cancel()
	state.recoverMemory(memory, prior)
	_, diags = r.remove(ctx, home, prior, memory, state.podLabels(ctx))
	resp.Diagnostics.Append(diags...)
}

// waitTimeout is how long an apply waits for readiness: as long as the server
// may take to start, unless wait_timeout says otherwise.
func (r *computeResource) waitTimeout(m *model) time.Duration {
	for _, given := range []tf.Duration{m.WaitTimeout, m.LaunchTimeout} {
		if timeout, ok := parsed(given); ok {
			return timeout
		}
	}
	return r.data.Defaults.LaunchTimeout
}

func (m *model) identity() owned.Identity {
	return owned.Identity{Namespace: m.Namespace, Name: m.Name}
}

// recoverMemory adds what the attributes tell of objects in state, where the
// private state with what was remembered of all of them is lost.
func (m *model) recoverMemory(memory owned.Memory, applied objects) {
	if len(memory) > 0 || m.UID.ValueString() == "" {
		return
	}
	decoded, err := applied.decode()
	if err != nil {
		return // who needs the objects reports it
	}
	for _, obj := range decoded {
		uid := apitypes.UID("")
		if roleOf(obj) == manifest.RoleWorkload {
			uid = apitypes.UID(m.UID.ValueString())
		}
		memory.Recover(manifest.Key(obj), uid, true)
	}
}

// creation is that of a planned compute, or of objects that it gets.
func (m *model) creation() *owned.Creation {
	return &owned.Creation{Type: "kt_compute", ID: m.identity().ID().ValueString(), Adopt: m.AdoptExisting.ValueBool()}
}

// writer carries out one plan, and keeps state true to the cluster on the way.
type writer struct {
	r       *computeResource
	model   *model // the plan, becoming the new state
	config  *model
	memory  owned.Memory
	notes   notes
	state   *tfsdk.State
	private owned.PrivateWriter
	diags   *diag.Diagnostics

	creation *owned.Creation // of the objects that are new
	home     owned.Home

	done    objects  // what has been applied, all of it or up to an error, and what could not be removed
	removed []string // keys of the objects that were removed

	unfinished bool // the creation ended before all objects were applied, for no fault of theirs
}

// apply sends the planned objects that differ from prior ones, exactly as the
// plan showed them, and deletes the prior ones that are no longer wanted.
func (w *writer) apply(ctx context.Context, prior objects) {
	planned, diags := objectsOf(ctx, w.model.Manifests)
	w.diags.Append(diags...)
	if w.model.Manifests.IsUnknown() {
		if _, err := w.r.data.Cluster.Namespace(); err != nil && w.model.Namespace.IsUnknown() {
			w.diags.Append(tf.Failure(err)) // what left the namespace unknown in the plan
			return
		}
		planned = w.render(ctx, prior)
	} else {
		w.decideRegistration(ctx, prior, planned)
	}
	if w.diags.HasError() {
		return
	}
	w.done = objects{}
	changed, gone := planned.changedFrom(prior)
	for key := range gone {
		if w.memory.Foreign(key) {
			delete(gone, key) // it was imported, but is not wanted: it stays with those whose it is
		}
	}
	for key, text := range planned {
		if _, changes := changed[key]; !changes {
			w.done[key] = text
		}
	}
	decoded, err := changed.decode()
	if err != nil {
		w.diags.AddError("The plan cannot be read", err.Error())
		return
	}
	if err := w.prepareCreate(ctx, decoded, prior); err != nil {
		w.diags.Append(owned.Failure(err))
		return
	}
	for _, obj := range decoded {
		key := manifest.Key(obj)
		if err := w.applyOne(ctx, key, obj, prior[key]); err != nil {
			w.failed(err, len(prior) == 0)
			switch {
			case w.unfinished:
				w.expectRest(planned)
			case prior[key] == "" && kube.OutcomeUnknown(err):
				w.done[key] = planned[key] // it may exist: who has it in state can delete it
			}
			return
		}
		w.done[key] = planned[key]
	}
	w.removeOld(ctx, gone)
}

// render makes the objects that the plan could not show.
func (w *writer) render(ctx context.Context, prior objects) objects {
	ways, diags := w.r.renderings(w.config, w.model, prior)
	w.diags.Append(diags...)
	if diags.HasError() {
		return nil
	}
	with := w.r.circumstances(ctx, prior, w.notes, w.notes.Designed)
	with.rendering = ways.next
	w.model.fillRendering(ways.next)
	planned, diags := render(ctx, w.model.asConfigured(w.config), with)
	w.diags.Append(diags...)
	return planned
}

// prepareCreate sees to it that the objects which are new can be created. It
// looks at all before it creates the first: that one decides what the others
// may take over.
func (w *writer) prepareCreate(ctx context.Context, decoded []*unstructured.Unstructured, prior objects) error {
	for _, obj := range decoded {
		if prior[manifest.Key(obj)] != "" {
			continue
		}
		if err := owned.MakeWay(ctx, w.r.data.Cluster, w.creation, obj, w.model.podLabels(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// applyOne applies an object of which before is the manifest that was applied
// last, "" where it is new.
func (w *writer) applyOne(ctx context.Context, key string, obj *unstructured.Unstructured, before string) error {
	obj = appliable(obj)
	live, diags, err := w.send(ctx, key, obj, before)
	w.diags.Append(diags...)
	if err != nil {
		return err
	}
	w.notes.Imported = slices.DeleteFunc(w.notes.Imported, func(imported string) bool { return imported == key })
	if roleOf(obj) == manifest.RoleWorkload {
		w.model.UID = types.StringValue(string(live.GetUID()))
		w.notes.EmptyText = true
	}
	return nil
}

func (w *writer) send(
	ctx context.Context, key string, obj *unstructured.Unstructured, before string,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	cluster := w.r.data.Cluster
	if before == "" {
		return owned.Create(ctx, cluster, w.memory, w.creation, obj)
	}
	sent, err := w.r.carry(ctx, w.memory, key, before, obj)
	if err != nil {
		return nil, nil, err
	}
	return owned.ApplyAs(ctx, cluster, w.memory, obj, w.precisely(sent))
}

// carry returns what to send of a workload that others write into as well.
func (r *computeResource) carry(ctx context.Context, memory owned.Memory, key, before string, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if before == "" || roleOf(obj) != manifest.RoleWorkload {
		return obj, nil
	}
	was, err := decode(key, before)
	if err != nil {
		return nil, err
	}
	ref, err := r.data.Cluster.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	live, err := r.data.Cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return obj, nil
	}
	if err != nil {
		return nil, err
	}
	return memory.Carry(key, was, obj, live)
}

// precisely adds the UID to an object that the plan knows to be there, so that
// the server refuses to make another one if it has gone since.
func (w *writer) precisely(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if uid := w.model.UID.ValueString(); uid != "" && roleOf(obj) == manifest.RoleWorkload {
		obj = obj.DeepCopy()
		obj.SetUID(apitypes.UID(uid))
	}
	return obj
}
