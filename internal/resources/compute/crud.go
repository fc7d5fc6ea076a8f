package compute

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// writer carries out one plan, and keeps the state true to the cluster.
type writer struct {
	*writing

	done    objects  // what has been applied, all of it or up to an error, and what could not be removed
	removed []string // keys of the objects that were removed

	unfinished bool // the creation ended before all objects were applied, for no fault of theirs
}

// Apply applies the planned objects, puts the compute into state, and waits.
func (hooks) Apply(ctx context.Context, w *writing) {
	writer := &writer{writing: w}
	if w.Creating {
		writer.create(ctx)
	} else {
		writer.update(ctx)
	}
}

func (w *writer) create(ctx context.Context) {
	w.Plan.fillAddresses(ctx)
	w.PrivateState.Designed = privateState{}.designedFor(w.Plan, w.Prior)
	w.apply(ctx, objects{})
	w.PrivateState.Origin = originOf(w.Config, w.Data.Defaults)
	if len(w.done) == 0 { // nothing exists, so nothing goes into state
		if !w.Diags.HasError() {
			w.Diags.Append(nothingApplied())
		}
		return
	}
	w.save(ctx)
	w.wait(ctx)
}

// update applies the objects that change and removes those that are no longer wanted.
func (w *writer) update(ctx context.Context) {
	prior, diags := objectsOf(ctx, w.Prior.Manifests)
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return
	}
	w.Prior.recoverMemory(w.Memory, prior)
	w.PrivateState.Designed = w.PrivateState.designedFor(w.Plan, w.Prior)
	if w.PrivateState.Origin == nil {
		w.PrivateState.Origin = observedOrigin(w.Prior, prior)
	}
	w.PrivateState.Origin = originOf(w.Config, w.PrivateState.Origin.keep(w.Data.Defaults))
	mustWait := w.Plan.Ready.IsUnknown()
	w.Plan.Ready = w.Prior.Ready
	w.apply(ctx, prior)
	if w.Diags.HasError() {
		w.savePartly(ctx)
		return
	}
	w.PrivateState.Configured = true
	w.save(ctx)
	if mustWait {
		w.wait(ctx)
	}
}

// Delete removes the objects in the foreground and waits until the pods are gone,
// so that their GPUs are free when it returns.
func (hooks) Delete(ctx context.Context, d *deleting) {
	prior, diags := objectsOf(ctx, d.State.Manifests)
	d.Diags.Append(diags...)
	if diags.HasError() {
		return
	}
	d.State.recoverMemory(d.Memory, prior)
	_, diags = remove(ctx, d.Data.Cluster, d.RecordedCluster, prior, d.Memory, d.State.podLabels(ctx))
	d.Diags.Append(diags...)
}

// WaitTimeout is how long an apply waits for readiness.
func (hooks) WaitTimeout(data *tf.ProviderData, plan *model) time.Duration {
	return plan.waitTimeout(data.Defaults)
}

