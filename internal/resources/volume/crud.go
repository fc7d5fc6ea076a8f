package volume

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// writer carries out one plan, and keeps the state true to the cluster.
type writer struct{ *writing }

// Apply creates or updates the claim, puts it into state, and waits.
func (hooks) Apply(ctx context.Context, w *writing) {
	writer := writer{w}
	if !w.Creating {
		writer.update(ctx)
		return
	}
	if writer.create(ctx) {
		writer.wait(ctx)
	}
	w.Diags.Append(ask(ctx, w.Private, false)...) // that was of the volume before this one
}

// create says whether the claim exists and is in state.
func (w writer) create(ctx context.Context) bool {
	if w.Plan.StorageClass.IsUnknown() {
		w.chooseClass(ctx)
	}
	if w.Diags.HasError() {
		return false
	}
	object := w.planned(ctx)
	if object == nil {
		return false
	}
	err := owned.PrepareCreate(ctx, w.Data.Cluster, w.Creation, object, nil)
	if err == nil && !w.Creation.IsNew(w.Plan.claimRef()) {
		err = w.makeRoom(ctx, object)
	}
	if err != nil {
		w.Diags.Append(owned.Failure(err))
		return false
	}
	return w.apply(ctx, object)
}

// update applies the claim if it changes, and waits if it grows. A claim that does
// not change costs no request.
func (w writer) update(ctx context.Context) {
	mustWait := w.Plan.Phase.IsUnknown()
	object := w.planned(ctx)
	if object == nil {
		return
	}
	if w.Plan.Manifests.Equal(w.Prior.Manifests) {
		w.keepStatus(w.Prior)
		w.PrivateState.Imported = false // all settings of the configuration are in state now
		w.save(ctx)
	} else {
		// The UID keeps the server from making another claim if this one has gone.
		object.SetUID(apitypes.UID(w.Prior.UID.ValueString()))
		if !w.apply(ctx, object) {
			return
		}
	}
	if mustWait {
		w.wait(ctx)
	}
}

// keepStatus leaves what Kubernetes says of the claim as state has it.
func (w writer) keepStatus(prior *model) {
	w.Plan.UID = prior.UID
	w.Plan.claimStatus = prior.claimStatus
}

// planned is the claim as the plan shows it, rendered now if the plan could not;
// nil with a diagnostic if it cannot be.
func (w writer) planned(ctx context.Context) *unstructured.Unstructured {
	if w.Plan.Manifests.IsUnknown() {
		var diags diag.Diagnostics
		w.Plan.Manifests, diags = w.Plan.render(ctx, w.Data.Defaults)
		w.Diags.Append(diags...)
	}
	object, err := w.Plan.object()
	if err != nil {
		w.Diags.AddError("The plan cannot be read", err.Error())
	}
	if w.Diags.HasError() {
		return nil
	}
	return object
}

// makeRoom deletes a claim of ours that an earlier run left, if it cannot become
// the one that is wanted and is not bound, so that it holds no data.
func (w writer) makeRoom(ctx context.Context, wanted *unstructured.Unstructured) error {
	cluster, ref := w.Data.Cluster, w.Plan.claimRef()
	live, err := cluster.Get(ctx, ref)
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
	return cluster.WaitClaimGone(ctx, ref)
}

// apply sends the claim and puts it into state.
func (w writer) apply(ctx context.Context, object *unstructured.Unstructured) bool {
	var live *unstructured.Unstructured
	var diags diag.Diagnostics
	var err error
	if w.Creating {
		live, diags, err = owned.Create(ctx, w.Data.Cluster, w.Memory, w.Creation, object)
	} else {
		live, diags, err = owned.Apply(ctx, w.Data.Cluster, w.Memory, object)
	}
	w.Diags.Append(diags...)
	switch {
	case err == nil:
		w.Plan.status(live)
		w.PrivateState.Imported = false
		w.save(ctx)
		return true
	case w.Creating && kube.OutcomeUnknown(err):
		w.saveUncertain(ctx, err)
	default:
		w.Diags.Append(owned.Failure(err))
	}
	return false
}

// saveUncertain puts a claim into state of which it is not known whether it was
// created: who has it in state can delete it. It is a warning, since an error would
// taint a claim that may hold data by the time of the next apply.
func (w writer) saveUncertain(ctx context.Context, err error) {
	w.Diags.Append(tf.Warning(err, "The volume is in state. The next plan shows whether it is there, and creates it if it is not."))
	w.Plan.UID, w.Plan.claimStatus = types.StringNull(), claimStatus{}
	w.PrivateState.Waiting = true
	w.save(ctx)
}

