package image

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// inputs contains everything from which a ConfigMap is rendered, except the resolved image, which may require a request
// to a registry.
type inputs struct {
	spec       image.Spec
	dockerfile image.Dockerfile
	packed     map[image.Source][]image.Packed
	reference  string // configured image, before pinning
}

// loadInputs parses the configuration and reads the local files to copy.
func loadInputs(ctx context.Context, config *model) (inputs, diag.Diagnostics) {
	var in inputs
	spec, diags := config.spec(ctx)
	if diags.HasError() {
		return in, diags
	}
	in.spec = spec
	var err error
	if in.dockerfile, err = image.Parse(spec.Dockerfile); err != nil {
		return in, specErrors(err)
	}
	if in.reference, err = reference(spec, in.dockerfile); err != nil {
		diags.AddAttributeError(path.Root("base"), "Invalid base", "base "+err.Error()+".")
		return in, diags
	}
	in.packed, err = load(spec, in.dockerfile)
	diags.Append(specErrors(err)...)
	return in, diags
}

// withoutRegistry returns the configured image, with its digest if it contains one. It returns false if pin_digest
// requires a [registry.Resolver], which also normalizes a reference with a digest.
func (in inputs) withoutRegistry() (registry.Pin, bool) {
	_, digest, _ := strings.Cut(in.reference, "@")
	return registry.Pin{Image: in.reference, Digest: digest}, !in.spec.PinDigest
}

// render renders the setup with the resolved image.
func (in inputs) render(resolved string) (image.Rendered, diag.Diagnostics) {
	rendered, err := image.Render(in.spec, in.dockerfile, resolved, in.packed)
	return rendered, specErrors(err)
}

// object returns the ConfigMap of a setup, and the attribute manifests. prior is that attribute in state.
func (m *model) object(
	in inputs, rendered image.Rendered, defaults tf.Defaults, prior types.Map,
) (*unstructured.Unstructured, types.Map, diag.Diagnostics) {
	var diags diag.Diagnostics
	defaults = owned.PreserveCreator(defaults, owned.Manifests(prior))
	obj, err := image.ConfigMap(image.Meta{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Username: defaults.Username,
		DefaultLabels: defaults.Labels, DefaultAnnotations: defaults.Annotations,
		Labels: tf.Texts(m.Labels), Annotations: tf.Texts(m.Annotations),
	}, in.spec, rendered)
	if err != nil {
		diags.AddError("Image setup too large for a ConfigMap",
			fmt.Sprintf("kt_image %s: %v.", m.Name.ValueString(), err))
		return nil, prior, diags
	}
	manifests, err := owned.ManifestsOf(image.Summary(obj))
	if err != nil {
		diags.AddError("Cannot render the ConfigMap", err.Error())
	}
	return obj, manifests, diags
}

// setComputed sets the computed attributes of the image and its setup.
func (m *model) setComputed(config *model, pin registry.Pin, rendered image.Rendered) {
	m.setImage(config, types.StringValue(pin.Image), tf.TextOrNull(pin.Digest), types.StringValue(rendered.Dockerfile),
		types.StringValue(rendered.Digest))
}

// setUnknown marks the attributes that depend on the image as unknown. setup is the digest of the setup, if known.
func (m *model) setUnknown(config *model, setup types.String) {
	unknown := types.StringUnknown()
	m.setImage(config, unknown, unknown, unknown, setup)
}

func (m *model) setImage(config *model, reference, digest, dockerfile, setup types.String) {
	switch hides, known := m.Hides("data", image.DockerfileKey); {
	case !known:
		dockerfile = types.StringUnknown() // the apply knows whether it is hidden
	case hides && !dockerfile.IsUnknown():
		dockerfile = types.StringValue("(sensitive)") // ref and manifests contain its digest
	}
	m.Image, m.Digest, m.RenderedDockerfile = reference, digest, dockerfile
	m.setRef(setup)
	m.ImageID, m.Dockerfile = config.ImageID, config.Dockerfile
	if m.ImageID.IsNull() {
		m.ImageID = reference
	}
	if m.Dockerfile.IsNull() {
		m.Dockerfile = dockerfile
	}
}

// pinFailure is [tf.RegistryFailure] for pin_digest.
func pinFailure(err error, consequence string) diag.Diagnostic {
	return tf.RegistryFailure(err, path.Root("pin_digest"), "set pin_digest = false", consequence)
}
