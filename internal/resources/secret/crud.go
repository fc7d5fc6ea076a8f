package secret

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Apply reads the source again and applies what it gives now, unless it differs
// from what the plan saw. The plan of a new Secret shows its keys, and nothing that
// would tell one value from another.
func (hooks) Apply(ctx context.Context, w *writing) {
	if w.Creating {
		w.PrivateState = remembered{ledger: spec.NewLedger(sealerOf(w.Data))}
	}
	if !w.Creating && w.Plan.Keys.Equal(w.Prior.Keys) && w.Plan.Manifests.Equal(w.Prior.Manifests) {
		w.Plan.UID = w.Prior.UID // nothing but the provider's own settings changes
	} else if !(writer{w}).write(ctx) {
		return
	}
	w.Save(ctx)
}

// Delete deletes the Secret that is ours, and waits until it is gone.
func (hooks) Delete(ctx context.Context, d *deleting) {
	cluster, ref := d.Data.Cluster, d.State.ref()
	uid, diags, err := toDelete(ctx, d)
	d.Diags.Append(diags...)
	if err == nil && uid != "" {
		err = cluster.DeleteSecret(ctx, ref, uid)
	}
	if err != nil {
		d.Diags.Append(owned.Failure(err))
	}
	d.Diags.Append(owned.NotDeletedWarning(cluster, ref)...)
}

// toDelete returns the UID of the Secret to delete, "" for none. Another one than
// that of state is left alone with a warning. Without permission to read it, the
// UID in state has to do: the server deletes no other one.
func toDelete(ctx context.Context, d *deleting) (apitypes.UID, diag.Diagnostics, error) {
	ref, inState := d.State.ref(), apitypes.UID(d.State.UID.ValueString())
	d.Memory.Recover(secretKey(ref), inState, false)
	live, err := d.Data.Cluster.GetSecret(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		return "", nil, nil
	case kube.ClassOf(err) == kube.Denied && inState != "":
		return inState, nil, nil
	case err != nil:
		return "", nil, err
	}
	same, err := d.Memory.Has(secretKey(ref), live)
	if err != nil || !same {
		return "", owned.OtherObjectWarning(d.Memory, secretKey(ref), ref, live, err), err
	}
	return live.GetUID(), nil, nil
}

// writer carries out one plan.
type writer struct{ *writing }

// write applies the Secret, and says whether there is something to put into state.
func (w writer) write(ctx context.Context) bool {
	source, diags := gather(w.Config, machineOf(w.Data))
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return false
	}
	revisions := revisionsOf(w.Plan, w.Prior, w.PrivateState.ledger, w.Config, w.Creating)
	entries, diags := revisions.settle(source, w.Plan.Keys)
	w.Diags.Append(diags...)
	mount := mountPath(w.Plan, source)
	w.Diags.Append(refuseUnusedMode(w.Plan, mount)...)
	defaults := owned.PreserveCreator(w.Data.Defaults, owned.Manifests(w.Prior.Manifests))
	object, manifests, diags := render(w.Plan, source, defaultMode(w.Plan, w.Prior, mount), defaults)
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return false
	}
	ref := w.Plan.ref()
	live, err := w.look(ctx, ref)
	if unreadable := kube.ClassOf(err) == kube.Denied; w.Creating && (live != nil || unreadable) {
		if live, err = w.prepareCreate(ctx, ref, live); err != nil {
			w.fail(err)
			return false
		}
	}
	if err != nil && !kube.IsNotFound(err) && kube.ClassOf(err) != kube.Denied {
		w.fail(err)
	}
	if w.Diags.HasError() {
		return false
	}
	if !w.Creating {
		if object, err = w.toUpdate(ref, live, object); err != nil {
			w.Diags.Append(owned.Failure(err))
			return false
		}
	}
	sent := spec.WithData(object, revisions.toSend(source, live))
	if err := w.vacate(ctx, ref, live, sent); err != nil {
		w.Diags.Append(tf.Failure(err))
		return false
	}
	applied, err := w.send(ctx, ref, sent)
	w.fail(err)
	if err != nil && !(w.Creating && kube.OutcomeUnknown(err)) {
		return false
	}
	if err != nil {
		applied = nil // it may exist: who has it in state can delete it
		w.Memory.Expect(manifest.Key(sent), w.Creation)
	} else {
		applied = w.prune(ctx, applied, source.keys())
		if !w.Memory.Applied(manifest.Key(sent)) {
			w.Diags.Append(owned.TakeOver(ctx, w.Data.Cluster, ref, applied)...)
		}
	}
	w.PrivateState.ledger.Values = entries
	w.note(manifests, source, sent, applied)
	return true
}

