package volume

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// follow updates the typed attributes with the differences between two observations of the claim. An attribute whose
// field did not change keeps its notation. Immutable fields cannot differ.
func (m *model) follow(ctx context.Context, before, after claim.Claim) diag.Diagnostics {
	if before.Size.Cmp(after.Size) != 0 {
		m.Size = tf.QuantityOf(after.Size.String())
	}
	if before.MountPath != after.MountPath {
		m.MountPath = textOrNull(after.MountPath)
	}
	diags := followMap(ctx, &m.Labels, before.Labels, after.Labels)
	return append(diags, followMap(ctx, &m.Annotations, before.Annotations, after.Annotations)...)
}

// followMap updates the keys of the attribute, and adds new ones. A key from the defaults of the provider appears
// only in manifests.
func followMap(ctx context.Context, attribute *types.Map, before, after map[string]string) diag.Diagnostics {
	current := map[string]string{}
	diags := elements(ctx, *attribute, &current)
	was := maps.Clone(current)
	for key, value := range after {
		old, had := before[key]
		if _, mine := current[key]; !had || (mine && old != value) {
			current[key] = value
		}
	}
	maps.DeleteFunc(current, func(key, _ string) bool {
		_, had := before[key]
		_, still := after[key]
		return had && !still
	})
	if maps.Equal(was, current) {
		return diags
	}
	*attribute = types.MapNull(types.StringType)
	if len(current) > 0 {
		value, more := types.MapValueFrom(ctx, types.StringType, current)
		diags.Append(more...)
		*attribute = value
	}
	return diags
}

// observe sets the attributes that any claim has, regardless of its owner.
func (m *model) observe(live *unstructured.Unstructured) {
	seen := claim.Observe(live)
	m.Size = tf.QuantityOf(seen.Size.String())
	m.AccessMode = textOrNull(seen.AccessMode)
	m.StorageClass = types.StringPointerValue(seen.StorageClass)
	m.MountPath = textOrNull(seen.MountPath)
	m.VolumeName = types.StringNull()
	if _, found := live.GetAnnotations()["pv.kubernetes.io/bound-by-controller"]; !found {
		m.VolumeName = textOrNull(seen.VolumeName) // selected by the creator of the claim rather than by Kubernetes
	}
	m.status(live)
}

// less reports whether a quantity is known to be less than another.
func less(a, b tf.Quantity) bool {
	qa, errA := manifest.ParseQuantity(a.ValueString())
	qb, errB := manifest.ParseQuantity(b.ValueString())
	return errA == nil && errB == nil && qa.Cmp(qb) < 0
}
