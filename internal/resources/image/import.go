package image

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// importConfigMap completes a state that contains only the name. If the provider created the ConfigMap, it sets all
// attributes. Otherwise the next apply takes over its fields, which the plan shows.
func (r reader) importConfigMap(ctx context.Context) error {
	ref := r.State.ref()
	live, err := r.Read(ctx, ref)
	switch {
	case kube.IsNotFound(err):
		hint := ""
		if strings.HasPrefix(r.State.Name.ValueString(), image.ConfigMapName("")) {
			hint = " Import the name of the image, without the prefix " + image.ConfigMapName("") + " of its ConfigMap."
		}
		return r.NothingToImport(fmt.Sprintf(
			"%s does not exist.%s\n\nInvestigate with:\n  kubectl get configmaps -n %s", ref, hint, ref.Namespace))
	case err != nil:
		return err
	}
	doc, ours, err := r.Memory.Import(image.Summary(live))
	if err != nil {
		return err
	}
	if r.State.Manifests, err = owned.ManifestsOf(doc); err != nil {
		return err
	}
	r.PrivateState.Imported = true
	r.SetLive(ref, live)
	r.State.AdoptExisting, r.State.DeletionProtection = types.BoolValue(false), types.BoolValue(false)
	r.State.PinDigest = types.BoolValue(false)
	if !ours {
		return nil
	}
	return r.importAttributes(ctx, live, doc)
}

// importAttributes sets the attributes from a ConfigMap that the provider created. applied contains the fields of the
// ConfigMap that the provider owns.
func (r reader) importAttributes(ctx context.Context, live, applied *unstructured.Unstructured) error {
	spec, err := image.SpecOf(live)
	if err != nil {
		r.Diags.AddWarning("Cannot import the attributes", fmt.Sprintf(
			"%s was created by this provider, but %v. Therefore only its name was imported. The next apply updates it.",
			r.State.ref(), err))
		return nil
	}
	m, c := r.State, tf.NewConverter(ctx)
	c.FollowModel(m, &image.Spec{}, &spec, "ImageID", "Base", "PythonPath", "InstallCmd", "Dockerfile", "Steps",
		"PinDigest")
	r.Diags.Append(c.Diags...)

	defaults := r.Data.Defaults
	m.Labels = tf.Configurable(applied.GetLabels(), defaults.Labels, image.IsReservedLabel)
	m.Annotations = tf.Configurable(applied.GetAnnotations(), defaults.Annotations, image.IsReservedAnnotation)

	dockerfile, _, err := unstructured.NestedString(live.Object, "data", image.DockerfileKey)
	if err != nil {
		return err
	}
	parsed, err := image.Parse(dockerfile)
	if err != nil {
		return nil //nolint:nilerr // it was edited, which the attribute manifests shows as drift
	}
	_, digest, _ := strings.Cut(parsed.From, "@")
	pin := registry.Pin{Image: parsed.From, Digest: digest}
	m.setComputed(&model{ImageID: m.ImageID, Dockerfile: m.Dockerfile}, pin,
		image.Rendered{Dockerfile: dockerfile, Digest: live.GetAnnotations()[image.DigestAnnotation]})
	if !spec.PinDigest {
		return nil
	}
	configured, err := image.Parse(spec.Dockerfile)
	if err != nil {
		return err
	}
	r.PrivateState.Pin = pin
	r.PrivateState.Reference, err = reference(spec, configured)
	return err
}

var _ lifecycle.ConfigGenerator[model] = hooks{}

// Generate removes the values of image_id and dockerfile that [model.setImage] has set: exactly one attribute may
// specify the image. A configured Dockerfile has no steps, and a rendered one has them. A Dockerfile that consists of
// the image is the same as image_id.
func (hooks) Generate(_ context.Context, m *model) {
	rendersImageOnly := m.RenderedDockerfile.ValueString() == "FROM "+m.Image.ValueString()+"\n"
	if m.Dockerfile.Equal(m.RenderedDockerfile) && (len(m.Steps.Elements()) > 0 || rendersImageOnly) {
		m.Dockerfile = types.StringNull()
	}
	parsed, err := image.Parse(m.Dockerfile.ValueString())
	if err == nil && (parsed.From != "" || !m.Base.IsNull()) {
		m.ImageID = types.StringNull()
	}
}
