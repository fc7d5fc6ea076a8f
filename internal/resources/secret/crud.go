package secret

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// limit is what an operation may take. Nothing but a finalizer takes time.
const limit = 5 * time.Minute

// Create reads the source again and applies what it gives now: a plan of a new
// Secret shows its keys, and nothing that would tell one value from another.
func (r *secretResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	w := writer{r: r, creating: true, known: remembered{memory: owned.Memory{}, ledger: spec.NewLedger(r.sealer())}, diags: &resp.Diagnostics}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &w.model)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &w.config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.data.Cluster.BeginApply()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	written := w.write(ctx)
	if w.creation != nil {
		defer w.creation.End(r.data.Cluster)
	}
	if !written {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &w.model)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, w.model.identity())...)
	resp.Diagnostics.Append(w.known.save(ctx, resp.Private)...)
	resp.Diagnostics.Append(owned.Settle(ctx, r.data, w.creation, resp.Private)...)
	w.creation.Complete(r.data.Cluster)
}

// Update reads the source again, and refuses where it gives something else than
// the plan saw.
func (r *secretResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	w := writer{r: r, diags: &resp.Diagnostics}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &w.model)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &w.config)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &w.state)...)
	known, diags := recall(ctx, req.Private, r.sealer())
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	w.known = known
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if w.model.Keys.Equal(w.state.Keys) && w.model.Manifests.Equal(w.state.Manifests) {
		w.model.UID = w.state.UID // nothing but the provider's own settings changes
	} else if !w.write(ctx) {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &w.model)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, w.model.identity())...)
	resp.Diagnostics.Append(w.known.save(ctx, resp.Private)...)
}

