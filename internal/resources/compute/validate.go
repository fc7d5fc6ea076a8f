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

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// ValidateConfig checks offline what concerns more than one attribute: the
// rules are those of [manifest.Validate]. The schema checks each attribute by
// itself, so the rules say nothing about one that the schema refuses, nor about
// one that is unknown yet: that is checked in the plan.
func (r *computeResource) ValidateConfig(
	ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse,
) {
	if id, ok := configID(ctx, req.Config); ok && r.Data() != nil {
		r.Data().Configs.Store(id, req.Config.Raw)
	}
	masked, hidden := mask(req.Config, func(name string) bool {
		var value attr.Value
		return !req.Config.GetAttribute(ctx, path.Root(name), &value).HasError()
	})
	var known model
	resp.Diagnostics.Append(masked.Get(ctx, &known)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(checkTimes(&known)...)
	// Nothing of the provider block is known here, nor does it matter to what
	// goes together.
	spec, unreadable := known.spec(ctx, tf.Defaults{LaunchTimeout: time.Minute})
	for _, d := range unreadable {
		placed, ok := d.(diag.DiagnosticWithPath)
		if !ok {
			resp.Diagnostics.Append(d)
			return
		}
		hidden[placed.Path().String()] = true
	}
	hideRefused(&spec, hidden)
	if spec.Namespace == "" {
		spec.Namespace = cmp.Or(namespaceOf(spec.Manifest), namespaceOf(spec.ServiceTemplate), "default")
	}
	resp.Diagnostics.Append(renderErrors(manifest.Validate(spec, hidden.has))...)
}

func isGiven(value attr.Value) bool { return !value.IsNull() && !value.IsUnknown() }

// places is a set of attributes, by path.
type places map[string]bool

// has reports whether an attribute, or one that it is part of, is in the set.
func (p places) has(at manifest.Path) bool {
	for i := range at {
		if p[at[:i+1].String()] {
			return true
		}
	}
	return false
}

// hideRefused adds numbers and texts that the schema refuses, and that can be
// read all the same.
func hideRefused(spec *manifest.Compute, hidden places) {
	for attribute, refused := range map[string]bool{
		"name":              spec.Name == "" || len(spec.Name) > 63,
		"replicas":          spec.Replicas < 0 || spec.Replicas > math.MaxInt32,
		"pod_template_path": slices.Contains(spec.PodTemplatePath, ""),
	} {
		if refused {
			hidden[attribute] = true
		}
	}
	if d := spec.Distribute; d != nil && (d.Workers < 0 || d.Workers > math.MaxInt32) {
		hidden["distribute.workers"] = true
	}
}

// checkTimes looks at durations that are well formed but unlikely to be meant.
func checkTimes(config *model) diag.Diagnostics {
	var diags diag.Diagnostics
	if ttl, ok := parsed(config.InactivityTTL); ok && ttl < time.Minute {
		diags.AddAttributeWarning(path.Root("inactivity_ttl"), "Very short inactivity_ttl",
			fmt.Sprintf("Kubetorch may delete the compute before its first call: inactivity_ttl is %s, less than a "+
				"minute.", config.InactivityTTL.ValueString()))
	}
	diags.Append(checkPositive("launch_timeout", config.LaunchTimeout)...)
	diags.Append(checkPositive("wait_timeout", config.WaitTimeout)...)
	return diags
}

func checkPositive(name string, text tf.Duration) diag.Diagnostics {
	if timeout, ok := parsed(text); !ok || timeout > 0 {
		return nil
	}
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root(name), "Invalid "+name,
		fmt.Sprintf("%s is %q, but must be more than zero: on_not_ready = \"ignore\" disables the "+
			"wait.", name, text.ValueString()))}
}

func parsed(text tf.Duration) (time.Duration, bool) {
	if text.IsNull() || text.IsUnknown() {
		return 0, false
	}
	d, err := manifest.ParseDuration(text.ValueString())
	return d, err == nil
}

// namespaceOf is the namespace that a manifest or template gives the workload,
// which is right where the compute's own turns out to be the same.
func namespaceOf(object map[string]any) string {
	namespace, _, _ := unstructured.NestedString(object, "metadata", "namespace")
	return namespace
}

// mask returns a configuration without the values that the rules cannot judge,
// and the places of these: values that are unknown, that cannot be read, or that
// the schema refuses, as it does a null in a collection and an empty text.
// Attributes become null. Entries of maps and items of lists stay, and are empty.
func mask(config tfsdk.Config, readable func(attribute string) bool) (tfsdk.Config, places) {
	hidden := places{}
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
		hidden[placeOf(at).String()] = true
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

// emptyValue is an empty text, or an object whose attributes are null.
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

func placeOf(at *tftypes.AttributePath) manifest.Path {
	var place manifest.Path
	for _, step := range at.Steps() {
		switch step := step.(type) {
		case tftypes.AttributeName:
			place = append(place, manifest.Name(step))
		case tftypes.ElementKeyString:
			place = append(place, manifest.Entry(step))
		case tftypes.ElementKeyInt:
			place = append(place, manifest.Index(step))
		}
	}
	return place
}
