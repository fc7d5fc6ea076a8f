package secret

import (
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// importSecret completes a state that contains only the name. A Secret does not record its source, but the digests show
// whether a source has the same values. If another client created the Secret, the next apply takes over its fields,
// which the plan shows.
func (r reader) importSecret(live *unstructured.Unstructured) error {
	r.PrivateState.open(r.Data)
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return err
	}
	if !ours {
		set = fieldpath.NewSet() // only its name is known
	}
	keys := map[string]string{}
	for key, value := range kube.SecretData(live) {
		entry := r.PrivateState.Digests.First(key, value)
		switch {
		case !ours:
			keys[key] = imported
		case !set.Has(dataPath(key)):
			keys[key] = addedInCluster
			continue
		default:
			keys[key] = entry.Text
		}
		r.PrivateState.Digests.Values[key] = entry
	}
	masked := r.PrivateState.Digests.Mask(live, kube.SecretData(live))
	doc := &unstructured.Unstructured{Object: fields.Project(masked.Object, set)}
	r.Memory.RememberSet(manifest.Key(doc), doc, masked, set)
	text, err := manifest.JSON(spec.WithoutData(doc))
	if err != nil {
		return err
	}
	r.State.Manifests = tf.TextMap(map[string]string{manifest.Key(doc): text})
	r.State.UID = types.StringValue(string(live.GetUID()))
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
	r.State.Ref = reference(r.State.Name, mount, mode, content{data: kube.SecretData(masked)}.keys())
	return nil
}
