package volume

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// reader updates one state.
type reader struct{ *reading }

// Refresh updates the state to the claim as the shared collection has it.
func (hooks) Refresh(ctx context.Context, r *reading) error { return reader{r}.refresh(ctx) }

// Import reads a claim into a new state.
func (hooks) Import(ctx context.Context, r *reading) error { return reader{r}.imported(ctx) }

// refresh looks at the claim that was applied.
func (l reader) refresh(ctx context.Context) error {
	sent, err := l.State.object()
	if err != nil {
		return err
	}
	ref, key := l.State.claimRef(), l.State.key()
	l.Memory.Recover(key, apitypes.UID(l.State.UID.ValueString()), false)
	found, diags, err := owned.Find(ctx, l.Data.Cluster, l.Memory, key, ref, "kt_volume "+l.State.ID.ValueString())
	l.Diags.Append(diags...)
	l.MemoryChanged = found.MemoryChanged
	if err != nil {
		return err
	}
	fresh, err := l.Memory.Refresh(key, sent, found.Live)
	if err != nil {
		return err
	}
	l.MemoryChanged = l.MemoryChanged || fresh.MemoryChanged
	l.Diags.Append(owned.DriftWarning(ref, fresh.Changes)...)
	if fresh.Differs {
		if l.State.Manifests, err = manifestsOf(fresh.Object); err != nil {
			return err
		}
		l.Diags.Append(l.State.follow(ctx, claim.Observe(sent), claim.Observe(fresh.Object))...)
	}
	l.condition(ref, found.Live)
	return nil
}

// condition takes over how the claim is, and warns of one whose data is in danger.
func (l reader) condition(ref kube.Ref, live *unstructured.Unstructured) {
	l.State.status(live)
	l.State.Ref = l.State.ref()
	bound := l.State.Phase.ValueString() == string(corev1.ClaimBound)
	l.PrivateState.Waiting = l.PrivateState.Waiting && (!bound || l.State.smaller())
	volume := l.State.BoundVolumeName.ValueString()
	if l.State.Phase.ValueString() == string(corev1.ClaimLost) {
		l.Diags.AddWarning(ref.String()+" has lost its volume", fmt.Sprintf("PersistentVolume %q is gone, and pods that use the claim do not start. "+
			"The state is kept.\n\nNext step: Restore the PersistentVolume under its name, or give the claim up: remove it from the configuration and apply, then add it again.\nInvestigate with:\n  kubectl -n %s describe persistentvolumeclaim %s",
			volume, ref.Namespace, ref.Name))
	}
	if gone := live.GetDeletionTimestamp(); gone != nil {
		rescue := ""
		if volume != "" {
			rescue = fmt.Sprintf(" To keep its data, have the PersistentVolume outlive it now:\n  kubectl patch persistentvolume %s -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'", volume)
		}
		l.Diags.AddWarning(ref.String()+" is being deleted", fmt.Sprintf("Its deletion began at %s and cannot be taken back: it goes once no pod uses it. An apply after that makes a new, empty one.%s",
			gone.UTC().Format(time.RFC3339), rescue))
	}
}

// status takes over what Kubernetes says of a claim.
func (m *model) status(live *unstructured.Unstructured) {
	text := func(path ...string) types.String {
		value, _, _ := unstructured.NestedString(live.Object, path...)
		return textOrNull(value)
	}
	m.UID = types.StringValue(string(live.GetUID()))
	m.Phase = text("status", "phase")
	m.Capacity = text("status", "capacity", "storage")
	m.BoundVolumeName = types.StringNull()
	if claim.Bound(live) {
		m.BoundVolumeName = text("spec", "volumeName")
	}
	if class := claim.Observe(live).StorageClass; m.StorageClass.IsNull() && class != nil {
		m.StorageClass = types.StringValue(*class) // the default class, which Kubernetes has filled in
	}
}

// smaller says whether the volume holds less than is asked for.
func (m *model) smaller() bool {
	capacity, size := tf.QuantityOf(m.Capacity.ValueString()), m.Size
	return less(capacity, size)
}
