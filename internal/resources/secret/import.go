package secret

import (
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
)

// imported fills in a state of which only the name is known. Where the values
// come from, no Secret says; but whether those of a source are the same, the
// digests tell. Of a Secret that is not ours, the fields become ours with the
// next apply, which the plan shows.
func (l reader) imported(live *unstructured.Unstructured) error {
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return err
	}
	if !ours {
		set = fieldpath.NewSet() // its name is all that we know of it
	}
	keys := map[string]string{}
	for key, value := range kube.SecretData(live) {
		entry := l.PrivateState.ledger.First(key, value)
		switch {
		case !ours:
			keys[key] = imported
		case !set.Has(dataPath(key)):
			keys[key] = addedThere
			continue
		default:
			keys[key] = entry.Text
		}
		l.PrivateState.ledger.Values[key] = entry
	}
	veiled := l.PrivateState.ledger.Veil(live, kube.SecretData(live))
	doc := &unstructured.Unstructured{Object: fields.Project(veiled.Object, set)}
	if _, err := l.Memory.RememberSet(manifest.Key(doc), doc, veiled, set); err != nil {
		return err
	}
	text, err := manifest.JSON(spec.WithoutData(doc))
	if err != nil {
		return err
	}
	l.State.Manifests = textMap(map[string]string{manifest.Key(doc): text})
	l.State.UID = types.StringValue(string(live.GetUID()))
	l.State.Keys = textMap(keys)
	l.State.Labels = l.given(doc.GetLabels(), l.Data.Defaults.Labels)
	l.State.Annotations = l.given(doc.GetAnnotations(), l.Data.Defaults.Annotations)
	l.State.AdoptExisting = types.BoolValue(doc.GetAnnotations()[spec.OverrideAnnotation] == "true")
	l.State.DeletionProtection = types.BoolValue(false)
	mount := ""
	if doc.GetLabels()[spec.MountTypeLabel] == spec.VolumeMount {
		mount = spec.MountPath(doc.GetAnnotations()[spec.PathAnnotation])
	}
	mode := doc.GetAnnotations()[spec.DefaultModeAnnotation]
	if mode != presetMode(doc.GetLabels()[spec.ProviderLabel]) {
		l.State.DefaultMode = textOrNull(mode)
	}
	l.State.Ref = reference(l.State.Name, mount, mode, content{data: kube.SecretData(veiled)}.keys())
	return nil
}

// given are the labels or annotations that a configuration has to name: neither
// our own, nor the provider's defaults.
func (l reader) given(there, defaults map[string]string) types.Map {
	out := map[string]string{}
	for key, value := range there {
		if preset, is := defaults[key]; !spec.Own(key) && (!is || preset != value) {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return types.MapNull(types.StringType)
	}
	return textMap(out)
}
