package image

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Refresh compares the ConfigMap with the applied one, and requests the current
// digest of a pinned tag from the registry.
func (h hooks) Refresh(ctx context.Context, r *reading) error {
	l := reader{reading: r, run: h.run}
	if err := l.refresh(ctx); err != nil {
		return err
	}
	l.registry(ctx)
	return nil
}

// Import completes the state from the live ConfigMap.
func (h hooks) Import(ctx context.Context, r *reading) error {
	l := reader{reading: r, run: h.run}
	if err := l.imported(ctx); err != nil {
		return err
	}
	l.registry(ctx)
	return nil
}

// reader updates one state.
type reader struct {
	*reading
	run *run
}

// refresh compares the ConfigMap with the applied one.
func (l reader) refresh(ctx context.Context) error {
	key, summary := l.State.applied()
	sent := &unstructured.Unstructured{}
	if err := sent.UnmarshalJSON([]byte(summary)); err != nil {
		return fmt.Errorf("manifests[%q]: %w", key, err)
	}
	ref := l.State.ref()
	l.Memory.Recover(key, apitypes.UID(l.State.UID.ValueString()), false)
	found, diags, err := owned.Find(ctx, l.Data.Cluster, l.Memory, key, ref, "kt_image "+l.State.ID.ValueString())
	l.Diags.Append(diags...)
	l.MemoryChanged = found.MemoryChanged
	if err != nil {
		return err
	}
	l.State.UID = types.StringValue(string(found.Live.GetUID()))
	if l.PrivateState.Ending = found.Live.GetDeletionTimestamp() != nil; l.PrivateState.Ending {
		l.Diags.Append(owned.TerminatingWarning(ref, found.Live))
	}
	fresh, err := l.Memory.Refresh(key, sent, image.Summary(found.Live))
	if err != nil {
		return err
	}
	l.MemoryChanged = l.MemoryChanged || fresh.MemoryChanged
	l.Diags.Append(owned.DriftWarning(ref, fresh.Changes)...)
	if !fresh.Differs {
		return nil
	}
	observed := fresh.Object
	now, err := manifest.JSON(observed)
	if err != nil {
		return err
	}
	l.State.Manifests = manifests(key, now)
	l.State.Labels = follow(l.State.Labels, observed.GetLabels())
	l.State.Annotations = follow(l.State.Annotations, observed.GetAnnotations())
	return nil
}

// follow updates the entries of an attribute to their current values.
func follow(given types.Map, now map[string]string) types.Map {
	if given.IsNull() {
		return given
	}
	current := map[string]string{}
	for key := range given.Elements() {
		if value, ok := now[key]; ok {
			current[key] = value
		}
	}
	return tf.TextMap(current)
}

// registry requests the current digest of a pinned image, for the plan.
func (l reader) registry(ctx context.Context) {
	if !l.State.PinDigest.ValueBool() || l.PrivateState.Reference == "" {
		return
	}
	pin, err := l.run.resolver(l.Data).Resolve(ctx, l.PrivateState.Reference)
	if err != nil {
		l.Diags.Append(pinFailure(err, fmt.Sprintf("The last known digest remains in use: %s.",
			l.PrivateState.Pin.Digest)))
		return
	}
	l.PrivateState.Pin = pin
	if was := l.State.Digest.ValueString(); was != "" && was != pin.Digest {
		l.Diags.AddAttributeWarning(path.Root("digest"), "Image tag moved",
			fmt.Sprintf("The digest of %s was %s, and is now %s. The next apply uses the new image. "+
				"To keep the previous image, set it by its digest.", l.PrivateState.Reference, was, pin.Digest))
	}
}
