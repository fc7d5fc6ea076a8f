package lifecycle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/sensitive"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Terraform does not mark the values in manifests as sensitive if the attributes are from which they are rendered. So
// the values at the paths in sensitive_fields are in sensitive_values, an attribute that Terraform never shows, and
// manifests contains placeholders. Only plans and states contain these: reveal puts the values back before a hook sees
// a model, and conceal hides them after it.

// Reveal replaces the placeholders in manifests by the values in sensitive_values.
func (c *Common) Reveal() diag.Diagnostics {
	hidden := tf.Texts(c.SensitiveValues)
	if len(hidden) == 0 || c.Manifests.IsUnknown() {
		return nil
	}
	texts, elements := tf.Texts(c.Manifests), maps.Clone(c.Manifests.Elements())
	for key, values := range hidden {
		shown, err := revealed(key, texts[key], values)
		if err != nil {
			return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("sensitive_values").AtMapKey(key),
				"Invalid state", "The hidden values do not match the object in manifests: "+err.Error()+".")}
		}
		elements[key] = types.StringValue(shown)
	}
	c.Manifests = types.MapValueMust(types.StringType, elements)
	return nil
}

func revealed(key, text, hidden string) (string, error) {
	object, err := owned.ParseObject(key, text)
	if err != nil {
		return "", err
	}
	values, err := decodedValues(hidden)
	if err != nil {
		return "", err
	}
	if err := sensitive.Show(object.Content.Object, values); err != nil {
		return "", err
	}
	return manifest.JSON(object.Content)
}

// conceal sets sensitive_values to the values at sensitive_fields in manifests, and replaces them by placeholders.
// before are the sensitive_values whose revisions continue; the first that contains an object counts. The result are
// the paths that match no value, unless one of the objects is unknown.
func (c *Common) conceal(before ...types.Map) (unmatched []int, diags diag.Diagnostics) {
	paths, known := c.sensitivePaths()
	switch {
	case !known, c.Manifests.IsUnknown() && len(paths) > 0:
		c.Manifests, c.SensitiveValues = types.MapUnknown(types.StringType), types.MapUnknown(types.StringType)
		return nil, nil
	case len(paths) == 0, c.Manifests.IsNull():
		c.SensitiveValues = types.MapNull(types.StringType)
		return nil, nil
	}
	elements := maps.Clone(c.Manifests.Elements())
	values := make(map[string]attr.Value, len(elements))
	matched, all := map[int]bool{}, true
	for key, element := range elements {
		values[key] = element // null and unknown stay
		text, ok := element.(types.String)
		if !ok || text.IsNull() || text.IsUnknown() {
			all = all && !element.IsUnknown()
			continue
		}
		object, err := owned.ParseObject(key, text.ValueString())
		var hidden sensitive.Values
		var found []int
		if err == nil {
			hidden, found, err = sensitive.Hide(object.Content.Object, paths, valuesIn(key, before))
		}
		if err != nil {
			diags.AddAttributeError(path.Root("sensitive_fields"), "Cannot hide values", err.Error())
			return nil, diags
		}
		for _, i := range found {
			matched[i] = true
		}
		shown, _ := manifest.JSON(object.Content) // it was decoded from JSON
		encoded, _ := json.Marshal(hidden)
		elements[key], values[key] = types.StringValue(shown), types.StringValue(string(encoded))
	}
	c.Manifests = types.MapValueMust(types.StringType, elements)
	c.SensitiveValues = types.MapValueMust(types.StringType, values)
	for i := range paths {
		if all && !matched[i] {
			unmatched = append(unmatched, i)
		}
	}
	return unmatched, nil
}

// omitManifests makes manifests, and the values that it hides, unknown in a plan.
func (c *Common) omitManifests() {
	c.Manifests = types.MapUnknown(types.StringType)
	if !c.SensitiveValues.IsNull() {
		c.SensitiveValues = types.MapUnknown(types.StringType)
	}
}

