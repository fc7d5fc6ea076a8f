package volume

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// writer applies one plan.
type writer struct{ *writing }

// Apply creates or updates the claim, saves it in state, and waits.
func (hooks) Apply(ctx context.Context, writing *writing) {
	w := writer{writing}
	if !w.Creating {
		w.update(ctx)
		return
	}
	if w.create(ctx) {
		w.wait(ctx)
	}
}

// create creates the claim and saves it in state. It reports whether it succeeded.
func (w writer) create(ctx context.Context) bool {
	if w.Plan.StorageClass.IsUnknown() {
		w.selectClass(ctx)
	}
	if w.Diags.HasError() {
		return false
	}
	object := w.planned(ctx)
	if object == nil {
		return false
	}
	err := owned.PrepareCreate(ctx, w.Data.Run, w.Creation, object, nil)
	if err == nil && !w.Creation.IsNew(w.Plan.claimRef()) {
		err = w.deleteUnfinished(ctx, object)
	}
	if err != nil {
		w.Diags.Append(owned.Failure(err))
		return false
	}
	return w.apply(ctx, object)
}

// update applies the claim if it changes, and waits if it grows. It sends no request for an unchanged claim.
func (w writer) update(ctx context.Context) {
	mustWait := w.Plan.Phase.IsUnknown()
	object := w.planned(ctx)
	if object == nil {
		return
	}
	if w.Plan.Manifests.Equal(w.Prior.Manifests) {
		w.keepStatus()
		w.PrivateState.Imported = false // all settings of the configuration are in state now
		w.save(ctx)
	} else if !w.apply(ctx, object) {
		return
	}
	if mustWait {
		w.wait(ctx)
	}
}

// keepStatus sets the UID and the status of the prior state.
func (w writer) keepStatus() {
	w.Plan.UID, w.Plan.claimStatus = w.Prior.UID, w.Prior.claimStatus
}

// planned returns the claim of the plan. It renders the claim if manifests is unknown in the plan. It returns nil with
// a diagnostic on failure.
func (w writer) planned(ctx context.Context) *unstructured.Unstructured {
	if w.Plan.Manifests.IsUnknown() {
		var diags diag.Diagnostics
		w.Plan.Manifests, diags = w.Plan.render(ctx, w.Data.Defaults)
		w.Diags.Append(diags...)
	}
	object, err := owned.ObjectIn(w.Plan.Manifests)
	if err != nil {
		w.Diags.AddError("Cannot read the plan", err.Error())
	}
	if w.Diags.HasError() {
		return nil
	}
	return object
}

// deleteUnfinished deletes the claim of an unfinished creation if it cannot be changed to the wanted claim. It keeps a
// bound claim, which may contain data.
func (w writer) deleteUnfinished(ctx context.Context, wanted *unstructured.Unstructured) error {
	cluster, ref := w.Data.Cluster, w.Plan.claimRef()
	live, err := cluster.API.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if kube.UnfinishedCreation(live) == "" || claim.Bound(live) || claim.CanBecome(live, wanted) {
		return nil
	}
	if err := cluster.Delete(ctx, ref, live.GetUID()); err != nil {
		return err
	}
	return observe.WaitClaimGone(ctx, cluster, ref, live.GetUID())
}

// apply sends the claim and saves it in state. It reports whether the server applied it.
func (w writer) apply(ctx context.Context, object *unstructured.Unstructured) bool {
	live, diags, err := w.Send(ctx, object, !w.Creating)
	w.Diags.Append(diags...)
	switch {
	case err == nil:
		planned := w.Plan.claimStatus
		w.Plan.setStatus(live)
		if !planned.Phase.IsUnknown() { // a known value must not change; the next refresh updates it
			w.Plan.claimStatus = planned
		}
		w.PrivateState.Imported = false
		w.save(ctx)
		return true
	case w.Creating && kube.OutcomeUnknown(err):
		w.saveUnknownOutcome(ctx, err)
	default:
		w.Diags.Append(owned.Failure(err))
	}
	return false
}

// saveUnknownOutcome saves a claim in state whose creation may have succeeded, so that it can be deleted. It reports
// a warning, because an error would taint a claim that may contain data by the time of the next apply.
func (w writer) saveUnknownOutcome(ctx context.Context, err error) {
	w.Diags.Append(tf.Warning(err, "The volume is in state. The next plan shows whether it exists, and creates it if "+
		"it does not."))
	w.Plan.UID, w.Plan.claimStatus = types.StringNull(), claimStatus{}
	w.PrivateState.Waiting = true
	w.save(ctx)
}

