package compute

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// writer applies one plan, and keeps the state consistent with the cluster.
type writer struct {
	*writing

	change  owned.Change
	planned owned.Objects
	before  []apitypes.UID // of the pods that the controller deletes after the update
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
	w.Plan.fillAddresses()
	w.apply(ctx, owned.Objects{})
	w.PrivateState.Origin = usedDefaults(w.Config, w.Data.Defaults)
	if len(w.change.Existing) == 0 { // nothing exists, so nothing goes into state
		if !w.Diags.HasError() {
			w.Diags.AddAttributeError(endpointURL(), noObjects, noObjectsDetail("Nothing was created."))
		}
		return
	}
	w.PrivateState.rememberCRD(ctx, w.Data.Cluster, w.Plan)
	w.save(ctx)
	w.waitReady(ctx)
}

// update applies the objects that change, and deletes those that the plan no longer contains.
func (w *writer) update(ctx context.Context) {
	prior, err := w.Prior.objects()
	if err != nil {
		w.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	origin := w.PrivateState.origin(w.Prior, prior)
	w.PrivateState.Origin = usedDefaults(w.Config, origin.override(w.Data.Defaults))
	w.PrivateState.Applied = nil
	mustWait := w.Plan.Ready.IsUnknown()
	w.Plan.Ready = w.Prior.Ready
	if w.PrivateState.recreatesExpired(w.Plan, w.Prior) {
		prior, w.PrivateState.Expired = w.PrivateState.existing(prior), nil
	}
	w.apply(ctx, prior)
	if w.Diags.HasError() {
		w.saveFailed(ctx, prior)
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
	w.Plan.Manifests = withNulls(w.Plan.manifestsOf(w.change.Existing, w.Plan, w.planned), w.Plan.Manifests)
	if !isKnown(w.Plan.Ready) {
		w.Plan.Ready = types.BoolValue(false)
	}
	if w.Plan.UID.IsUnknown() {
		w.Plan.UID = types.StringNull()
	}
	w.Save(ctx)
}

// saveFailed saves the state after a failed update: the prior attributes, and the objects that exist. The references in
// a workload that was applied stand for the new values of env_vars.
func (w *writer) saveFailed(ctx context.Context, prior owned.Objects) {
	before, current := *w.Prior, w.change.After(prior)
	for key, object := range current {
		if isWorkload(object.Content) && !object.Equal(prior[key]) {
			w.Prior.EnvVars = w.Plan.EnvVars
			w.Prior.InitContainers, w.Prior.Sidecars = w.Plan.InitContainers, w.Plan.Sidecars
		}
	}
	w.Prior.Manifests = withNulls(w.Prior.manifestsOf(current, &before, prior), before.Manifests)
	w.SaveAs(ctx, w.Prior)
}

// apply sends the planned objects that differ from prior ones, exactly as in the plan, and deletes the prior ones that
// the plan no longer contains.
func (w *writer) apply(ctx context.Context, prior owned.Objects) {
	planned, err := w.Plan.objects()
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
	w.change = owned.Change{
		Run: w.Data.Run, RecordedCluster: w.RecordedCluster, Memory: w.Memory, Creation: w.Creation,
		Rank: rank, DeletionRank: rank, DeletesFirst: isAutoscaler, PodLabels: w.Plan.podLabels(), Send: w.applyObject,
		Incomplete: "Other objects of the compute exist, and it is in state with `ready = false`. " +
			"The next plan shows the missing objects, and its apply creates them and replaces nothing.",
	}
	if w.Plan.Manifests.IsUnknown() {
		// Set before anything is sent, so that errors that quote a value of sensitive_fields are masked.
		w.Plan.Manifests = w.Plan.manifestsOf(planned, w.Plan, nil)
	}
	w.planned = planned
	w.change.Apply(ctx, planned, prior)
	w.Diags.Append(w.change.Diags...)
	w.PrivateState.Unready = w.PrivateState.Unready || w.change.Interrupted
}

// render returns the objects that the plan could not show.
func (w *writer) render(ctx context.Context, prior owned.Objects) owned.Objects {
	_, next, diags := versionsOf(w.Data, w.Config, w.Plan, prior)
	w.Diags.Append(diags...)
	if diags.HasError() {
		return nil
	}
	options := renderOptionsOf(ctx, w.Data, w.Prior, prior, w.PrivateState)
	options.versions = next
	w.Plan.fillVersions(next)
	planned, diags := render(ctx, w.Plan.asConfigured(w.Config), options)
	w.Diags.Append(diags...)
	return planned
}

// applyObject applies an object. before is the object that was applied last; nil if it is new.
func (w *writer) applyObject(
	ctx context.Context, obj *unstructured.Unstructured, before *owned.Object,
) (diag.Diagnostics, error) {
	key := manifest.Key(obj)
	if before != nil && isWorkload(obj) {
		w.before = w.podsBefore(ctx, before.Content, obj)
	}
	live, diags, err := w.send(ctx, withoutUnserved(obj), before)
	if err != nil {
		return diags, err
	}
	isKey := func(other string) bool { return other == key }
	w.PrivateState.Imported = slices.DeleteFunc(w.PrivateState.Imported, isKey)
	w.PrivateState.Foreign = slices.DeleteFunc(w.PrivateState.Foreign, isKey)
	if isWorkload(obj) {
		w.Plan.UID = types.StringValue(string(live.GetUID()))
		if err := w.endSuspension(ctx, obj, live); err != nil {
			return diags, err
		}
	}
	return diags, nil
}

// endSuspension removes what kt_suspend has recorded from a workload that the apply has resumed, and what it has set in
// fields that the apply does not own.
func (w *writer) endSuspension(ctx context.Context, applied, live *unstructured.Unstructured) error {
	of := kind.WorkloadOf(live.GroupVersionKind().GroupKind())
	if live.GetAnnotations()[kind.SuspendedAnnotation] == "" || manifest.IsSuspended(applied.Object, of) {
		return nil
	}
	ref, err := w.Data.Cluster.Discovery.RefOf(ctx, live)
	if err != nil {
		return err
	}
	_, _, err = w.Data.Cluster.Modify(ctx, ref, func(obj *unstructured.Unstructured) error {
		if manifest.FollowSuspension(applied, obj) != applied {
			return manifest.Resume(obj.Object, of, 0)
		}
		if !manifest.IsSuspended(obj.Object, of) {
			manifest.ForgetSuspension(obj.Object)
		}
		return nil
	})
	return err
}

func (w *writer) send(
	ctx context.Context, obj *unstructured.Unstructured, before *owned.Object,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	cluster := w.Data.Cluster
	if before == nil {
		return owned.Create(ctx, w.Data.Run, w.Memory, w.Creation, obj)
	}
	if isWorkload(obj) {
		if err := w.leaveReplicas(ctx, obj); err != nil {
			return nil, nil, err
		}
	}
	sent, err := mergeForeign(ctx, cluster, w.Memory, before, obj)
	if err != nil {
		return nil, nil, err
	}
	// The UID makes the server reject the request if the workload was deleted, instead of creating another one.
	if uid := w.Plan.UID.ValueString(); uid != "" && isWorkload(sent) {
		sent = sent.DeepCopy()
		sent.SetUID(apitypes.UID(uid))
	}
	return owned.ApplyAs(ctx, w.Data.Run, w.Memory, obj, sent)
}

// mergeForeign returns a workload with the list items that other clients have added, which an apply would remove.
func mergeForeign(
	ctx context.Context, cluster *kube.Cluster, memory owned.Memory, before *owned.Object,
	obj *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if before == nil || !isWorkload(obj) {
		return obj, nil
	}
	ref, err := cluster.Discovery.RefOf(ctx, obj)
	if err != nil {
		return nil, err
	}
	live, err := cluster.Store.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return obj, nil
	}
	if err != nil {
		return nil, err
	}
	return memory.MergeForeign(before.Key, before.Content, obj, live)
}

// Delete deletes the objects in the foreground and waits until the pods are gone, so that their GPUs are free when it
// returns.
func (hooks) Delete(ctx context.Context, d *deleting) {
	applied, err := d.State.objects()
	if err != nil {
		d.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	d.DeleteObjects(ctx, sorted(applied), d.State.podLabels())
}
