package image

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// timeLimit is the timeout of an operation, which sends only a few requests.
const timeLimit = 5 * time.Minute

// Create applies the planned ConfigMap.
func (r *imageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	r.data.Cluster.BeginApply()
	w := writer{r: r, plan: &plan, config: &config, prior: &model{}, memory: owned.Memory{}, state: &resp.State, private: resp.Private, diags: &resp.Diagnostics}
	if w.write(ctx) {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

// Update applies the planned ConfigMap if it changes.
func (r *imageResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	w := writer{r: r, plan: &plan, config: &config, prior: &state, memory: memory, state: &resp.State, private: resp.Private, diags: &resp.Diagnostics}
	if w.write(ctx) {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

// Delete deletes the ConfigMap and waits until it no longer exists.
func (r *imageResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(refuseIfProtected(&state)...)
	_, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_image", state.ID)
	resp.Diagnostics.Append(diags...)
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	ref := state.ref()
	memory.Recover(keyOf(ref), apitypes.UID(state.UID.ValueString()), false)
	started, left, err := owned.Delete(ctx, r.data.Cluster, memory, keyOf(ref), ref)
	resp.Diagnostics.Append(left...)
	if started && err == nil {
		err = r.data.Cluster.WaitGone(ctx, ref, nil)
	}
	if err != nil {
		resp.Diagnostics.Append(owned.Failure(err))
	}
	resp.Diagnostics.Append(owned.Kept(r.data.Cluster, ref)...)
}

func (m *model) ref() kube.Ref {
	return kube.Ref{Kind: kind.ConfigMap(), Namespace: m.Namespace.ValueString(), Name: image.ConfigMapName(m.Name.ValueString())}
}

func keyOf(ref kube.Ref) string { return ref.Kind.Kind + "/" + ref.Namespace + "/" + ref.Name }

// writer applies one plan.
type writer struct {
	r       *imageResource
	plan    *model // becomes the new state
	prior   *model // empty when creating
	config  *model
	memory  owned.Memory
	state   *tfsdk.State
	private owned.PrivateWriter
	diags   *diag.Diagnostics

	creation *owned.Creation // nil if the ConfigMap is in state
}

// write applies the ConfigMap and stores it in state. It reports whether it succeeded.
func (w *writer) write(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	in, diags := loadInputs(ctx, w.config)
	w.diags.Append(diags...)
	if w.diags.HasError() {
		return false
	}
	pin, err := w.pin(ctx, in)
	if err != nil {
		w.diags.Append(pinFailure(err, ""))
		return false
	}
	w.resolveNamespace()
	rendered, diags := in.render(pin.Image)
	w.diags.Append(diags...)
	if w.diags.HasError() {
		return false
	}
	w.plan.setComputed(w.config, pin, rendered)
	obj, diags := w.plan.object(ctx, in, rendered, owned.PreserveCreator(w.r.data.Defaults, owned.Manifests(w.prior.Manifests)))
	w.diags.Append(diags...)
	if w.diags.HasError() || !w.asPlanned(obj) {
		return false
	}
	if !w.plan.Manifests.Equal(w.prior.Manifests) || w.prior.UID.IsNull() {
		if err := w.apply(ctx, obj); err != nil {
			w.diags.Append(owned.Failure(err))
			if !w.prior.UID.IsNull() || !kube.OutcomeUnknown(err) {
				return false
			}
			w.plan.UID = types.StringNull() // it may exist: with an entry in state, it can be deleted
		}
	}
	stored := privateState{}
	if in.spec.PinDigest {
		stored = privateState{Reference: in.reference, Pin: pin}
	}
	w.diags.Append(w.state.Set(ctx, w.plan)...)
	w.diags.Append(w.memory.Save(ctx, w.private)...)
	w.diags.Append(stored.save(ctx, w.private)...)
	if w.creation != nil {
		w.diags.Append(owned.Settle(ctx, w.r.data, w.creation, w.private)...)
		w.creation.Complete(w.r.data.Cluster)
	}
	return true
}

// pin returns the planned image. If the plan could not resolve it, the registry
// is requested again.
func (w *writer) pin(ctx context.Context, b inputs) (registry.Pin, error) {
	if pin, ok := b.withoutRegistry(); ok {
		return pin, nil
	}
	if !w.plan.Image.IsUnknown() {
		return registry.Pin{Image: w.plan.Image.ValueString(), Digest: w.plan.Digest.ValueString()}, nil
	}
	return w.r.registries().Resolve(ctx, b.reference)
}

func (w *writer) resolveNamespace() {
	if w.plan.Namespace.IsUnknown() {
		namespace, err := w.r.data.Cluster.Namespace()
		if err != nil {
			w.diags.Append(tf.Failure(err)) // the reason why it was unknown in the plan
			return
		}
		w.plan.Namespace = types.StringValue(namespace)
	}
	w.plan.ID = owned.Identity{Namespace: w.plan.Namespace, Name: w.plan.Name}.ID()
}

// asPlanned reports an error if the ConfigMap differs from the planned one.
func (w *writer) asPlanned(obj *unstructured.Unstructured) bool {
	key, summary, err := summarize(obj)
	if err != nil {
		w.diags.AddError("Cannot render the ConfigMap", err.Error())
		return false
	}
	now := manifests(key, summary)
	if !w.plan.Manifests.IsUnknown() && !w.plan.Manifests.Equal(now) {
		w.diags.AddAttributeError(path.Root("manifests"), "Image setup changed after the plan",
			"The content of a copied file differs from its content during the plan.\n\nNext step: Create a new plan and apply it.")
		return false
	}
	w.plan.Manifests = now
	return true
}

func (w *writer) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	live, diags, err := w.send(ctx, obj)
	w.diags.Append(diags...)
	if err != nil {
		return err
	}
	w.plan.UID = types.StringValue(string(live.GetUID()))
	// Later comparisons use summaries.
	_, err = w.memory.Remember(manifest.Key(obj), image.Summary(obj), image.Summary(live))
	return err
}

func (w *writer) send(
	ctx context.Context, obj *unstructured.Unstructured,
) (live *unstructured.Unstructured, diags diag.Diagnostics, err error) {
	cluster := w.r.data.Cluster
	if key, _ := w.prior.applied(); key == "" {
		w.creation = w.plan.creation()
		defer func() {
			if err != nil && !kube.OutcomeUnknown(err) {
				w.creation.End(cluster) // the object is not stored in state
			}
		}()
		if err := owned.MakeWay(ctx, cluster, w.creation, obj, nil); err != nil {
			return nil, nil, err
		}
		return owned.Create(ctx, cluster, w.memory, w.creation, obj)
	}
	if uid := w.prior.UID.ValueString(); uid != "" {
		// With the UID, the server does not recreate an object that was deleted in the meantime.
		obj = obj.DeepCopy()
		obj.SetUID(apitypes.UID(uid))
	}
	return owned.Apply(ctx, cluster, w.memory, obj)
}