func (w writer) save(ctx context.Context) {
	w.PrivateState.Protected = w.Plan.DeletionProtection.ValueBool()
	w.Save(ctx)
}

// wait waits until the claim is bound and has the requested size, and then updates the status in state.
func (w writer) wait(ctx context.Context) {
	if w.Diags.HasError() {
		return
	}
	w.PrivateState.Waiting = false
	if wanted := w.Plan.WaitForBound; wanted.IsNull() || wanted.ValueBool() {
		cluster, ref := w.Data.Cluster, w.Plan.claimRef()
		verdict, err := observe.WaitClaim(ctx, cluster, ref, wanted.ValueBool())
		if live, readErr := w.ReadNow(ctx, ref); readErr == nil {
			w.Plan.setStatus(live)
		}
		if err != nil {
			w.notReady(err)
		} else if w.Plan.isSmaller() && verdict.Ready {
			w.Diags.AddAttributeWarning(path.Root("size"), "The file system has not grown yet",
				verdict.Message+" Restart the pods that use it.")
		}
		w.PrivateState.Waiting = err != nil
	}
	w.save(ctx)
}

// notReady reports how a wait ended. An error after a creation makes Terraform taint the volume and replace it in
// the next apply. Therefore it is an error only if waiting cannot resolve the problem, and never for a bound claim,
// which may contain data.
func (w writer) notReady(err error) {
	bound := w.Plan.Phase.ValueString() == string(corev1.ClaimBound)
	if observe.IsPermanent(err) && !(w.Creating && bound) {
		w.Diags.Append(tf.Failure(err))
		return
	}
	w.Diags.Append(tf.Warning(err, "The volume is in state. The next apply waits for it again, and does not replace "+
		"it."))
}

// Delete deletes the claim and waits until it no longer exists. It starts only when no pod uses the claim, because a
// deletion cannot be undone and deletes the data when the last pod ends.
func (hooks) Delete(ctx context.Context, d *deleting) {
	cluster, ref := d.Data.Cluster, d.State.claimRef()
	if warning := owned.NotDeletedWarning(d.Data.Run, ref); len(warning) > 0 {
		d.Diags.Append(warning...)
		return
	}
	live, err := cluster.API.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return
	}
	same := false
	if err == nil {
		same, err = d.Memory.Has(d.State.key(), live)
	}
	switch {
	case err != nil:
		d.Diags.Append(tf.Failure(err))
		return
	case !same: // another claim was created in its place
		d.Diags.Append(owned.OtherObjectWarning(d.Memory, d.State.key(), ref, live, nil)...)
		return
	case !d.DestroyRequested && claim.Bound(live):
		d.Diags.Append(boundError(ref))
		return
	}
	if live.GetDeletionTimestamp() == nil {
		if err := observe.WaitUnused(ctx, cluster, ref); err != nil {
			d.Diags.Append(tf.Failure(err))
			return
		}
		if live, err = cluster.API.Get(ctx, ref); err == nil && !d.DestroyRequested && claim.Bound(live) {
			d.Diags.Append(boundError(ref)) // the pods that it waited for may have written data
			return
		}
	}
	started, diags, err := owned.Delete(ctx, d.Data.Run, d.Memory, d.State.key(), ref)
	d.Diags.Append(diags...)
	if err != nil {
		d.Diags.Append(owned.Failure(err))
	}
	if err != nil || !started {
		d.Diags.Append(owned.NotDeletedWarning(d.Data.Run, ref)...)
		return
	}
	if err := observe.WaitClaimGone(ctx, cluster, ref, cluster.DeletionOf(ref)); err != nil {
		d.Diags.Append(tf.Failure(err))
	}
}

// boundError reports that the replacement of a bound volume was not requested. Either Terraform has marked it as
// tainted because its creation failed, or it was not yet bound when the replacement was planned.
func boundError(ref kube.Ref) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Replacement of a bound volume was not requested",
		fmt.Sprintf("%s would be replaced because its creation failed (it is tainted) or because it was not bound "+
			"when the plan was created. It is bound now and may contain data. Therefore nothing was deleted.\n\n"+
			"To keep it, remove the taint if there is one, and plan again:\n  terraform untaint ADDRESS\n"+
			"To replace it, remove the taint as well, and then run:\n  terraform apply -replace=ADDRESS", ref))
}
