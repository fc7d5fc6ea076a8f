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

// Refresh updates the state from the shared cache.
func (hooks) Refresh(ctx context.Context, r *reading) error { return reader{r}.refresh(ctx) }

// Import reads a claim into a new state.
func (hooks) Import(ctx context.Context, r *reading) error { return reader{r}.imported(ctx) }

// refresh compares the claim with the applied one.
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
		l.State.follow(claim.Observe(sent), claim.Observe(fresh.Object))
	}
	l.updateStatus(ref, found.Live)
	return nil
}

// updateStatus updates the status of the claim, and warns if its data is in danger.
func (l reader) updateStatus(ref kube.Ref, live *unstructured.Unstructured) {
	l.State.status(live)
	l.State.Ref = l.State.ref()
	bound := l.State.Phase.ValueString() == string(corev1.ClaimBound)
	l.PrivateState.Waiting = l.PrivateState.Waiting && (!bound || l.State.isSmaller())
	volume := l.State.BoundVolumeName.ValueString()
	if l.State.Phase.ValueString() == string(corev1.ClaimLost) {
		l.Diags.AddWarning(ref.String()+" has lost its volume",
			fmt.Sprintf("PersistentVolume %q no longer exists, and pods that use the claim do not start. The state "+
				"is kept.\n\n"+
				"Next step: Restore the PersistentVolume with its name. To create an empty claim instead, remove the "+
				"volume from the configuration and apply, then add it again.\n"+
				"Investigate with:\n  kubectl -n %s describe persistentvolumeclaim %s", volume, ref.Namespace,
				ref.Name))
	}
	if deletedAt := live.GetDeletionTimestamp(); deletedAt != nil {
		rescue := ""
		if volume != "" {
			rescue = fmt.Sprintf("\n\nNext step: To keep its data, retain the PersistentVolume now:\n"+
				"  kubectl patch persistentvolume %s -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'",
				volume)
		}
		l.Diags.AddWarning(ref.String()+" is being deleted",
			fmt.Sprintf("Its deletion began at %s and cannot be undone. It is deleted "+
				"when no pod uses it. An apply after that creates a new, empty claim.%s",
				deletedAt.UTC().Format(time.RFC3339), rescue))
	}
}

// status copies the status that Kubernetes reports.
func (m *model) status(live *unstructured.Unstructured) {
	text := func(path ...string) types.String {
		value, _, _ := unstructured.NestedString(live.Object, path...)
		return tf.TextOrNull(value)
	}
	m.UID = types.StringValue(string(live.GetUID()))
	m.Phase = text("status", "phase")
	m.Capacity = text("status", "capacity", "storage")
	m.BoundVolumeName = types.StringNull()
	if claim.Bound(live) {
		m.BoundVolumeName = text("spec", "volumeName")
	}
	if class := claim.Observe(live).StorageClass; m.StorageClass.IsNull() && class != nil {
		m.StorageClass = types.StringValue(*class) // the default class, set by Kubernetes
	}
}

// isSmaller reports whether the volume is smaller than requested.
func (m *model) isSmaller() bool {
	capacity, size := tf.QuantityOf(m.Capacity.ValueString()), m.Size
	return less(capacity, size)
}