// sensitivePaths decodes sensitive_fields, and returns false if it is not fully known.
func (c *Common) sensitivePaths() (paths []sensitive.Path, known bool) {
	if c.SensitiveFields.IsUnknown() {
		return nil, false
	}
	for _, element := range c.SensitiveFields.Elements() {
		text, _ := element.(types.String)
		if text.IsUnknown() {
			return nil, false
		}
		if found, err := sensitive.ParsePath(text.ValueString()); err == nil { // it was validated
			paths = append(paths, found)
		}
	}
	return paths, true
}

// Hides reports whether sensitive_fields selects a field. known is false if sensitive_fields is not known.
func (c *Common) Hides(names ...string) (hides, known bool) {
	paths, known := c.sensitivePaths()
	return known && sensitive.Selects(paths, names...), known
}

// valuesIn returns the hidden values of an object in the first of several sensitive_values that contains it.
func valuesIn(key string, all []types.Map) sensitive.Values {
	for _, values := range all {
		text, _ := values.Elements()[key].(types.String) // null and unknown are no JSON
		if decoded, err := decodedValues(text.ValueString()); err == nil {
			return decoded
		}
	}
	return nil
}

// decodedValues decodes an element of sensitive_values.
func decodedValues(text string) (values sensitive.Values, err error) {
	err = json.Unmarshal([]byte(text), &values)
	return values, err
}

// unmatchedErrors reports paths that match no value: the values that they were to hide would be shown.
func (c *Common) unmatchedErrors(unmatched []int) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, i := range unmatched {
		element, _ := c.SensitiveFields.Elements()[i].(types.String)
		keys := slices.Sorted(maps.Keys(c.Manifests.Elements()))
		diags.AddAttributeError(path.Root("sensitive_fields").AtListIndex(i), "No value at the path",
			fmt.Sprintf("None of these objects has a value at %s: %s.\n\nNext step: Correct the path. To see the "+
				"fields of the objects, plan without it and with values that are not sensitive.", element.ValueString(),
				strings.Join(keys, ", ")))
	}
	return diags
}

// concealer conceals the models of one apply.
type concealer[M any] struct {
	plan           *M
	planned, prior types.Map // sensitive_values of the plan and of the prior state
}

// concealed returns a copy of a model without hidden values. Their revisions are those of the plan.
func (c concealer[M]) concealed(model *M) (*M, diag.Diagnostics) {
	out, before := *model, []types.Map{c.planned, c.prior}
	if model != c.plan {
		before = []types.Map{c.prior}
	}
	_, diags := commonOf(&out).conceal(before...)
	return &out, diags
}

// mask hides the values of the plan, which may have been completed since, and those of the prior state.
func (c concealer[M]) mask(diags diag.Diagnostics) diag.Diagnostics {
	final := *commonOf(c.plan)
	_, _ = final.conceal() // an object that cannot be decoded was not rendered
	return mask(diags, c.planned, c.prior, final.SensitiveValues)
}

// mask replaces the hidden values of models in the text of diagnostics.
func mask(diags diag.Diagnostics, hidden ...types.Map) diag.Diagnostics {
	var values [][]byte
	for _, objects := range hidden {
		for _, text := range tf.Texts(objects) {
			decoded, _ := decodedValues(text) // what is invalid is reported elsewhere
			for _, value := range decoded {
				var shown string
				if json.Unmarshal(value.JSON, &shown) == nil {
					values = append(values, []byte(shown))
				}
			}
		}
	}
	if len(values) == 0 {
		return diags
	}
	masker := kube.NewMasker(values)
	masked := make(diag.Diagnostics, 0, len(diags))
	for _, d := range diags {
		var out diag.Diagnostic = diag.NewErrorDiagnostic(masker.Mask(d.Summary()), masker.Mask(d.Detail()))
		if d.Severity() == diag.SeverityWarning {
			out = diag.NewWarningDiagnostic(out.Summary(), out.Detail())
		}
		if at, ok := d.(diag.DiagnosticWithPath); ok {
			out = diag.WithPath(at.Path(), out)
		}
		masked = append(masked, out)
	}
	return masked
}
