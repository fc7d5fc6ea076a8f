package volume

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// reader refreshes or imports one state.
type reader struct{ *reading }

// Refresh updates the state from the shared cache.
func (hooks) Refresh(ctx context.Context, r *reading) error { return reader{r}.refresh(ctx) }

// Import reads a claim into a new state.
func (hooks) Import(ctx context.Context, r *reading) error { return reader{r}.importClaim(ctx) }

// refresh compares the claim with the applied one.
func (r reader) refresh(ctx context.Context) error {
	sent, err := owned.ObjectIn(r.State.Manifests)
	if err != nil {
		return err
	}
	ref, live, err := r.FindObject(ctx, sent)
	if err != nil {
		return err
	}
	fresh, err := r.Memory.Refresh(r.State.key(), sent, live)
	if err != nil {
		return err
	}
	r.Diags.Append(owned.DriftWarning(ref, fresh)...)
	r.PrivateState.Waiting = r.PrivateState.Waiting || fresh.Unrecorded // the run ended before or during its wait
	if fresh.Differs {
		if r.State.Manifests, err = owned.ManifestsOf(fresh.Object); err != nil {
			return err
		}
		r.State.setChanged(ctx, claim.Observe(sent), claim.Observe(fresh.Object))
	}
	r.updateStatus(ref, live)
	return nil
}

// updateStatus updates the status of the claim, and warns if its data is lost or will be deleted.
func (r reader) updateStatus(ref kube.Ref, live *unstructured.Unstructured) {
	r.State.setStatus(live)
	r.State.Ref = r.State.ref()
	bound := r.State.Phase.ValueString() == string(corev1.ClaimBound)
	r.PrivateState.Waiting = r.PrivateState.Waiting && (!bound || r.State.isSmaller())
	volume := r.State.BoundVolumeName.ValueString()
	if r.State.Phase.ValueString() == string(corev1.ClaimLost) {
		r.Diags.AddWarning(ref.String()+" has lost its volume",
			fmt.Sprintf("PersistentVolume %q no longer exists, and pods that use the claim do not start. The state "+
				"is kept.\n\n"+
				"Next step: Restore the PersistentVolume with its name. To create an empty claim instead, remove the "+
				"volume from the configuration and apply, then add it again.\n"+
				"Investigate with:\n  kubectl -n %s describe persistentvolumeclaim %s", volume, ref.Namespace,
				ref.Name))
	}
	r.Diags.Append(deletedWarning(ref, live)...)
}

// deletedWarning warns of a claim that is being deleted, and with it its data.
func deletedWarning(ref kube.Ref, live *unstructured.Unstructured) diag.Diagnostics {
	deletedAt, nextStep := live.GetDeletionTimestamp(), ""
	if deletedAt == nil {
		return nil
	}
	if claim.Bound(live) {
		nextStep = "\n\nNext step: To keep its data, retain the PersistentVolume now:\n  " + ready.Kubectl("", "patch",
			"persistentvolume", kind.TextAt(live.Object, "spec", "volumeName"), "-p",
			`{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`)
	}
	return diag.Diagnostics{diag.NewWarningDiagnostic(ref.String()+" is being deleted",
		fmt.Sprintf("Its deletion began at %s and cannot be undone. It is deleted when no pod uses it. An apply after "+
			"that creates a new, empty claim.%s", deletedAt.UTC().Format(time.RFC3339), nextStep))}
}

// setStatus sets the UID, the status that Kubernetes reports, and the storage class that it has selected.
func (m *model) setStatus(live *unstructured.Unstructured) {
	text := func(path ...string) types.String { return tf.TextOrNull(kind.TextAt(live.Object, path...)) }
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

// setChanged updates the typed attributes with the differences between two observations of the claim. An attribute
// whose field did not change keeps its notation. Immutable fields cannot differ.
func (m *model) setChanged(ctx context.Context, before, after claim.Claim) {
	tf.NewConverter(ctx).FollowModel(m, &before, &after, "Size", "MountPath", "Labels", "Annotations")
}

// observe sets the attributes that every claim has, whoever created it.
func (m *model) observe(live *unstructured.Unstructured) {
	observed := claim.Observe(live)
	m.Size = tf.QuantityOf(observed.Size.String())
	m.AccessMode = tf.TextOrNull(observed.AccessMode)
	m.StorageClass = types.StringPointerValue(observed.StorageClass)
	m.MountPath = tf.TextOrNull(observed.MountPath)
	m.VolumeName = types.StringNull()
	// Kubernetes sets this annotation if it has selected the volume itself.
	if _, selected := live.GetAnnotations()["pv.kubernetes.io/bound-by-controller"]; !selected {
		m.VolumeName = tf.TextOrNull(observed.VolumeName)
	}
	m.setStatus(live)
}

// isSmaller reports whether the volume is known to be smaller than requested.
func (m *model) isSmaller() bool {
	capacity, capacityErr := manifest.ParseQuantity(m.Capacity.ValueString())
	size, sizeErr := manifest.ParseQuantity(m.Size.ValueString())
	return capacityErr == nil && sizeErr == nil && capacity.Cmp(size) < 0
}
