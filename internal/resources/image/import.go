package image

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// imported completes an imported state, in which only the name is known, from
// the live ConfigMap. If the provider created the ConfigMap, all attributes are
// read. Otherwise the next apply takes over its fields, which the plan shows.
func (l reader) imported(ctx context.Context) error {
	ref := l.State.ref()
	live, err := l.Data.Cluster.Read(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		hint := ""
		if strings.HasPrefix(l.State.Name.ValueString(), image.ConfigMapName("")) {
			hint = " Import the name of the image, without the prefix " + image.ConfigMapName("") + " of its ConfigMap."
		}
		l.Diags.AddError("Cannot import: object not found", fmt.Sprintf(
			"%s does not exist.%s\n\nInvestigate with:\n  kubectl get configmaps -n %s", ref, hint, ref.Namespace))
		return owned.ErrGone
	case err != nil:
		return err
	}
	set, ours, err := kube.OwnedFields(live)
	if err != nil {
		return err
	}
	if !ours {
		set = fieldpath.NewSet() // only its name is known
	}
	short := image.Summary(live)
	doc := &unstructured.Unstructured{Object: fields.Project(short.Object, set)}
	summary, err := manifest.JSON(doc)
	if err != nil {
		return err
	}
	key := manifest.Key(doc)
	if _, err := l.Memory.RememberSet(key, doc, short, set); err != nil {
		return err
	}
	l.MemoryChanged, l.PrivateState.Imported = true, true
	l.State.Manifests = manifests(key, summary)
	l.State.UID = types.StringValue(string(live.GetUID()))
	l.State.AdoptExisting, l.State.DeletionProtection = types.BoolValue(false), types.BoolValue(false)
	l.State.PinDigest = types.BoolValue(false)
	if !ours {
		return nil
	}
	return l.adopt(ctx, live, fields.Project(live.Object, set))
}

// adopt sets the attributes from a ConfigMap that the provider created.
func (l reader) adopt(ctx context.Context, live *unstructured.Unstructured, own map[string]any) error {
	spec, err := image.SpecOf(live)
	if err != nil {
		l.Diags.AddWarning("Cannot resolve the image", fmt.Sprintf(
			"%s was created by this provider, but %v. The next apply updates it.", l.State.ref(), err))
		return nil
	}
	m := l.State
	m.ImageID, m.Base = tf.TextOrNull(spec.ImageID), tf.TextOrNull(spec.Base)
	m.PythonPath, m.InstallCmd = tf.TextOrNull(spec.PythonPath), tf.TextOrNull(spec.InstallCmd)
	m.Dockerfile, m.PinDigest = tf.TextOrNull(spec.Dockerfile), types.BoolValue(spec.PinDigest)
	l.Diags.Append(m.setSteps(ctx, spec.Steps)...)

	defaults := l.Data.Defaults
	mine := &unstructured.Unstructured{Object: own}
	m.Labels = configurable(mine.GetLabels(), defaults.Labels,
		kind.AppLabel, kind.ManagedByLabel, kind.UsernameLabel, image.ImageLabel)
	m.Annotations = configurable(mine.GetAnnotations(), defaults.Annotations, image.SpecAnnotation,
		image.DigestAnnotation)

	whole, _, err := unstructured.NestedString(live.Object, "data", image.DockerfileKey)
	if err != nil {
		return err
	}
	runs, err := image.Parse(whole)
	if err != nil {
		return nil //nolint:nilerr // it was edited, which the attribute manifests shows as drift
	}
	_, digest, _ := strings.Cut(runs.From, "@")
	pin := registry.Pin{Image: runs.From, Digest: digest}
	m.setComputed(&model{ImageID: m.ImageID, Dockerfile: m.Dockerfile}, pin,
		image.Rendered{Dockerfile: whole, Digest: live.GetAnnotations()[image.DigestAnnotation]})
	if !spec.PinDigest {
		return nil
	}
	given, err := image.Parse(spec.Dockerfile)
	if spec.Dockerfile != "" && err != nil {
		return err
	}
	l.PrivateState.Pin = pin
	l.PrivateState.Reference, err = reference(spec, given)
	return err
}

func (m *model) setSteps(ctx context.Context, steps []image.Step) (diags diag.Diagnostics) {
	kind := types.ObjectType{AttrTypes: stepTypes()}
	if len(steps) == 0 {
		m.Steps = types.ListNull(kind)
		return diags
	}
	models := make([]stepModel, len(steps))
	for i, step := range steps {
		one, found := stepOf(ctx, step)
		models[i] = one
		diags.Append(found...)
	}
	list, found := types.ListValueFrom(ctx, kind, models)
	m.Steps = list
	diags.Append(found...)
	return diags
}

// configurable returns the labels or annotations that a configuration must contain: neither reserved ones nor defaults
// of the provider.
func configurable(all, defaults map[string]string, reserved ...string) types.Map {
	out := tf.WithoutDefaults(all, defaults)
	for _, key := range reserved {
		delete(out, key)
	}
	return tf.TextMapOrNull(out)
}
