package image

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Read updates the state from the cluster, and requests the current digest of a
// pinned tag from the registry.
func (r *imageResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if resp.Diagnostics.HasError() || !r.configured() {
		return // the cluster is created in this run: keep the state
	}
	home, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_image", state.ID)
	resp.Diagnostics.Append(diags...)
	if diags.HasError() {
		return
	}
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	loaded, diags := loadPrivateState(ctx, req.Private)
	resp.Diagnostics.Append(diags...)

	rd := reader{r: r, state: &state, memory: memory, stored: loaded}
	var err error
	if state.Manifests.IsNull() {
		err = rd.imported(ctx)
	} else {
		err = rd.refresh(ctx)
	}
	if err == nil {
		rd.registry(ctx)
	}
	if rd.learned {
		resp.Diagnostics.Append(rd.memory.Save(ctx, resp.Private)...)
	}
	if rd.stored != loaded {
		resp.Diagnostics.Append(rd.stored.save(ctx, resp.Private)...)
	}
	resp.Diagnostics.Append(rd.diags...)
	switch {
	case errors.Is(err, owned.ErrGone):
		resp.State.RemoveResource(ctx)
	case kube.ClassOf(err) == kube.Denied:
		resp.Diagnostics.Append(tf.Caution(err, "The state remains unchanged."))
	case err != nil:
		resp.Diagnostics.Append(tf.Failure(err))
	default:
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
		resp.Diagnostics.Append(home.Learn(ctx, resp.Private)...)
	}
}

// reader updates one state.
type reader struct {
	r      *imageResource
	state  *model
	memory owned.Memory
	stored privateState
	diags  diag.Diagnostics

	learned bool // memory has changed
}

// refresh compares the ConfigMap with the applied one.
func (l *reader) refresh(ctx context.Context) error {
	key, summary := l.state.applied()
	sent := &unstructured.Unstructured{}
	if err := sent.UnmarshalJSON([]byte(summary)); err != nil {
		return fmt.Errorf("manifests[%q]: %w", key, err)
	}
	ref := l.state.ref()
	l.memory.Recover(key, apitypes.UID(l.state.UID.ValueString()), false)
	found, diags, err := owned.Find(ctx, l.r.data.Cluster, l.memory, key, ref, "kt_image "+l.state.ID.ValueString())
	l.diags.Append(diags...)
	l.learned = found.Learned
	if err != nil {
		return err
	}
	l.state.UID = types.StringValue(string(found.Live.GetUID()))
	if l.stored.Ending = found.Live.GetDeletionTimestamp() != nil; l.stored.Ending {
		l.diags.Append(owned.TerminatingWarning(ref, found.Live))
	}
	fresh, err := l.memory.Refresh(key, sent, image.Summary(found.Live))
	if err != nil {
		return err
	}
	l.learned = l.learned || fresh.Learned
	l.diags.Append(owned.DriftWarning(ref, fresh.Changes)...)
	if !fresh.Moved {
		return nil
	}
	observed := fresh.Object
	now, err := manifest.JSON(observed)
	if err != nil {
		return err
	}
	l.state.Manifests = manifests(key, now)
	l.state.Labels = follow(l.state.Labels, observed.GetLabels())
	l.state.Annotations = follow(l.state.Annotations, observed.GetAnnotations())
	return nil
}

// follow updates the entries of an attribute to their current values.
func follow(given types.Map, now map[string]string) types.Map {
	elements := map[string]attr.Value{}
	for key := range given.Elements() {
		if value, ok := now[key]; ok {
			elements[key] = types.StringValue(value)
		}
	}
	if given.IsNull() {
		return given
	}
	return types.MapValueMust(types.StringType, elements)
}

// registry requests the current digest of a pinned image, for the plan.
func (l *reader) registry(ctx context.Context) {
	if !l.state.PinDigest.ValueBool() || l.stored.Reference == "" {
		return
	}
	pin, err := l.r.registries().Resolve(ctx, l.stored.Reference)
	if err != nil {
		l.diags.Append(pinFailure(err, fmt.Sprintf("The last known digest remains in use: %s.", l.stored.Pin.Digest)))
		return
	}
	l.stored.Pin = pin
	if was := l.state.Digest.ValueString(); was != "" && was != pin.Digest {
		l.diags.AddAttributeWarning(path.Root("digest"), "Image tag moved",
			fmt.Sprintf("The digest of %s was %s, and is now %s. The next apply uses the new image. To keep the previous image, set it by its digest.",
				l.stored.Reference, was, pin.Digest))
	}
}
