package secret

import (
	"context"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Apply reads the source again and applies its values, unless they differ from the plan. The plan of a new Secret
// shows its keys, but nothing that distinguishes values.
func (hooks) Apply(ctx context.Context, w *writing) {
	w.PrivateState.open(w.Data)
	if w.Creating {
		w.PrivateState.continueWith(continued(w.Data.Run, w.Plan.ID, nil))
	}
	if !w.Creating && w.Plan.Keys.Equal(w.Prior.Keys) && w.Plan.Manifests.Equal(w.Prior.Manifests) {
		w.Plan.UID = w.Prior.UID // only settings of the provider change
	} else if !(writer{w}).write(ctx) {
		return
	}
	w.Save(ctx)
}

// Delete deletes the Secret in state, and waits until it no longer exists.
func (hooks) Delete(ctx context.Context, d *deleting) {
	cluster, ref := d.Data.Cluster, d.State.ref()
	continued(d.Data.Run, d.State.ID, d.PrivateState.Continued)
	uid, diags, err := uidToDelete(ctx, d)
	d.Diags.Append(diags...)
	if err == nil && uid != "" {
		var deleted bool
		deleted, err = d.Data.Run.DeleteUnlessClaimed(ctx, ref,
			func() error { return cluster.DeleteInBackground(ctx, ref, uid) })
		if deleted && err == nil {
			err = observe.WaitSecretGone(ctx, cluster, ref, uid)
		}
	}
	if err != nil {
		d.Diags.Append(owned.Failure(err))
	}
	d.Diags.Append(owned.NotDeletedWarning(d.Data.Run, ref)...)
}

// uidToDelete returns the UID of the Secret to delete, or "" if it does not exist. If another Secret was created in its
// place, it returns "" and a warning. Without permission to read the Secret, it returns the UID in state, because the
// server then deletes no other Secret.
func uidToDelete(ctx context.Context, d *deleting) (apitypes.UID, diag.Diagnostics, error) {
	ref, uid := d.State.ref(), apitypes.UID(d.State.UID.ValueString())
	live, err := d.Data.Cluster.API.Get(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		return "", nil, nil
	case kube.ClassOf(err) == kube.Denied && uid != "":
		return uid, nil, nil
	case err != nil:
		return "", nil, err
	}
	same, err := d.Memory.Has(secretKey(ref), live)
	if err != nil || !same {
		return "", owned.OtherObjectWarning(d.Memory, secretKey(ref), ref, live, err), err
	}
	return live.GetUID(), nil, nil
}

// writer applies one plan.
type writer struct{ *writing }

// write applies the Secret, and reports whether there is something to save in state.
func (w writer) write(ctx context.Context) bool {
	source, diags := gather(ctx, w.Config, localSourceOf(w.Data))
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return false
	}
	ref := w.Plan.ref()
	live, err := w.readSecret(ctx, ref)
	revisions := revisionsOf(w.Plan, w.Prior, w.PrivateState.Digests, w.Config, w.Creating)
	if source.kept {
		w.failed(err) // the values that stay are needed
		source = keptContent(revisions.digests, kube.SecretData(live))
	}
	entries, diags := revisions.resolveEntries(source, w.Plan.Keys)
	w.Diags.Append(diags...)
	mode, diags := w.Plan.setRef(ctx, w.Prior, source)
	w.Diags.Append(diags...)
	object, diags := w.Plan.render(source, mode, w.Data.Defaults, w.Prior.Manifests)
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return false
	}
	if unreadable := kube.ClassOf(err) == kube.Denied; w.Creating && (live != nil || unreadable) {
		if live, err = w.prepareCreate(ctx, ref, live); w.failed(err) {
			return false
		}
	}
	switch denied := kube.ClassOf(err) == kube.Denied; {
	case denied && !w.Creating:
		w.Diags.Append(revisions.refuseUnreadable(source, ref)...)
	case err != nil && !denied && !kube.IsNotFound(err):
		w.failed(err)
	}
	if w.Diags.HasError() {
		return false
	}
	if !w.Creating {
		if object, err = w.toUpdate(ref, live, object); w.failed(err) {
			return false
		}
	}
	sent := spec.WithData(object, revisions.valuesToSend(source, live))
	if w.failed(w.claimRemovedFields(ctx, ref, live, sent)) {
		return false
	}
	applied, err := w.send(ctx, ref, sent)
	if w.failed(err) && !(w.Creating && kube.OutcomeUnknown(err)) {
		return false
	}
	if err != nil {
		applied = nil // it may exist, and can be deleted if it is in state
		w.Memory.Expect(manifest.Key(sent), w.Creation)
	} else {
		applied = w.prune(ctx, applied, source)
		if !w.Memory.Applied(manifest.Key(sent)) {
			w.Diags.Append(owned.TakeOver(ctx, w.Data.Cluster, ref, applied)...)
		}
	}
	w.PrivateState.Digests.Values = entries
	w.record(source, sent, applied)
	return true
}

