package volume

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// follow updates the typed attributes with the differences between two observations of the claim. An attribute whose
// field did not change keeps its notation. Immutable fields cannot differ.
func (m *model) follow(before, after claim.Claim) {
	if before.Size.Cmp(after.Size) != 0 {
		m.Size = tf.QuantityOf(after.Size.String())
	}
	if before.MountPath != after.MountPath {
		m.MountPath = tf.TextOrNull(after.MountPath)
	}
	followMap(&m.Labels, before.Labels, after.Labels)
	followMap(&m.Annotations, before.Annotations, after.Annotations)
}

// followMap updates the keys of the attribute, and adds new ones. A key from the defaults of the provider appears
// only in manifests.
func followMap(attribute *types.Map, before, after map[string]string) {
	current := tf.Texts(*attribute)
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
	if !maps.Equal(was, current) {
		*attribute = tf.TextMapOrNull(current)
	}
}

// observe sets the attributes that any claim has, regardless of its owner.
func (m *model) observe(live *unstructured.Unstructured) {
	seen := claim.Observe(live)
	m.Size = tf.QuantityOf(seen.Size.String())
	m.AccessMode = tf.TextOrNull(seen.AccessMode)
	m.StorageClass = types.StringPointerValue(seen.StorageClass)
	m.MountPath = tf.TextOrNull(seen.MountPath)
	m.VolumeName = types.StringNull()
	if _, found := live.GetAnnotations()["pv.kubernetes.io/bound-by-controller"]; !found {
		m.VolumeName = tf.TextOrNull(seen.VolumeName) // selected by the creator of the claim rather than by Kubernetes
	}
	m.status(live)
}

// less reports whether a quantity is known to be less than another.
func less(a, b tf.Quantity) bool {
	qa, errA := manifest.ParseQuantity(a.ValueString())
	qb, errB := manifest.ParseQuantity(b.ValueString())
	return errA == nil && errB == nil && qa.Cmp(qb) < 0
}
