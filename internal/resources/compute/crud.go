package compute

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// writer applies one plan, and keeps the state consistent with the cluster.
type writer struct {
	*writing

	existing    objects  // the objects that exist, after a complete or a failed apply
	deleted     []string // the keys of the deleted objects
	interrupted bool     // a failure of the server ended the creation before all objects were applied
}

// Apply applies the planned objects, saves the state, and waits for readiness.
func (hooks) Apply(ctx context.Context, writing *writing) {
	w := &writer{writing: writing}
	if w.Creating {
		w.create(ctx)
	} else {
		w.update(ctx)
	}
}

func (w *writer) create(ctx context.Context) {
	w.Plan.fillAddresses(ctx)
	w.PrivateState.DesignReplicas = privateState{}.designReplicas(w.Plan, w.Prior)
	w.apply(ctx, objects{})
	w.PrivateState.Origin = usedDefaults(w.Config, w.Data.Defaults)
	if len(w.existing) == 0 { // nothing exists, so nothing goes into state
		if !w.Diags.HasError() {
			w.Diags.AddAttributeError(endpointURL(), noObjects, noObjectsDetail("Nothing was created."))
		}
		return
	}
	w.save(ctx)
	w.waitReady(ctx)
}

// update applies the objects that change, and deletes those that the plan no longer contains.
func (w *writer) update(ctx context.Context) {
	prior, err := objectsOf(w.Prior.Manifests)
	if err != nil {
		w.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	w.Prior.recoverMemory(w.Memory, prior)
	w.PrivateState.DesignReplicas = w.PrivateState.designReplicas(w.Plan, w.Prior)
	if w.PrivateState.Origin == nil {
		w.PrivateState.Origin = observedDefaults(w.Prior, prior)
	}
	w.PrivateState.Origin = usedDefaults(w.Config, w.PrivateState.Origin.override(w.Data.Defaults))
	mustWait := w.Plan.Ready.IsUnknown()
	w.Plan.Ready = w.Prior.Ready
	w.apply(ctx, prior)
	if w.Diags.HasError() {
		w.saveFailedUpdate(ctx, prior)
		return
	}
	w.PrivateState.Configured = true
	w.save(ctx)
	if mustWait {
		w.waitReady(ctx)
	}
}

// save saves the plan in the state, before the wait for readiness.
func (w *writer) save(ctx context.Context) {
	w.Plan.Manifests = withNulls(w.existing.value(), w.Plan.Manifests)
	if !isKnown(w.Plan.Ready) {
		w.Plan.Ready = types.BoolValue(false)
	}
	if w.Plan.UID.IsUnknown() {
		w.Plan.UID = types.StringNull()
	}
	w.Save(ctx)
}

// saveFailedUpdate saves the prior state, except for the objects that were applied or deleted before the failure.
func (w *writer) saveFailedUpdate(ctx context.Context, prior objects) {
	current := maps.Clone(prior)
	maps.Copy(current, w.existing)
	for _, key := range w.deleted {
		delete(current, key)
	}
	w.Prior.Manifests = current.value()
	w.SaveAs(ctx, w.Prior)
}

// recoverMemory adds the objects in state to the memory if the private state was lost.
func (m *model) recoverMemory(memory owned.Memory, applied objects) {
	if len(memory) > 0 || m.UID.ValueString() == "" {
		return
	}
	for key, object := range applied {
		uid := apitypes.UID("")
		if roleOf(object.content) == manifest.RoleWorkload {
			uid = apitypes.UID(m.UID.ValueString())
		}
		memory.Recover(key, uid, true)
	}
}

// apply sends the planned objects that differ from prior ones, exactly as in the plan, and deletes the prior ones that
// the plan no longer contains.
func (w *writer) apply(ctx context.Context, prior objects) {
	planned, err := objectsOf(w.Plan.Manifests)
	if err != nil {
		w.Diags.AddError("Cannot read the plan", err.Error())
	}
	if w.Plan.Manifests.IsUnknown() {
		planned = w.render(ctx, prior)
	} else {
		w.addRegistration(ctx, prior, planned)
	}
	if w.Diags.HasError() {
		return
	}
	w.existing = objects{}
	changed, obsolete := planned.changedFrom(prior)
	maps.DeleteFunc(obsolete, func(key string, _ *object) bool {
		return w.Memory.NeverApplied(key) // imported from another owner, which keeps it
	})
	for key, object := range planned {
		if changed[key] == nil {
			w.existing[key] = object
		}
	}
	if err := w.prepareCreate(ctx, changed, prior); err != nil {
		w.Diags.Append(owned.Failure(err))
		return
	}
	for _, obj := range changed.sorted() {
		key := manifest.Key(obj)
		if err := w.applyObject(ctx, key, obj, prior[key]); err != nil {
			w.reportFailure(err, planned, len(prior) == 0)
			if prior[key] == nil && kube.OutcomeUnknown(err) {
				w.existing[key] = planned[key] // it may exist, and can be deleted only if it is in state
			}
			return
		}
		w.existing[key] = planned[key]
	}
	w.deleteObsolete(ctx, obsolete)
}

// render returns the objects that the plan could not show.
func (w *writer) render(ctx context.Context, prior objects) objects {
	_, next, diags := versionsOf(w.Data, w.Config, w.Plan, prior)
	w.Diags.Append(diags...)
	if diags.HasError() {
		return nil
	}
	options := renderOptionsOf(ctx, w.Data, prior, w.PrivateState, w.PrivateState.DesignReplicas)
	options.versions = next
	w.Plan.fillVersions(next)
	planned, diags := render(ctx, w.Plan.asConfigured(w.Config), options)
	w.Diags.Append(diags...)
	return planned
}

// prepareCreate checks that the new objects can be created. It checks all of them first, since the creation of one
// determines which others may be adopted.
func (w *writer) prepareCreate(ctx context.Context, changed, prior objects) error {
	for _, obj := range changed.sorted() {
		if prior[manifest.Key(obj)] != nil {
			continue
		}
		if err := owned.PrepareCreate(ctx, w.Data.Cluster, w.Creation, obj, w.Plan.podLabels(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// applyObject applies an object. before is the object that was applied last; nil if it is new.
func (w *writer) applyObject(ctx context.Context, key string, obj *unstructured.Unstructured, before *object) error {
	obj = withoutUnserved(obj)
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
	sent, err := mergeForeign(ctx, cluster, w.Memory, before, obj)
	if err != nil {
		return nil, nil, err
	}
	// The UID makes the server reject the request if the workload was deleted, instead of creating another one.
	if uid := w.Plan.UID.ValueString(); uid != "" && roleOf(sent) == manifest.RoleWorkload {
		sent = sent.DeepCopy()
		sent.SetUID(apitypes.UID(uid))
	}
	return owned.ApplyAs(ctx, cluster, w.Memory, obj, sent)
}

// mergeForeign returns a workload with the list items that other clients have added, which an apply would remove.
func mergeForeign(
	ctx context.Context, cluster *kube.Cluster, memory owned.Memory, before *object, obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if before == nil || roleOf(obj) != manifest.RoleWorkload {
		return obj, nil
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
	return memory.MergeForeign(before.key, before.content, obj, live)
}

// reportFailure reports an object that could not be applied. If the server failed after a creation has applied other
// objects, this is a warning, since an error would taint the compute, and the next apply would replace it. The other
// planned objects are then saved as planned. The next refresh detects that they are missing.
func (w *writer) reportFailure(err error, planned objects, creating bool) {
	if !creating || len(w.existing) == 0 || !kube.AboutServer(err) {
		w.Diags.Append(owned.Failure(err))
		return
	}
	w.interrupted, w.PrivateState.Unready = true, true
	w.Diags.Append(tf.Warning(err, "Other objects of the compute exist, and it is in state with `ready = false`. "+
		"The next plan shows the missing objects, and its apply creates them and replaces nothing."))
	for key, object := range planned {
		if w.existing[key] != nil {
			continue
		}
		w.existing[key] = object
		if _, known := w.Memory[key]; !known {
			w.Memory.Expect(key, w.Creation)
		}
	}
}