// claimRemovedFields makes sure that the apply removes omitted keys. Without permission to read the Secret, this may
// be impossible.
func (w writer) claimRemovedFields(ctx context.Context, ref kube.Ref, live, sent *unstructured.Unstructured) error {
	cluster := w.Data.Cluster
	dryRun := func() (*unstructured.Unstructured, error) { return cluster.DryRun(ctx, sent) }
	return owned.ClaimRemovedFields(ctx, cluster, w.Memory, ref, manifest.Key(sent), live, dryRun)
}

// toUpdate adds the UID of the Secret in state, so that the server does not create a new one if it was deleted.
func (w writer) toUpdate(ref kube.Ref, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if uid := w.Plan.UID.ValueString(); uid != "" {
		object = w.Memory.Marked(secretKey(ref), object).DeepCopy()
		object.SetUID(apitypes.UID(uid))
		return object, nil
	}
	return w.Memory.ObjectToSend(secretKey(ref), ref, live, object)
}

// readSecret reads the live Secret, or returns nil if a creation finds none.
func (w writer) readSecret(ctx context.Context, ref kube.Ref) (*unstructured.Unstructured, error) {
	if w.Creating {
		return w.Creation.LookUp(ctx, w.Data.Run, ref)
	}
	return w.Data.Cluster.API.Get(ctx, ref)
}

// failed reports an error, if there is one.
func (w writer) failed(err error) bool {
	if err != nil {
		w.Diags.Append(owned.Failure(err))
	}
	return err != nil
}

// send applies the Secret. A new one is marked as unfinished until it is in state.
func (w writer) send(
	ctx context.Context, ref kube.Ref, secret *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if !w.Creating {
		applied, err := w.Data.Cluster.Apply(ctx, secret)
		if err == nil {
			w.Data.Run.Complete(ref, applied)
		}
		return applied, err
	}
	return owned.CreateSecret(ctx, w.Data.Run, w.Creation, ref, secret)
}

// prepareCreate makes sure that a Secret can be created although it exists. live is nil without permission to read it,
// in which case only its metadata is read. It returns the Secret that is taken over, or nil.
func (w writer) prepareCreate(
	ctx context.Context, ref kube.Ref, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	cluster, existing := w.Data.Cluster, live
	if existing == nil {
		var err error
		existing, err = cluster.API.SecretMetadata(ctx, ref)
		if err != nil && !kube.IsNotFound(err) {
			return nil, err
		}
	}
	if err := w.Creation.Admit(ref, existing); err != nil {
		w.Diags.Append(owned.Failure(err))
		return live, nil
	}
	if existing != nil && existing.GetDeletionTimestamp() != nil {
		return nil, observe.WaitSecretGone(ctx, cluster, ref, existing.GetUID())
	}
	return live, nil
}

// prune removes the keys that the plan showed as removed. Others were added since, and appear in the next plan.
func (w writer) prune(
	ctx context.Context, applied *unstructured.Unstructured, source content,
) *unstructured.Unstructured {
	shown := tf.Texts(w.Prior.Keys)
	extra := slices.DeleteFunc(extraKeys(applied, source.keys()), func(key string) bool {
		_, planned := shown[key]
		return source.kept || !planned && !w.Creating
	})
	if len(extra) == 0 {
		return applied
	}
	pruned, err := w.Data.Cluster.RemoveSecretKeys(ctx, applied, extra)
	if err != nil {
		w.Diags.Append(tf.Failure(err))
		return applied
	}
	return pruned
}

// record stores the result of the apply in the model and the memory. live is nil if the result is unknown.
func (w writer) record(source content, sent, live *unstructured.Unstructured) {
	keys := kind.EachValue(w.PrivateState.Digests.Values, func(entry spec.Entry) string { return entry.Text })
	for key, text := range tf.Texts(w.Prior.Keys) { // keys that could not be removed
		if _, exists := kube.SecretData(live)[key]; exists && keys[key] == "" {
			keys[key] = text
		}
	}
	w.PrivateState = privateState{Digests: w.PrivateState.Digests}
	w.Plan.UID = types.StringNull()
	if live != nil {
		w.remember(sent, live)
		w.Plan.UID = types.StringValue(string(live.GetUID()))
	}
	if !source.kept {
		w.Plan.Keys = tf.TextMap(keys)
	}
}

// remember records the response to the apply, with digests instead of values.
func (w writer) remember(sent, live *unstructured.Unstructured) {
	digests := w.PrivateState.Digests
	masked := digests.Mask(live, kube.SecretData(live))
	rewritten, err := w.Memory.Remember(manifest.Key(sent), digests.Mask(sent, kube.SecretData(sent)), masked)
	w.failed(err)
	w.Diags.Append(owned.AdmissionWarnings(w.Plan.ref().String(), rewritten)...)
	if reflect.DeepEqual(masked, digests.MaskApplied(live)) {
		w.PrivateState.match(live)
	}
}
