package image

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// Validate checks rules that the schema cannot express. It ignores unknown values.
func (hooks) Validate(ctx context.Context, config *model, _ lifecycle.Validation) diag.Diagnostics {
	parsed, diags := checkDockerfile(config.Dockerfile)
	if !diags.HasError() {
		diags.Append(checkSource(config, parsed)...)
	}
	diags.Append(checkBaseAndInstallCmd(config)...)
	diags.Append(checkSteps(ctx, config.Steps)...)
	diags.Append(tf.RejectReserved("labels", config.Labels, image.IsReservedLabel)...)
	diags.Append(tf.RejectReserved("annotations", config.Annotations, image.IsReservedAnnotation)...)
	return diags
}

// isKnown reports whether an attribute is set to a known value.
func isKnown(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// checkDockerfile reports unsupported lines as errors, and instructions without
// effect as warnings.
func checkDockerfile(text types.String) (image.Dockerfile, diag.Diagnostics) {
	var diags diag.Diagnostics
	if !isKnown(text) {
		return image.Dockerfile{}, nil
	}
	parsed, err := image.Parse(text.ValueString())
	if err != nil {
		return parsed, specErrors(err)
	}
	for _, ignored := range parsed.Ignored {
		diags.AddAttributeWarning(path.Root("dockerfile"), ignored.Instruction+" has no effect",
			fmt.Sprintf("Line %d of the Dockerfile sets the command of the container, but a compute always runs "+
				"Kubetorch's server. %s is ignored.", ignored.Line, ignored.Instruction))
	}
	return parsed, diags
}

// specErrors converts the errors of package image to diagnostics at their attributes.
func specErrors(err error) diag.Diagnostics { return tf.AttributeErrors("Invalid image setup", err) }

// checkSource requires exactly one source of the image.
func checkSource(config *model, parsed image.Dockerfile) diag.Diagnostics {
	var diags diag.Diagnostics
	var given []string
	var at path.Path // of the last source
	for _, source := range []struct {
		attribute, text string
		isSet           bool
	}{
		{"image_id", "image_id", !config.ImageID.IsNull()},
		{"base", "base", !config.Base.IsNull()},
		{"dockerfile", "the FROM of dockerfile", parsed.From != ""},
	} {
		if source.isSet {
			given = append(given, source.text)
			at = path.Root(source.attribute)
		}
	}
	switch {
	case len(given) > 1:
		diags.AddAttributeError(at, "Conflicting attributes",
			fmt.Sprintf("%s each specify the image to run, but only one of them can be set.\n\nNext step: Remove all "+
				"but one.", strings.Join(given, " and ")))
	case len(given) == 0 && isKnown(config.Dockerfile):
		diags.AddAttributeError(path.Root("dockerfile"), "Missing image",
			"The Dockerfile has no FROM, and neither `image_id` nor `base` is set.\n\nNext step: Add a FROM, or set "+
				"`image_id` or `base`.")
	case len(given) == 0 && config.Dockerfile.IsNull():
		diags.AddError("Missing image", "The configuration does not specify the image to run.\n\nNext step: Set "+
			"`image_id`, `base`, or a `dockerfile` with a FROM.")
	}
	return diags
}

func checkBaseAndInstallCmd(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if isKnown(config.Base) {
		if _, err := image.BaseImage(config.Base.ValueString()); err != nil {
			diags.AddAttributeError(path.Root("base"), "Invalid base", "base "+err.Error()+".")
		}
	}
	if text := config.InstallCmd.ValueString(); isKnown(config.InstallCmd) &&
		(strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\n\x00")) {
		diags.AddAttributeError(path.Root("install_cmd"), "Invalid install_cmd",
			fmt.Sprintf("install_cmd is %q, but must be a single line, such as uv pip install --system.", text))
	}
	return diags
}

func checkSteps(ctx context.Context, steps types.List) diag.Diagnostics {
	var diags diag.Diagnostics
	for i, element := range steps.Elements() {
		object, ok := element.(types.Object)
		if !ok || !isKnown(object) {
			continue
		}
		at := path.Root("steps").AtListIndex(i)
		found := checkStep(at, object.Attributes())
		diags.Append(found...)
		if found.HasError() || !tf.FullyKnown(ctx, object) {
			continue
		}
		var step image.Step
		tf.NewConverter(ctx).Decode(at, object, &step)
		if c := step.Copy; hasNull(object) || c != nil && (c.Source == "" || c.Dest == "") {
			continue // null and empty values, which the schema reports
		}
		diags.Append(specErrors(image.CheckStep(i, step))...) // of empty attributes, the schema reports errors
	}
	return diags
}

// hasNull reports whether a package or the value of a variable is null.
func hasNull(step types.Object) bool {
	packages, _ := step.Attributes()["pip_install"].(types.List)
	variables, _ := step.Attributes()["set_env_vars"].(types.Map)
	values := slices.AppendSeq(packages.Elements(), maps.Values(variables.Elements()))
	return slices.ContainsFunc(values, attr.Value.IsNull)
}

// checkStep requires exactly one attribute.
func checkStep(at path.Path, step map[string]attr.Value) diag.Diagnostics {
	var diags diag.Diagnostics
	given, unknown := tf.Given([]string{"pip_install", "run_bash", "set_env_vars", "copy", "sync_package"},
		func(name string) attr.Value { return step[name] })
	switch {
	case len(given) > 1:
		diags.AddAttributeError(at.AtName(given[1]), "Multiple attributes in a step",
			fmt.Sprintf("%s sets %s, whose order is undefined.\n\nNext step: Move each of them to a separate step.", at,
				strings.Join(given, " and ")))
	case len(given) == 0 && !unknown:
		diags.AddAttributeError(at, "Empty step", at.String()+" sets no attribute.\n\nNext step: Set one of "+
			"`pip_install`, `run_bash`, `set_env_vars`, `copy` and `sync_package`.")
	}
	return diags
}
