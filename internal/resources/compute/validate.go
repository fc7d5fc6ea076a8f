package compute

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// ValidateConfig checks the rules of [manifest.Validate] for combinations of attributes, without a cluster. It ignores
// invalid attributes, which the schema reports, and unknown ones, which the plan checks.
func (r *computeResource) ValidateConfig(
	ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse,
) {
	masked, hidden := mask(req.Config, func(name string) bool {
		var value attr.Value
		return !req.Config.GetAttribute(ctx, path.Root(name), &value).HasError()
	})
	var known model
	resp.Diagnostics.Append(masked.Get(ctx, &known)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(validate(ctx, &known, hidden)...)
}

// ValidateKnown is like ValidateConfig, for a configuration that is known.
func (hooks) ValidateKnown(ctx context.Context, config *model) diag.Diagnostics {
	return validate(ctx, config, pathSet{})
}

// validate checks a configuration without the values at the hidden paths.
func validate(ctx context.Context, known *model, hidden pathSet) diag.Diagnostics {
	diags := checkDurations(known)
	// The provider block may be unknown here. The rules do not depend on it.
	spec, invalid := known.spec(&converter{ctx: ctx}, tf.Defaults{LaunchTimeout: time.Minute})
	for _, d := range invalid {
		placed, ok := d.(diag.DiagnosticWithPath)
		if !ok {
			return append(diags, d)
		}
		hidden[placed.Path().String()] = true
	}
	hideInvalid(&spec, hidden)
	if spec.Namespace == "" {
		spec.Namespace = cmp.Or(namespaceOf(spec.Manifest), namespaceOf(spec.ServiceTemplate), "default")
	}
	return append(diags, renderErrors(manifest.Validate(spec, hidden.has))...)
}

func isKnown(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// pathSet is a set of paths of attributes.
type pathSet map[string]bool

// has reports whether the set contains a path or one of its parents.
func (s pathSet) has(at manifest.Path) bool {
	for i := range at {
		if s[at[:i+1].String()] {
			return true
		}
	}
	return false
}

// hideInvalid adds the attributes that the schema rejects although they can be decoded.
func hideInvalid(spec *manifest.Compute, hidden pathSet) {
	for attribute, invalid := range map[string]bool{
		"name":              spec.Name == "" || len(spec.Name) > validation.DNS1035LabelMaxLength,
		"replicas":          spec.Replicas < 0 || spec.Replicas > math.MaxInt32,
		"pod_template_path": slices.Contains(spec.PodTemplatePath, ""),
	} {
		if invalid {
			hidden[attribute] = true
		}
	}
	if d := spec.Distribute; d != nil && (d.Workers < 0 || d.Workers > math.MaxInt32) {
		hidden["distribute.workers"] = true
	}
}

// checkDurations checks for durations that are valid but probably not intended.
func checkDurations(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if ttl, ok := parseDuration(config.InactivityTTL); ok && ttl < time.Minute {
		diags.AddAttributeWarning(path.Root("inactivity_ttl"), "Very short inactivity_ttl",
			fmt.Sprintf("Kubetorch may delete the compute before its first call: inactivity_ttl is %s, less than a "+
				"minute.", config.InactivityTTL.ValueString()))
	}
	diags.Append(checkPositive("launch_timeout", config.LaunchTimeout)...)
	diags.Append(checkPositive("wait_timeout", config.WaitTimeout)...)
	return diags
}

func checkPositive(name string, text tf.Duration) diag.Diagnostics {
	if timeout, ok := parseDuration(text); !ok || timeout > 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root(name), "Invalid "+name,
		fmt.Sprintf("%s is %q, but must be more than zero: on_not_ready = \"ignore\" disables the "+
			"wait.", name, text.ValueString()))}
}

// parseDuration returns false for a value that is null, unknown or invalid.
func parseDuration(text tf.Duration) (time.Duration, bool) {
	if !isKnown(text) {
		return 0, false
	}
	d, err := manifest.ParseDuration(text.ValueString())
	return d, err == nil
}

// namespaceOf returns the namespace in a manifest or template. Until the namespace of the compute is resolved, it is
// assumed to be the same.
func namespaceOf(object map[string]any) string {
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	return namespace
}

// mask returns a configuration without the values that the rules cannot check, and the paths of these. They are values
// that are unknown or cannot be decoded, and those that the schema rejects: null in a collection and empty text.
// Attributes become null. Entries of maps and items of lists become empty.
func mask(config tfsdk.Config, readable func(attribute string) bool) (tfsdk.Config, pathSet) {
	hidden := pathSet{}
	raw, err := tftypes.Transform(config.Raw, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		steps := at.Steps()
		if len(steps) == 0 {
			return v, nil
		}
		_, inObject := at.LastStep().(tftypes.AttributeName)
		name, _ := steps[0].(tftypes.AttributeName)
		switch {
		case !v.IsKnown(), v.IsNull() && !inObject, len(steps) == 1 && !v.IsNull() && !readable(string(name)):
		case inObject && v.Equal(tftypes.NewValue(tftypes.String, "")):
		default:
			return v, nil
		}
		hidden[pathOf(at).String()] = true
		if inObject {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return emptyValue(v.Type()), nil
	})
	if err != nil {
		return config, hidden
	}
	return tfsdk.Config{Raw: raw, Schema: config.Schema}, hidden
}

// emptyValue returns an empty text, or an object whose attributes are null.
func emptyValue(of tftypes.Type) tftypes.Value {
	object, ok := of.(tftypes.Object)
	switch {
	case of.Is(tftypes.String):
		return tftypes.NewValue(of, "")
	case !ok:
		return tftypes.NewValue(of, nil)
	}
	attributes := map[string]tftypes.Value{}
	for name, typ := range object.AttributeTypes {
		attributes[name] = tftypes.NewValue(typ, nil)
	}
	return tftypes.NewValue(of, attributes)
}

func pathOf(at *tftypes.AttributePath) manifest.Path {
	var out manifest.Path
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			out = append(out, manifest.Name(step))
		case tftypes.ElementKeyString:
			out = append(out, manifest.Entry(step))
		case tftypes.ElementKeyInt:
			out = append(out, manifest.Index(step))
		}
	}
	return out
}
