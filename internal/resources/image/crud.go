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

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// timeLimit is what an operation may take; a ConfigMap is a few requests.
const timeLimit = 5 * time.Minute

// Create applies what was planned.
func (r *imageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	w := writer{r: r, plan: &plan, config: &config, prior: &model{}, memory: owned.Memory{}, state: &resp.State, private: resp.Private, diags: &resp.Diagnostics}
	if w.write(ctx) {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity())...)
	}
}

// Update applies what was planned, where anything changes in the ConfigMap.
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

// Delete removes the ConfigMap and waits until it is gone.
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
	started, err := owned.Delete(ctx, r.data.Cluster, ref, memory[keyOf(ref)].UID)
	if started && err == nil {
		err = r.data.Cluster.WaitGone(ctx, ref, nil)
	}
	if err != nil {
		resp.Diagnostics.Append(tf.Failure(err))
	}
	resp.Diagnostics.Append(owned.Kept(r.data.Cluster, ref)...)
}

func (m *model) ref() kube.Ref {
	return kube.Ref{Kind: kube.ConfigMap(), Namespace: m.Namespace.ValueString(), Name: image.ConfigMapName(m.Name.ValueString())}
}

func keyOf(ref kube.Ref) string { return ref.Kind.Kind + "/" + ref.Namespace + "/" + ref.Name }

// writer carries out one plan.
type writer struct {
	r       *imageResource
	plan    *model // becoming the new state
	prior   *model // empty when creating
	config  *model
	memory  owned.Memory
	state   *tfsdk.State
	private owned.PrivateWriter
	diags   *diag.Diagnostics

	creation *owned.Creation // nil where the ConfigMap is in state
}

// write applies the ConfigMap and puts it into state; false where it could not.
func (w *writer) write(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	drawn, diags := draw(ctx, w.config)
	w.diags.Append(diags...)
	if w.diags.HasError() {
		return false
	}
	pin, err := w.pin(ctx, drawn)
	if err != nil {
		w.diags.Append(pinFailure(err, ""))
		return false
	}
	w.place()
	rendered, diags := drawn.render(pin.Image)
	w.diags.Append(diags...)
	if w.diags.HasError() {
		return false
	}
	w.plan.show(w.config, pin, rendered)
	obj, diags := w.plan.object(ctx, drawn, rendered, w.prior.keepCreator(w.r.data.Defaults))
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
			w.plan.UID = types.StringNull() // it may exist: who has it in state can delete it
		}
	}
	noted := notes{}
	if drawn.spec.PinDigest {
		noted = notes{Reference: drawn.reference, Pin: pin}
	}
	w.diags.Append(w.state.Set(ctx, w.plan)...)
	w.diags.Append(w.memory.Save(ctx, w.private)...)
	w.diags.Append(noted.save(ctx, w.private)...)
	if w.creation != nil {
		w.diags.Append(owned.Settle(ctx, w.r.data, w.private)...)
		w.creation.Complete(w.r.data.Cluster)
	}
	return true
}

// pin is the image that the plan shows, or where it could not be known there,
// what the registry says now.
func (w *writer) pin(ctx context.Context, b blueprint) (registry.Pin, error) {
	if pin, given := b.given(); given {
		return pin, nil
	}
	if !w.plan.Image.IsUnknown() {
		return registry.Pin{Image: w.plan.Image.ValueString(), Digest: w.plan.Digest.ValueString()}, nil
	}
	return w.r.registries().Resolve(ctx, b.reference)
}

func (w *writer) place() {
	if w.plan.Namespace.IsUnknown() {
		namespace, err := w.r.data.Cluster.Namespace()
		if err != nil {
			w.diags.Append(tf.Failure(err)) // what left it unknown in the plan
			return
		}
		w.plan.Namespace = types.StringValue(namespace)
	}
	w.plan.ID = owned.Identity{Namespace: w.plan.Namespace, Name: w.plan.Name}.ID()
}

// asPlanned sees to it that nothing else is applied than what the plan shows.
func (w *writer) asPlanned(obj *unstructured.Unstructured) bool {
	key, summary, err := summarize(obj)
	if err != nil {
		w.diags.AddError("The ConfigMap cannot be written", err.Error())
		return false
	}
	now := manifests(key, summary)
	if !w.plan.Manifests.IsUnknown() && !w.plan.Manifests.Equal(now) {
		w.diags.AddAttributeError(path.Root("manifests"), "The set-up has changed since the plan",
			"A file that is copied holds something else than when it was planned. Plan again.")
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
	// What is compared from now on are summaries.
	_, err = w.memory.Remember(manifest.Key(obj), image.Summary(obj), image.Summary(live))
	return err
}

func (w *writer) send(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, diag.Diagnostics, error) {
	cluster := w.r.data.Cluster
	if key, _ := w.prior.applied(); key == "" {
		w.creation = w.plan.creation()
		if err := owned.MakeWay(ctx, cluster, w.creation, obj, nil); err != nil {
			return nil, nil, err
		}
		return owned.Create(ctx, cluster, w.memory, w.creation, obj)
	}
	if uid := w.prior.UID.ValueString(); uid != "" {
		// The server then refuses to make another one if it has gone since.
		obj = obj.DeepCopy()
		obj.SetUID(apitypes.UID(uid))
	}
	return owned.Apply(ctx, cluster, w.memory, obj)
}
