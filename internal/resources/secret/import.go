package secret

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// imported completes a state that contains only the name. A Secret does not record its source, but the digests show
// whether a source has the same values. If the Secret is not ours, the next apply takes over its fields, which the
// plan shows.
func (l reader) imported(live *unstructured.Unstructured) error {
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return err
	}
	if !ours {
		set = fieldpath.NewSet() // only its name is known
	}
	keys := map[string]string{}
	for key, value := range kube.SecretData(live) {
		entry := l.PrivateState.digests.First(key, value)
		switch {
		case !ours:
			keys[key] = imported
		case !set.Has(dataPath(key)):
			keys[key] = addedInCluster
			continue
		default:
			keys[key] = entry.Text
		}
		l.PrivateState.digests.Values[key] = entry
	}
	masked := l.PrivateState.digests.Mask(live, kube.SecretData(live))
	doc := &unstructured.Unstructured{Object: fields.Project(masked.Object, set)}
	if _, err := l.Memory.RememberSet(manifest.Key(doc), doc, masked, set); err != nil {
		return err
	}
	text, err := manifest.JSON(spec.WithoutData(doc))
	if err != nil {
		return err
	}
	l.State.Manifests = tf.TextMap(map[string]string{manifest.Key(doc): text})
	l.State.UID = types.StringValue(string(live.GetUID()))
	l.State.Keys = tf.TextMap(keys)
	l.State.Labels = configurable(doc.GetLabels(), l.Data.Defaults.Labels)
	l.State.Annotations = configurable(doc.GetAnnotations(), l.Data.Defaults.Annotations)
	l.State.AdoptExisting = types.BoolValue(doc.GetAnnotations()[spec.OverrideAnnotation] == "true")
	l.State.DeletionProtection = types.BoolValue(false)
	mount := ""
	if doc.GetLabels()[spec.MountTypeLabel] == spec.VolumeMount {
		mount = spec.MountPath(doc.GetAnnotations()[spec.PathAnnotation])
	}
	mode := doc.GetAnnotations()[spec.DefaultModeAnnotation]
	if mode != presetMode(doc.GetLabels()[spec.ProviderLabel]) {
		l.State.DefaultMode = tf.TextOrNull(mode)
	}
	l.State.Ref = reference(l.State.Name, mount, mode, content{data: kube.SecretData(masked)}.keys())
	return nil
}

// configurable returns the labels or annotations that a configuration must contain: neither reserved ones nor defaults
// of the provider.
func configurable(there, defaults map[string]string) types.Map {
	out := tf.WithoutDefaults(there, defaults)
	maps.DeleteFunc(out, func(key, _ string) bool { return spec.IsReserved(key) })
	return tf.TextMapOrNull(out)
}
