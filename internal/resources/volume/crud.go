package volume

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

const (
	applyTime  = 10 * time.Minute // file systems of clouds take minutes to be made
	deleteTime = 5 * time.Minute
)

// Create applies what was planned, puts it into state, and waits.
func (r *volumeResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.data.Cluster.BeginApply()
	limit, diags := plan.Timeouts.Create(ctx, applyTime)
	resp.Diagnostics.Append(diags...)
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.create")
	defer cancel()

	w := writer{r: r, model: &plan, memory: owned.Memory{}, state: &resp.State, private: resp.Private, diags: &resp.Diagnostics}
	created := w.create(ctx)
	if w.creation != nil {
		defer w.creation.End(r.data.Cluster)
	}
	if !resp.State.Raw.IsNull() {
		defer w.creation.Complete(r.data.Cluster)
		resp.Diagnostics.Append(owned.Settle(ctx, r.data, w.creation, resp.Private)...)
		resp.Diagnostics.Append(ask(ctx, resp.Private, false)...) // that was of the volume before this one
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
	if created {
		w.creating = true
		w.wait(ctx)
	}
}

// Update applies the claim if it changes, and waits if it grows.
func (r *volumeResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	before, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	limit, diags := plan.Timeouts.Update(ctx, applyTime)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.update")
	defer cancel()

	w := writer{r: r, model: &plan, memory: memory, notes: before, state: &resp.State, private: resp.Private, diags: &resp.Diagnostics}
	mustWait := plan.Phase.IsUnknown()
	if !w.update(ctx, &state) {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	if mustWait {
		w.wait(ctx)
	}
}

// writer carries out one plan, and keeps state true to the cluster on the way.
type writer struct {
	r       *volumeResource
	model   *model // the plan, becoming the new state
	memory  owned.Memory
	notes   notes
	state   *tfsdk.State
	private owned.PrivateWriter
	diags   *diag.Diagnostics

	creating bool
	creation *owned.Creation // nil in an update
}

// create says whether the claim exists and is in state.
func (w *writer) create(ctx context.Context) bool {
	if _, err := w.r.data.Cluster.Namespace(); err != nil && w.model.Namespace.IsUnknown() {
		w.diags.Append(tf.Failure(err)) // what left the namespace unknown in the plan
		return false
	}
	if w.model.StorageClass.IsUnknown() {
		w.chooseClass(ctx)
	}
	if w.diags.HasError() {
		return false
	}
	object := w.planned(ctx)
	if object == nil {
		return false
	}
	w.creation = w.model.creation()
	err := owned.MakeWay(ctx, w.r.data.Cluster, w.creation, object, nil)
	if err == nil && !w.creation.IsNew(w.model.claimRef()) {
		err = w.makeRoom(ctx, object)
	}
	if err != nil {
		w.diags.Append(owned.Failure(err))
		return false
	}
	return w.apply(ctx, object)
}

// update says whether the claim is as planned, and in state. A claim that does
// not change costs no request.
func (w *writer) update(ctx context.Context, prior *model) bool {
	object := w.planned(ctx)
	if object == nil {
		return false
	}
	if w.model.Manifests.Equal(prior.Manifests) {
		w.keepStatus(prior)
		w.notes.Imported = false // all settings of the configuration are in state now
		w.save(ctx)
		return true
	}
	// The UID keeps the server from making another claim if this one has gone.
	object.SetUID(apitypes.UID(prior.UID.ValueString()))
	return w.apply(ctx, object)
}

// keepStatus leaves what Kubernetes says of the claim as state has it.
func (w *writer) keepStatus(prior *model) {
	w.model.UID = prior.UID
	w.model.Phase, w.model.Capacity, w.model.Volume = prior.Phase, prior.Capacity, prior.Volume
}

// planned is the claim as the plan shows it, rendered now if the plan could not;
// nil with a diagnostic if it cannot be.
func (w *writer) planned(ctx context.Context) *unstructured.Unstructured {
	if w.model.Manifests.IsUnknown() {
		var diags diag.Diagnostics
		w.model.Manifests, diags = w.model.render(ctx, w.r.data.Defaults)
		w.diags.Append(diags...)
	}
	object, err := w.model.object()
	if err != nil {
		w.diags.AddError("The plan cannot be read", err.Error())
	}
	if w.diags.HasError() {
		return nil
	}
	return object
}

// makeRoom deletes a claim of ours that an earlier run left, if it cannot become
// the one that is wanted and is not bound, so that it holds no data.
func (w *writer) makeRoom(ctx context.Context, wanted *unstructured.Unstructured) error {
	cluster, ref := w.r.data.Cluster, w.model.claimRef()
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
func (w *writer) apply(ctx context.Context, object *unstructured.Unstructured) bool {
	var live *unstructured.Unstructured
	var diags diag.Diagnostics
	var err error
	if w.creation != nil {
		live, diags, err = owned.Create(ctx, w.r.data.Cluster, w.memory, w.creation, object)
	} else {
		live, diags, err = owned.Apply(ctx, w.r.data.Cluster, w.memory, object)
	}
	w.diags.Append(diags...)
	switch {
	case err == nil:
		w.model.status(live)
		w.notes.Imported = false
		w.save(ctx)
		return true
	case w.creation != nil && kube.OutcomeUnknown(err):
		w.saveUncertain(ctx, err)
	default:
		w.diags.Append(owned.Failure(err))
	}
	return false
}

// saveUncertain puts a claim into state of which it is not known whether it was
// created: who has it in state can delete it. It is a warning, since an error would
// taint a claim that may hold data by the time of the next apply.
func (w *writer) saveUncertain(ctx context.Context, err error) {
	w.diags.Append(tf.Caution(err, "The volume is in state. The next plan shows whether it is there, and creates it if it is not."))
	w.model.UID, w.model.Phase, w.model.Capacity, w.model.Volume = types.StringNull(), types.StringNull(), types.StringNull(), types.StringNull()
	w.notes.Waiting = true
	w.save(ctx)
}

func (w *writer) save(ctx context.Context) {
	w.notes.Protected = w.model.DeletionProtection.ValueBool()
	w.diags.Append(w.state.Set(ctx, w.model)...)
	w.diags.Append(w.memory.Save(ctx, w.private)...)
	w.diags.Append(w.notes.save(ctx, w.private)...)
}

// wait waits until the claim is bound and as large as it asks, and notes in
// state how it is then.
func (w *writer) wait(ctx context.Context) {
	if w.diags.HasError() {
		return
	}
	if wanted := w.model.WaitForBound; wanted.IsNull() || wanted.ValueBool() {
		cluster, ref := w.r.data.Cluster, w.model.claimRef()
		verdict, err := cluster.WaitClaim(ctx, ref, wanted.ValueBool())
		w.lastLook(ctx)
		if err != nil {
			w.notReady(err)
		} else if w.model.smaller() && verdict.Ready {
			w.diags.AddAttributeWarning(path.Root("size"), "The file system has not grown yet", verdict.Message+" Restart the pods that use it.")
		}
		w.notes.Waiting = err != nil
	} else {
		w.notes.Waiting = false
	}
	w.save(ctx)
}

// lastLook notes how the claim is at the end of a wait, also of one that was
// interrupted.
func (w *writer) lastLook(ctx context.Context) {
	const moment = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), moment)
	defer cancel()
	if live, err := w.r.data.Cluster.Read(ctx, w.model.claimRef()); err == nil {
		w.model.status(live)
	}
}

// notReady reports how a wait ended. An error after a creation makes Terraform
// taint the volume and replace it with the next apply: only what waiting cannot
// resolve is one, and never of a claim that is bound and may hold data.
func (w *writer) notReady(err error) {
	bound := w.model.Phase.ValueString() == string(corev1.ClaimBound)
	if kube.IsPermanent(err) && !(w.creating && bound) {
		w.diags.Append(tf.Failure(err))
		return
	}
	w.diags.Append(tf.Caution(err, "The volume is in state. The next plan waits for it again, and does not replace it."))
}

// Delete removes the claim and waits until it is gone. It begins only once no
// pod holds the claim: a deletion that has begun cannot be taken back, and takes
// the data with the last pod.
func (r *volumeResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(refuseIfProtected(&state)...)
	_, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_volume", state.ID)
	resp.Diagnostics.Append(diags...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	wanted, diags := asked(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	limit, diags := state.Timeouts.Delete(ctx, deleteTime)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := tf.WithTimeLimit(ctx, limit, "timeouts.delete")
	defer cancel()

	cluster, ref := r.data.Cluster, state.claimRef()
	if kept := owned.Kept(cluster, ref); len(kept) > 0 {
		resp.Diagnostics.Append(kept...)
		return
	}
	memory.Recover(state.key(), apitypes.UID(state.UID.ValueString()), false)
	live, err := cluster.Get(ctx, ref)
	if kube.IsNotFound(err) {
		return
	}
	same := false
	if err == nil {
		same, err = memory.Has(state.key(), live)
	}
	switch {
	case err != nil:
		resp.Diagnostics.Append(tf.Failure(err))
		return
	case !same: // what was made in its place belongs to somebody else
		resp.Diagnostics.Append(owned.LeftAlone(memory, state.key(), ref, live, nil)...)
		return
	case !wanted && claim.Bound(live):
		resp.Diagnostics.Append(keepTainted(ref))
		return
	}
	if live.GetDeletionTimestamp() == nil {
		if err := cluster.WaitUnused(ctx, ref); err != nil {
			resp.Diagnostics.Append(tf.Failure(err))
			return
		}
	}
	started, left, err := owned.Delete(ctx, cluster, memory, state.key(), ref)
	resp.Diagnostics.Append(left...)
	if err != nil {
		resp.Diagnostics.Append(owned.Failure(err))
	}
	if err != nil || !started {
		resp.Diagnostics.Append(owned.Kept(cluster, ref)...)
		return
	}
	if err := cluster.WaitClaimGone(ctx, ref); err != nil {
		resp.Diagnostics.Append(tf.Failure(err))
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
