package volume

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

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
