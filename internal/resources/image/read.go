package image

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Refresh compares the ConfigMap with the applied one, and requests the current
// digest of a pinned tag from the registry.
func (hooks) Refresh(ctx context.Context, reading *reading) error {
	r := reader{reading: reading}
	if err := r.refresh(ctx); err != nil {
		return err
	}
	r.refreshPin(ctx)
	return nil
}

// Import completes the state from the live ConfigMap.
func (hooks) Import(ctx context.Context, reading *reading) error {
	r := reader{reading: reading}
	if err := r.importConfigMap(ctx); err != nil {
		return err
	}
	r.refreshPin(ctx)
	return nil
}

// reader refreshes or imports one state.
type reader struct{ *reading }

// refresh compares the ConfigMap with the applied one.
func (r reader) refresh(ctx context.Context) error {
	sent, err := owned.ObjectIn(r.State.Manifests)
	if err != nil {
		return err
	}
	ref, live, err := r.FindObject(ctx, sent)
	if err != nil {
		return err
	}
	r.SetLive(ref, live)
	fresh, err := r.Memory.Refresh(manifest.Key(sent), sent, image.Summary(live))
	if err != nil {
		return err
	}
	r.Diags.Append(owned.DriftWarning(ref, fresh)...)
	if !fresh.Differs {
		return nil
	}
	observed := fresh.Object
	if r.State.Manifests, err = owned.ManifestsOf(observed); err != nil {
		return err
	}
	r.State.Labels = tf.CurrentEntries(r.State.Labels, sent.GetLabels(), observed.GetLabels())
	r.State.Annotations = tf.CurrentEntries(r.State.Annotations, sent.GetAnnotations(), observed.GetAnnotations())
	return nil
}

// refreshPin requests the current digest of a pinned image, for the plan.
func (r reader) refreshPin(ctx context.Context) {
	if !r.State.PinDigest.ValueBool() || r.PrivateState.Reference == "" {
		return
	}
	pin, err := r.Data.Images.Resolve(ctx, r.PrivateState.Reference)
	if err != nil {
		r.Diags.Append(pinFailure(err, fmt.Sprintf("The last known digest remains in use: %s.",
			r.PrivateState.Pin.Digest)))
		return
	}
	r.PrivateState.Pin = pin
	if previous := r.State.Digest.ValueString(); previous != "" && previous != pin.Digest {
		r.Diags.AddAttributeWarning(path.Root("digest"), "Image tag moved",
			fmt.Sprintf("The digest of %s was %s, and is now %s. The next apply uses the new image. "+
				"To keep the previous image, set it by its digest.", r.PrivateState.Reference, previous, pin.Digest))
	}
}
