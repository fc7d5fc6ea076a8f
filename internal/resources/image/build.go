package image

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// blueprint is what a configuration whose spec is known comes to, apart from
// the image that runs, which a registry may have to be asked for.
type blueprint struct {
	spec       image.Spec
	dockerfile image.Dockerfile
	packed     map[image.Source][]image.Packed
	reference  string // the image, as it is named
}

// draw reads the files that are copied.
func draw(ctx context.Context, config *model) (blueprint, diag.Diagnostics) {
	var b blueprint
	spec, diags := config.spec(ctx)
	if diags.HasError() {
		return b, diags
	}
	b.spec = spec
	var err error
	if spec.Dockerfile != "" {
		if b.dockerfile, err = image.Parse(spec.Dockerfile); err != nil {
			return b, specErrors(err)
		}
	}
	if b.reference, err = reference(spec, b.dockerfile); err != nil {
		diags.AddAttributeError(path.Root("base"), "Invalid base", "base "+err.Error()+".")
		return b, diags
	}
	if b.packed, err = load(spec, b.dockerfile); err != nil {
		diags.Append(specErrors(err)...)
	}
	return b, diags
}

// given is the image where no registry has to be asked: it is not to be pinned,
// or known by its digest.
func (b blueprint) given() (registry.Pin, bool) {
	_, digest, known := strings.Cut(b.reference, "@")
	switch {
	case known && !b.spec.PinDigest:
		return registry.Pin{Image: b.reference, Digest: digest}, true
	default:
		return registry.Pin{Image: b.reference}, !b.spec.PinDigest
	}
}

// render makes the set-up for the image that runs.
func (b blueprint) render(runs string) (image.Rendered, diag.Diagnostics) {
	rendered, err := image.Render(b.spec, b.dockerfile, runs, b.packed)
	if err != nil {
		return rendered, specErrors(err)
	}
	return rendered, nil
}

// object puts a set-up into its ConfigMap.
func (m *model) object(ctx context.Context, b blueprint, r image.Rendered, defaults tf.Defaults) (*unstructured.Unstructured, diag.Diagnostics) {
	labels, diags := decodeMap(ctx, m.Labels)
	annotations, found := decodeMap(ctx, m.Annotations)
	diags.Append(found...)
	obj, err := image.ConfigMap(image.Meta{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Username: defaults.Username,
		Labels: union(defaults.Labels, labels), Annotations: union(defaults.Annotations, annotations),
	}, b.spec, r)
	if err != nil {
		diags.AddError("The set-up does not fit into a ConfigMap", fmt.Sprintf("kt_image %s: %v.", m.Name.ValueString(), err))
	}
	return obj, diags
}

func union(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

// keepCreator keeps the name of whoever made the ConfigMap, or none, unless the
// provider block gives one.
func (m *model) keepCreator(defaults tf.Defaults) tf.Defaults {
	if _, text := m.applied(); text != "" && !defaults.UsernameChosen {
		defaults.Username = m.creator(manifest.UsernameLabel)
	}
	return defaults
}

// show fills in the computed attributes that tell of the image that runs and
// of its set-up.
func (m *model) show(config *model, pin registry.Pin, r image.Rendered) {
	m.Image, m.Digest = types.StringValue(pin.Image), text(pin.Digest)
	m.RenderedDockerfile, m.Setup = types.StringValue(r.Dockerfile), m.setup(types.StringValue(r.Digest))
	m.ImageID, m.Dockerfile = config.ImageID, config.Dockerfile
	if m.ImageID.IsNull() {
		m.ImageID = m.Image
	}
	if m.Dockerfile.IsNull() {
		m.Dockerfile = m.RenderedDockerfile
	}
}

// hide makes what depends on the image unknown, and with it all that nothing is
// known of.
func (m *model) hide(config *model, setup types.String) {
	m.Image, m.Digest, m.RenderedDockerfile = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.Setup = m.setup(setup)
	m.ImageID, m.Dockerfile = config.ImageID, config.Dockerfile
	if m.ImageID.IsNull() {
		m.ImageID = types.StringUnknown()
	}
	if m.Dockerfile.IsNull() {
		m.Dockerfile = types.StringUnknown()
	}
}

// summarize is the attribute manifests of an object, and its parts.
func summarize(obj *unstructured.Unstructured) (key, text string, err error) {
	text, err = manifest.JSON(image.Summary(obj))
	return manifest.Key(obj), text, err
}

// pinFailure is a registry's error, as an error or a warning at pin_digest.
func pinFailure(err error, consequence string) diag.Diagnostic {
	if errors.Is(err, context.Canceled) || consequence == "" {
		return diag.WithPath(path.Root("pin_digest"), tf.Failure(err))
	}
	return diag.WithPath(path.Root("pin_digest"), tf.Caution(err, consequence))
}