// waitTimeout is that of wait_timeout, otherwise as long as the server may take to
// start.
func (m *model) waitTimeout(defaults tf.Defaults) time.Duration {
	for _, given := range []tf.Duration{m.WaitTimeout, m.LaunchTimeout} {
		if timeout, ok := parsed(given); ok {
			return timeout
		}
	}
	return defaults.LaunchTimeout
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

// apply sends the planned objects that differ from prior ones, exactly as the
// plan showed them, and deletes the prior ones that are no longer wanted.
func (w *writer) apply(ctx context.Context, prior objects) {
	planned, diags := objectsOf(ctx, w.Plan.Manifests)
	w.Diags.Append(diags...)
	if w.Plan.Manifests.IsUnknown() {
		planned = w.render(ctx, prior)
	} else {
		w.decideRegistration(ctx, prior, planned)
	}
	if w.Diags.HasError() {
		return
	}
	w.done = objects{}
	changed, gone := planned.changedFrom(prior)
	for key := range gone {
		if w.Memory.NeverApplied(key) {
			delete(gone, key) // it was imported, but is not wanted: it stays with those whose it is
		}
	}
	for key, object := range planned {
		if changed[key] == nil {
			w.done[key] = object
		}
	}
	decoded, err := changed.decode()
	if err != nil {
		w.Diags.AddError("Cannot read the plan", err.Error())
		return
	}
	if err := w.prepareCreate(ctx, decoded, prior); err != nil {
		w.Diags.Append(owned.Failure(err))
		return
	}
	for _, obj := range decoded {
		key := manifest.Key(obj)
		if err := w.applyOne(ctx, key, obj, prior[key]); err != nil {
			w.failed(err, len(prior) == 0)
			switch {
			case w.unfinished:
				w.expectRest(planned)
			case prior[key] == nil && kube.OutcomeUnknown(err):
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
	found, diags := renderingsOf(w.Data, w.Config, w.Plan, prior)
	w.Diags.Append(diags...)
	if diags.HasError() {
		return nil
	}
	with := renderOptionsOf(ctx, w.Data, prior, w.PrivateState, w.PrivateState.Designed)
	with.rendering = found.next
	w.Plan.fillRendering(found.next)
	planned, diags := render(ctx, w.Plan.asConfigured(w.Config), with)
	w.Diags.Append(diags...)
	return planned
}

// prepareCreate sees to it that the objects which are new can be created. It
// looks at all before it creates the first: that one decides what the others
// may take over.
func (w *writer) prepareCreate(ctx context.Context, decoded []*unstructured.Unstructured, prior objects) error {
	for _, obj := range decoded {
		if prior[manifest.Key(obj)] != nil {
			continue
		}
		if err := owned.PrepareCreate(ctx, w.Data.Cluster, w.Creation, obj, w.Plan.podLabels(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// applyOne applies an object of which before is the one that was applied last,
// nil where it is new.
func (w *writer) applyOne(ctx context.Context, key string, obj *unstructured.Unstructured, before *object) error {
	obj = appliable(obj)
	live, diags, err := w.send(ctx, obj, before)
	w.Diags.Append(diags...)
	if err != nil {
		return err
	}
	w.PrivateState.Imported = slices.DeleteFunc(w.PrivateState.Imported,
		func(imported string) bool { return imported == key })
	if roleOf(obj) == manifest.RoleWorkload {
		w.Plan.UID = types.StringValue(string(live.GetUID()))
		w.PrivateState.EmptyText = true
	}
	return nil
}

func (w *writer) send(
	ctx context.Context, obj *unstructured.Unstructured, before *object,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	cluster := w.Data.Cluster
	if before == nil {
		return owned.Create(ctx, cluster, w.Memory, w.Creation, obj)
	}
	sent, err := carry(ctx, cluster, w.Memory, before, obj)
	if err != nil {
		return nil, nil, err
	}
	return owned.ApplyAs(ctx, cluster, w.Memory, obj, w.precisely(sent))
}

// carry returns what to send of a workload that others write into as well.
func carry(
	ctx context.Context, cluster *kube.Cluster, memory owned.Memory, before *object, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if before == nil || roleOf(obj) != manifest.RoleWorkload {
		return obj, nil
	}
	was, err := before.decode()
	if err != nil {
		return nil, err
	}
	ref, err := cluster.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	live, err := cluster.Read(ctx, ref)
	if kube.IsNotFound(err) {
		return obj, nil
	}
	if err != nil {
		return nil, err
	}
	return memory.MergeForeign(before.key, was, obj, live)
}

// precisely adds the UID to an object that the plan knows to be there, so that
// the server refuses to make another one if it has gone since.
func (w *writer) precisely(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if uid := w.Plan.UID.ValueString(); uid != "" && roleOf(obj) == manifest.RoleWorkload {
		obj = obj.DeepCopy()
		obj.SetUID(apitypes.UID(uid))
	}
	return obj
}