// vacate lets the apply remove what leaves the Secret. Without permission to read
// it, that may not be known.
func (w writer) vacate(ctx context.Context, ref kube.Ref, live, sent *unstructured.Unstructured) error {
	if live == nil {
		return nil
	}
	cluster := w.Data.Cluster
	dryRun := func() (*unstructured.Unstructured, error) { return cluster.ApplySecret(ctx, sent, true) }
	return owned.ClaimRemovedFields(ctx, cluster, w.Memory, ref, manifest.Key(sent), live, dryRun)
}

// toUpdate adds the UID to the Secret in state, so that the server makes no other
// one, should it have gone.
func (w writer) toUpdate(ref kube.Ref, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if uid := w.Plan.UID.ValueString(); uid != "" {
		object = object.DeepCopy()
		object.SetUID(apitypes.UID(uid))
		return object, nil
	}
	return w.Memory.ObjectToSend(secretKey(ref), ref, live, object)
}

// look reads the Secret that is there; nil for none that a creation can find.
func (w writer) look(ctx context.Context, ref kube.Ref) (*unstructured.Unstructured, error) {
	if w.Creating {
		return w.Creation.LookUp(ctx, w.Data.Cluster, ref)
	}
	return w.Data.Cluster.GetSecret(ctx, ref)
}

// fail reports an error, if there is one.
func (w writer) fail(err error) {
	if err != nil {
		w.Diags.Append(owned.Failure(err))
	}
}

// send applies the Secret. One that is new is marked as unfinished until it is
// in state.
func (w writer) send(
	ctx context.Context, ref kube.Ref, secret *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	cluster := w.Data.Cluster
	if !w.Creating {
		applied, err := cluster.ApplySecret(ctx, secret, false)
		if err == nil {
			cluster.Complete(ref, applied)
		}
		return applied, err
	}
	return owned.CreateSecret(ctx, cluster, w.Creation, ref, secret)
}

// prepareCreate sees to it that a new Secret can be created where there is one,
// or where that may not be read: live is nil then. It returns the one that is
// taken over, nil for none.
func (w writer) prepareCreate(
	ctx context.Context, ref kube.Ref, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	cluster, there := w.Data.Cluster, live
	if there == nil {
		var err error
		there, err = cluster.SecretMetadata(ctx, ref)
		if err != nil && !kube.IsNotFound(err) {
			return nil, err
		}
	}
	if err := w.Creation.Admit(ref, there); err != nil {
		w.Diags.Append(owned.Failure(err))
		return live, nil
	}
	if there != nil && there.GetDeletionTimestamp() != nil {
		return nil, cluster.WaitSecretGone(ctx, ref, there.GetUID())
	}
	return live, nil
}

// prune removes the keys that the plan showed as going. Others came since: the
// next plan shows them.
func (w writer) prune(
	ctx context.Context, applied *unstructured.Unstructured, keys []string,
) *unstructured.Unstructured {
	shown := texts(w.Prior.Keys)
	extra := slices.DeleteFunc(beyond(applied, keys), func(key string) bool {
		_, planned := shown[key]
		return !planned && !w.Creating
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

// appliedAs says whether a Secret has the values of the ledger and no others.
func (w writer) appliedAs(live *unstructured.Unstructured) bool {
	data := kube.SecretData(live)
	for key, value := range data {
		if !w.PrivateState.ledger.Same(key, value) {
			return false
		}
	}
	return len(data) == len(w.PrivateState.ledger.Values)
}

// note puts what was applied into the model and the memory; live is nil where it
// is not known what came of it.
func (w writer) note(manifests types.Map, source content, sent, live *unstructured.Unstructured) {
	keys := map[string]string{}
	for key, entry := range w.PrivateState.ledger.Values {
		keys[key] = entry.Text
	}
	for key, text := range texts(w.Prior.Keys) { // what could not be removed
		if _, there := kube.SecretData(live)[key]; there && keys[key] == "" {
			keys[key] = text
		}
	}
	w.PrivateState.privateState = privateState{}
	w.Plan.UID = types.StringNull()
	if live != nil {
		w.remember(sent, live)
		w.Plan.UID = types.StringValue(string(live.GetUID()))
	}
	w.Plan.Keys = textMap(keys)
	w.Plan.Manifests = manifests
	mount := mountPath(w.Plan, source)
	w.Plan.Ref = reference(w.Plan.Name, mount, defaultMode(w.Plan, w.Prior, mount), source.keys())
}

func (w writer) remember(sent, live *unstructured.Unstructured) {
	ledger := w.PrivateState.ledger
	veiled := ledger.Veil(sent, kube.SecretData(sent))
	rewritten, err := w.Memory.Remember(manifest.Key(sent), veiled, ledger.Veil(live, kube.SecretData(live)))
	w.fail(err)
	w.Diags.Append(owned.AdmissionWarnings(w.Plan.ref().String(), rewritten)...)
	if w.appliedAs(live) {
		w.PrivateState.privateState.Matched = versionOf(live)
	}
}