func (w writer) save(ctx context.Context) {
	w.PrivateState.Protected = w.Plan.DeletionProtection.ValueBool()
	w.Save(ctx)
}

// wait waits until the claim is bound and as large as it asks, and notes in
// state how it is then.
func (w writer) wait(ctx context.Context) {
	if w.Diags.HasError() {
		return
	}
	if wanted := w.Plan.WaitForBound; wanted.IsNull() || wanted.ValueBool() {
		cluster, ref := w.Data.Cluster, w.Plan.claimRef()
		verdict, err := cluster.WaitClaim(ctx, ref, wanted.ValueBool())
		w.lastLook(ctx)
		if err != nil {
			w.notReady(err)
		} else if w.Plan.smaller() && verdict.Ready {
			w.Diags.AddAttributeWarning(path.Root("size"), "The file system has not grown yet", verdict.Message+" Restart the pods that use it.")
		}
		w.PrivateState.Waiting = err != nil
	} else {
		w.PrivateState.Waiting = false
	}
	w.save(ctx)
}

// lastLook notes how the claim is at the end of a wait, also of one that was
// interrupted.
func (w writer) lastLook(ctx context.Context) {
	const moment = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moment)
	defer cancel()
	if live, err := w.Data.Cluster.Read(ctx, w.Plan.claimRef()); err == nil {
		w.Plan.status(live)
	}
}

// notReady reports how a wait ended. An error after a creation makes Terraform
// taint the volume and replace it with the next apply: only what waiting cannot
// resolve is one, and never of a claim that is bound and may hold data.
func (w writer) notReady(err error) {
	bound := w.Plan.Phase.ValueString() == string(corev1.ClaimBound)
	if kube.IsPermanent(err) && !(w.Creating && bound) {
		w.Diags.Append(tf.Failure(err))
		return
	}
	w.Diags.Append(tf.Warning(err, "The volume is in state. The next plan waits for it again, and does not replace it."))
}

// Delete removes the claim and waits until it is gone. It begins only once no
// pod holds the claim: a deletion that has begun cannot be taken back, and takes
// the data with the last pod.
func (hooks) Delete(ctx context.Context, d *deleting) {
	wanted, diags := asked(ctx, d.Private)
	d.Diags.Append(diags...)
	if diags.HasError() {
		return
	}
	cluster, ref := d.Data.Cluster, d.State.claimRef()
	if kept := owned.NotDeletedWarning(cluster, ref); len(kept) > 0 {
		d.Diags.Append(kept...)
		return
	}
	d.Memory.Recover(d.State.key(), apitypes.UID(d.State.UID.ValueString()), false)
	live, err := cluster.Get(ctx, ref)
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
	case !same: // what was made in its place belongs to somebody else
		d.Diags.Append(owned.OtherObjectWarning(d.Memory, d.State.key(), ref, live, nil)...)
		return
	case !wanted && claim.Bound(live):
		d.Diags.Append(keepTainted(ref))
		return
	}
	if live.GetDeletionTimestamp() == nil {
		if err := cluster.WaitUnused(ctx, ref); err != nil {
			d.Diags.Append(tf.Failure(err))
			return
		}
	}
	started, left, err := owned.Delete(ctx, cluster, d.Memory, d.State.key(), ref)
	d.Diags.Append(left...)
	if err != nil {
		d.Diags.Append(owned.Failure(err))
	}
	if err != nil || !started {
		d.Diags.Append(owned.NotDeletedWarning(cluster, ref)...)
		return
	}
	if err := cluster.WaitClaimGone(ctx, ref); err != nil {
		d.Diags.Append(tf.Failure(err))
	}
}

// keepTainted refuses to replace a volume without being asked, where it is
// bound by now: one that Terraform has marked as tainted when its creation
// failed, or one that was not bound yet when its replacement was planned.
func keepTainted(ref kube.Ref) diag.Diagnostic {
	return diag.NewErrorDiagnostic("A volume with data is not replaced unasked",
		fmt.Sprintf("%s would be replaced because its creation failed (it is tainted) or because it was not bound when the plan was made. It is bound now and may hold data, "+
			"so nothing was deleted.\n\nTo keep it, remove the mark where there is one, and plan again:\n  terraform untaint ADDRESS\n"+
			"To replace it on purpose, do so too, and then:\n  terraform apply -replace=ADDRESS", ref))
}
