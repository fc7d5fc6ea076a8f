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
	if spec.Dockerfile != "" {
		if in.dockerfile, err = image.Parse(spec.Dockerfile); err != nil {
			return in, specErrors(err)
		}
	}
	if in.reference, err = reference(spec, in.dockerfile); err != nil {
		diags.AddAttributeError(path.Root("base"), "Invalid base", "base "+err.Error()+".")
		return in, diags
	}
	if in.packed, err = load(spec, in.dockerfile); err != nil {
		diags.Append(specErrors(err)...)
	}
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
	if err != nil {
		return rendered, specErrors(err)
	}
	return rendered, nil
}

// object returns the ConfigMap of a setup.
func (m *model) object(
	in inputs, rendered image.Rendered, defaults tf.Defaults,
) (*unstructured.Unstructured, diag.Diagnostics) {
	var diags diag.Diagnostics
	obj, err := image.ConfigMap(image.Meta{
		Name: m.Name.ValueString(), Namespace: m.Namespace.ValueString(), Username: defaults.Username,
		Labels:      merged(defaults.Labels, tf.Texts(m.Labels)),
		Annotations: merged(defaults.Annotations, tf.Texts(m.Annotations)),
	}, in.spec, rendered)
	if err != nil {
		diags.AddError("Image setup too large for a ConfigMap",
			fmt.Sprintf("kt_image %s: %v.", m.Name.ValueString(), err))
	}
	return obj, diags
}

// merged returns the labels or annotations of an object. The configured ones override the defaults.
func merged(defaults, configured map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, defaults)
	maps.Copy(out, configured)
	return out
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

func (m *model) setImage(config *model, image, digest, dockerfile, setup types.String) {
	m.Image, m.Digest, m.RenderedDockerfile = image, digest, dockerfile
	m.setRefs(setup)
	m.ImageID, m.Dockerfile = config.ImageID, config.Dockerfile
	if m.ImageID.IsNull() {
		m.ImageID = image
	}
	if m.Dockerfile.IsNull() {
		m.Dockerfile = dockerfile
	}
}

// summarize returns the key and the value of an object in the attribute manifests.
func summarize(obj *unstructured.Unstructured) (key, text string, err error) {
	text, err = manifest.JSON(image.Summary(obj))
	return manifest.Key(obj), text, err
}

// pinFailure converts an error of a registry to a diagnostic at pin_digest: a
// warning if there is a consequence to report, otherwise an error.
func pinFailure(err error, consequence string) diag.Diagnostic {
	failed, ok := errors.AsType[*registry.Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return diag.WithPath(path.Root("pin_digest"), tf.Failure(err))
	}
	texts := map[registry.Reason]struct{ summary, next string }{
		registry.Missing: {"Image not found in the registry",
			"Check the name and the tag. For a private repository, log in, because registries also report this to " +
				"clients that are not logged in."},
		registry.Refused: {"Registry access denied",
			"Log in where Terraform runs, for example with docker login. To use another directory with a " +
				"config.json, set DOCKER_CONFIG."},
		registry.NoCredentials: {"Cannot read the credentials of the registry",
			"Check the credential helper that config.json of docker or podman names for this registry: it must work " +
				"where Terraform runs, without input. To use another directory with a config.json, set DOCKER_CONFIG."},
		registry.Invalid: {"Invalid image reference", "Use the form registry/repository:tag."},
		registry.Unreachable: {"Cannot reach the registry",
			"Run Terraform where the registry and its proxy are reachable, or set pin_digest = false."},
	}[failed.Reason]
	detail := fmt.Sprintf("pin_digest requires the digest of %s. %v\n\nNext step: %s", failed.Image, failed.Err,
		texts.next)
	if consequence == "" {
		return diag.NewAttributeErrorDiagnostic(path.Root("pin_digest"), texts.summary, detail)
	}
	return diag.NewAttributeWarningDiagnostic(path.Root("pin_digest"), texts.summary, detail+"\n\n"+consequence)
}
