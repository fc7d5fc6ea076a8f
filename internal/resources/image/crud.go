package image

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Delete deletes the ConfigMap and waits until it no longer exists.
func (hooks) Delete(ctx context.Context, d *deleting) {
	d.DeleteObjects(ctx, owned.Manifests(d.State.Manifests), nil)
}

func (m *model) ref() kube.Ref {
	name := image.ConfigMapName(m.Name.ValueString())
	return kube.Ref{Kind: kind.ConfigMap(), Namespace: m.Namespace.ValueString(), Name: name}
}

// writer applies one plan.
type writer struct{ *writing }

// Apply applies the planned ConfigMap if it changes, and stores it in state.
func (hooks) Apply(ctx context.Context, writing *writing) {
	w := writer{writing}
	in, diags := loadInputs(ctx, w.Config)
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return
	}
	pin, err := w.pin(ctx, in)
	if err != nil {
		w.Diags.Append(pinFailure(err, ""))
		return
	}
	rendered, diags := in.render(pin.Image)
	w.Diags.Append(diags...)
	if w.Diags.HasError() {
		return
	}
	planned := setupDigest(w.Plan.Ref)
	w.Plan.setComputed(w.Config, pin, rendered)
	obj, manifests, diags := w.Plan.object(in, rendered, w.Data.Defaults, w.Prior.Manifests)
	w.Diags.Append(diags...)
	if w.Diags.HasError() || !w.matchesPlan(planned, manifests) {
		return
	}
	if !w.Plan.Manifests.Equal(w.Prior.Manifests) || w.Prior.UID.IsNull() {
		if err := w.apply(ctx, obj); err != nil {
			w.Diags.Append(owned.Failure(err))
			if !w.Prior.UID.IsNull() || !kube.OutcomeUnknown(err) {
				return
			}
			w.Plan.UID = types.StringNull() // it may exist, and can be deleted if it is in state
		}
	}
	w.PrivateState = privateState{}
	if in.spec.PinDigest {
		w.PrivateState = privateState{Reference: in.reference, Pin: pin}
	}
	w.Save(ctx)
}

// pin returns the planned image. If the plan could not resolve it, the registry
// is requested again.
func (w writer) pin(ctx context.Context, in inputs) (registry.Pin, error) {
	if pin, ok := in.withoutRegistry(); ok {
		return pin, nil
	}
	if !w.Plan.Image.IsUnknown() {
		return registry.Pin{Image: w.Plan.Image.ValueString(), Digest: w.Plan.Digest.ValueString()}, nil
	}
	return w.Data.Images.Resolve(ctx, in.reference)
}

// matchesPlan sets manifests, and reports an error if the ConfigMap differs from the planned one. setup is the planned
// digest of the setup: with compact_plans or pin_digest, only that is known of a new ConfigMap.
func (w writer) matchesPlan(setup types.String, rendered types.Map) bool {
	otherFiles := !setup.IsNull() && !setup.IsUnknown() && !setup.Equal(setupDigest(w.Plan.Ref))
	if otherFiles || !w.Plan.Manifests.IsUnknown() && !w.Plan.Manifests.Equal(rendered) {
		w.Diags.AddAttributeError(path.Root("manifests"), "Image setup changed after the plan",
			"The content of a copied file differs from its content during the plan.\n\n"+
				"Next step: Create a new plan and apply it.")
		return false
	}
	w.Plan.Manifests = rendered
	return true
}

func (w writer) apply(ctx context.Context, obj *unstructured.Unstructured) error {
	if w.Creating {
		if err := owned.PrepareCreate(ctx, w.Data.Run, w.Creation, obj, nil); err != nil {
			return err
		}
	}
	live, diags, err := w.Send(ctx, obj, !w.Creating)
	w.Diags.Append(diags...)
	if err != nil {
		return err
	}
	w.Plan.UID = types.StringValue(string(live.GetUID()))
	// The memory contains digests instead of contents, like the attribute manifests.
	_, err = w.Memory.Remember(manifest.Key(obj), image.Summary(obj), image.Summary(live))
	return err
}