// Delete deletes the Secret that is ours, and waits until it is gone.
func (r *secretResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(refuseIfProtected(&state)...)
	_, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_secret", state.ID)
	resp.Diagnostics.Append(diags...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	uid, diags, err := r.toDelete(ctx, &state, memory)
	resp.Diagnostics.Append(diags...)
	if err == nil && uid != "" {
		err = r.data.Cluster.DeleteSecret(ctx, state.ref(), uid)
	}
	if err != nil {
		resp.Diagnostics.Append(owned.Failure(err))
	}
	resp.Diagnostics.Append(owned.Kept(r.data.Cluster, state.ref())...)
}

// toDelete returns the UID of the Secret to delete, "" for none. Another one than
// that of state is left alone with a warning. Without the right to read it, the
// UID in state has to do: the server deletes no other one.
func (r *secretResource) toDelete(ctx context.Context, state *model, memory owned.Memory) (apitypes.UID, diag.Diagnostics, error) {
	ref, inState := state.ref(), apitypes.UID(state.UID.ValueString())
	memory.Recover(secretKey(ref), inState, false)
	live, err := r.data.Cluster.GetSecret(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		return "", nil, nil
	case kube.ClassOf(err) == kube.Denied && inState != "":
		return inState, nil, nil
	case err != nil:
		return "", nil, err
	}
	same, err := memory.Has(secretKey(ref), live)
	if err != nil || !same {
		return "", owned.LeftAlone(memory, secretKey(ref), ref, live, err), err
	}
	return live.GetUID(), nil, nil
}

// writer carries out one plan.
type writer struct {
	r                    *secretResource
	model, config, state model // model is the plan, becoming the new state
	known                remembered
	creating             bool
	creation             *owned.Creation // nil in an update
	diags                *diag.Diagnostics
}

// write applies the Secret, and says whether there is something to put into state.
func (w *writer) write(ctx context.Context) bool {
	if !w.place() {
		return false
	}
	source, diags := gather(&w.config, w.r.machine())
	w.diags.Append(diags...)
	if w.diags.HasError() {
		return false
	}
	revisions := revisionsOf(&w.model, &w.state, w.known.ledger, &w.config, w.creating)
	entries, diags := revisions.settle(source, w.model.Keys)
	w.diags.Append(diags...)
	mode := defaultMode(&w.model, &w.state, mountPath(&w.model, source))
	w.diags.Append(refuseUnusedMode(&w.model, mountPath(&w.model, source))...)
	object, manifests, diags := render(&w.model, source, mode, owned.PreserveCreator(w.r.data.Defaults, owned.Manifests(w.state.Manifests)))
	w.diags.Append(diags...)
	if w.diags.HasError() {
		return false
	}
	ref := w.model.ref()
	live, err := w.look(ctx, ref)
	if unreadable := kube.ClassOf(err) == kube.Denied; w.creating && (live != nil || unreadable) {
		if live, err = w.prepareCreate(ctx, ref, live); err != nil {
			w.fail(err)
			return false
		}
	}
	if err != nil && !kube.IsNotFound(err) && kube.ClassOf(err) != kube.Denied {
		w.fail(err)
	}
	if w.diags.HasError() {
		return false
	}
	if !w.creating {
		if object, err = w.toUpdate(ref, live, object); err != nil {
			w.diags.Append(owned.Failure(err))
			return false
		}
	}
	sent := spec.WithData(object, revisions.toSend(source, live))
	if err := w.vacate(ctx, ref, live, sent); err != nil {
		w.diags.Append(tf.Failure(err))
		return false
	}
	applied, err := w.send(ctx, ref, sent)
	w.fail(err)
	if err != nil && !(w.creating && kube.OutcomeUnknown(err)) {
		return false
	}
	if err != nil {
		applied = nil // it may exist: who has it in state can delete it
		w.known.memory.Expect(manifest.Key(sent), w.creation)
	} else {
		applied = w.prune(ctx, applied, source.keys())
		if !w.known.memory.Applied(manifest.Key(sent)) {
			w.diags.Append(owned.TakeOver(ctx, w.r.data.Cluster, ref, applied)...)
		}
	}
	w.known.ledger.Values = entries
	w.note(manifests, source, sent, applied)
	return true
}

// vacate lets the apply remove what leaves the Secret. Without the right to read
// it, that may not be known.
func (w *writer) vacate(ctx context.Context, ref kube.Ref, live, sent *unstructured.Unstructured) error {
	if live == nil {
		return nil
	}
	return owned.Vacate(ctx, w.r.data.Cluster, w.known.memory, ref, manifest.Key(sent), live, func() (*unstructured.Unstructured, error) {
		return w.r.data.Cluster.ApplySecret(ctx, sent, true)
	})
}

// toUpdate adds the UID to the Secret in state, so that the server makes no other
// one, should it have gone.
func (w *writer) toUpdate(ref kube.Ref, live, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if uid := w.model.UID.ValueString(); uid != "" {
		object = object.DeepCopy()
		object.SetUID(apitypes.UID(uid))
		return object, nil
	}
	return w.known.memory.ToSend(secretKey(ref), ref, live, object)
}

// look reads the Secret that is there; nil for none that a creation can find.
func (w *writer) look(ctx context.Context, ref kube.Ref) (*unstructured.Unstructured, error) {
	if w.creating {
		return w.creation.Look(ctx, w.r.data.Cluster, ref)
	}
	return w.r.data.Cluster.GetSecret(ctx, ref)
}

// fail reports an error, if there is one.
func (w *writer) fail(err error) {
	if err != nil {
		w.diags.Append(owned.Failure(err))
	}
}

// place finds the namespace where the plan could not know it, and with it what is
// created.
func (w *writer) place() bool {
	if w.model.Namespace.IsUnknown() {
		namespace, err := w.r.data.Cluster.Namespace()
		if err != nil {
			w.diags.Append(tf.Failure(err))
			return false
		}
		w.model.Namespace = types.StringValue(namespace)
	}
	if w.creating {
		w.creation = w.model.creation()
	}
	return true
}

// send applies the Secret. One that is new is marked as unfinished until it is
// in state.
func (w *writer) send(ctx context.Context, ref kube.Ref, secret *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	cluster := w.r.data.Cluster
	if !w.creating {
		applied, err := cluster.ApplySecret(ctx, secret, false)
		if err == nil {
			cluster.Complete(ref, applied)
		}
		return applied, err
	}
	return owned.CreateSecret(ctx, cluster, w.creation, ref, secret)
}

// prepareCreate sees to it that a new Secret can be created where there is one,
// or where that may not be read: live is nil then. It returns the one that is
// taken over, nil for none.
func (w *writer) prepareCreate(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	cluster, there := w.r.data.Cluster, live
	if there == nil {
		var err error
		there, err = cluster.SecretMetadata(ctx, ref)
		if err != nil && !kube.IsNotFound(err) {
			return nil, err
		}
	}
	if err := w.creation.Admit(ref, there); err != nil {
		w.diags.Append(owned.Failure(err))
		return live, nil
	}
	if there != nil && there.GetDeletionTimestamp() != nil {
		return nil, cluster.WaitSecretGone(ctx, ref, there.GetUID())
	}
	return live, nil
}

// prune removes the keys that the plan showed as going. Others came since: the
// next plan shows them.
func (w *writer) prune(ctx context.Context, applied *unstructured.Unstructured, keys []string) *unstructured.Unstructured {
	shown := texts(w.state.Keys)
	extra := slices.DeleteFunc(beyond(applied, keys), func(key string) bool {
		_, planned := shown[key]
		return !planned && !w.creating
	})
	if len(extra) == 0 {
		return applied
	}
	pruned, err := w.r.data.Cluster.RemoveSecretKeys(ctx, applied, extra)
	if err != nil {
		w.diags.Append(tf.Failure(err))
		return applied
	}
	return pruned
}

// appliedAs says whether a Secret has the values of the ledger and no others.
func (w *writer) appliedAs(live *unstructured.Unstructured) bool {
	data := kube.SecretData(live)
	for key, value := range data {
		if !w.known.ledger.Same(key, value) {
			return false
		}
	}
	return len(data) == len(w.known.ledger.Values)
}

// note puts what was applied into the model and the memory; live is nil where it
// is not known what came of it.
func (w *writer) note(manifests types.Map, source content, sent, live *unstructured.Unstructured) {
	keys := map[string]string{}
	for key, entry := range w.known.ledger.Values {
		keys[key] = entry.Text
	}
	for key, text := range texts(w.state.Keys) { // what could not be removed
		if _, there := kube.SecretData(live)[key]; there && keys[key] == "" {
			keys[key] = text
		}
	}
	w.known.notes = notes{}
	w.model.UID = types.StringNull()
	if live != nil {
		w.remember(sent, live)
		w.model.UID = types.StringValue(string(live.GetUID()))
	}
	w.model.Keys = textMap(keys)
	w.model.Manifests = manifests
	mount := mountPath(&w.model, source)
	w.model.Ref = reference(w.model.Name, mount, defaultMode(&w.model, &w.state, mount), source.keys())
	w.model.ID = types.StringValue(w.model.Namespace.ValueString() + "/" + w.model.Name.ValueString())
}

func (w *writer) remember(sent, live *unstructured.Unstructured) {
	ledger := w.known.ledger
	veiled := ledger.Veil(sent, kube.SecretData(sent))
	rewritten, err := w.known.memory.Remember(manifest.Key(sent), veiled, ledger.Veil(live, kube.SecretData(live)))
	w.fail(err)
	w.diags.Append(owned.AdmissionWarnings(w.model.ref().String(), rewritten)...)
	if w.appliedAs(live) {
		w.known.notes.Matched = versionOf(live)
	}
}
