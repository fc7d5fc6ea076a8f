package secret

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// importSecret completes a state that contains only the name. A Secret does not record its source, but the digests show
// whether a source has the same values. If another client created the Secret, the next apply takes over its fields,
// which the plan shows.
func (r reader) importSecret(ctx context.Context, live *unstructured.Unstructured) error {
	r.PrivateState.open(r.Data)
	masked := r.PrivateState.Digests.Mask(live, kube.SecretData(live))
	doc, ours, err := r.Memory.Import(masked)
	if err != nil {
		return err
	}
	applied, keys := kube.SecretData(doc), map[string]string{}
	for key, value := range kube.SecretData(live) {
		entry := r.PrivateState.Digests.Next(key, value, false)
		switch _, isApplied := applied[key]; {
		case !ours:
			keys[key] = imported
		case !isApplied:
			keys[key] = addedInCluster
			continue
		default:
			keys[key] = entry.Text
		}
		r.PrivateState.Digests.Values[key] = entry
	}
	if r.State.Manifests, err = owned.ManifestsOf(spec.WithoutData(doc)); err != nil {
		return err
	}
	r.SetLive(r.ref, live)
	r.State.Keys = tf.TextMap(keys)
	defaults := r.Data.Defaults
	r.State.Labels = tf.Configurable(doc.GetLabels(), defaults.Labels, spec.IsReservedLabel)
	r.State.Annotations = tf.Configurable(doc.GetAnnotations(), defaults.Annotations, spec.IsReservedAnnotation)
	r.State.AdoptExisting = types.BoolValue(doc.GetAnnotations()[spec.OverrideAnnotation] == "true")
	r.State.DeletionProtection = types.BoolValue(false)
	mount := ""
	if doc.GetLabels()[spec.MountTypeLabel] == spec.VolumeMount {
		mount = spec.MountPath(doc.GetAnnotations()[spec.PathAnnotation])
	}
	mode := doc.GetAnnotations()[spec.DefaultModeAnnotation]
	if mode != providerMode(doc.GetLabels()[spec.ProviderLabel]) {
		r.State.DefaultMode = tf.TextOrNull(mode)
	}
	r.State.Ref = reference(ctx, r.State.Name.ValueString(), mount, mode, content{data: kube.SecretData(masked)}.keys())
	return nil
}
