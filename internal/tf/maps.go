package tf

import (
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// TextOrNull returns a text as an attribute, and null for "".
func TextOrNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}

// Texts returns the entries of a map of texts that are known and not null.
func Texts(m types.Map) map[string]string {
	out := map[string]string{}
	for key, element := range m.Elements() {
		if text, ok := element.(types.String); ok && !text.IsNull() && !text.IsUnknown() {
			out[key] = text.ValueString()
		}
	}
	return out
}

// Configurable returns the labels or annotations that a configuration must contain: neither those that only the
// provider may set, nor its defaults.
func Configurable(all, defaults map[string]string, isReserved func(key string) bool) types.Map {
	out := manifest.Without(all, defaults)
	maps.DeleteFunc(out, func(key, _ string) bool { return isReserved(key) })
	return TextMapOrNull(out)
}

// RejectReserved reports labels or annotations that only the provider may set.
func RejectReserved(attribute string, configured types.Map, isReserved func(key string) bool) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, key := range slices.Sorted(maps.Keys(configured.Elements())) {
		if isReserved(key) {
			at := path.Root(attribute).AtMapKey(key)
			diags.AddAttributeError(at, "Reserved key", at.String()+" is set by the provider.\n\nNext step: Remove it.")
		}
	}
	return diags
}

// TextMap returns a map of texts as an attribute.
func TextMap(texts map[string]string) types.Map {
	elements := make(map[string]attr.Value, len(texts))
	for key, text := range texts {
		elements[key] = types.StringValue(text)
	}
	return types.MapValueMust(types.StringType, elements)
}

// TextMapOrNull returns a map of texts as an attribute, and null for an empty map.
func TextMapOrNull(texts map[string]string) types.Map {
	if len(texts) == 0 {
		return types.MapNull(types.StringType)
	}
	return TextMap(texts)
}

// SetChangedEntries updates labels or annotations with the differences between two observations of an object: the
// configured ones, and new ones. Those from the defaults of the provider appear only in manifests.
func SetChangedEntries(attribute *types.Map, before, after map[string]string) {
	entries := Texts(*attribute)
	prior := maps.Clone(entries)
	for key, value := range after {
		old, existed := before[key]
		if _, configured := entries[key]; !existed || (configured && old != value) {
			entries[key] = value
		}
	}
	maps.DeleteFunc(entries, func(key, _ string) bool {
		_, existed := before[key]
		_, exists := after[key]
		return existed && !exists
	})
	if !maps.Equal(prior, entries) {
		*attribute = TextMapOrNull(entries)
	}
}

// CurrentEntries returns the configured labels or annotations with the changes between two observations. Others appear
// only in manifests.
func CurrentEntries(attribute types.Map, before, after map[string]string) types.Map {
	known := maps.Clone(after)
	maps.DeleteFunc(known, func(key, _ string) bool {
		_, existed := before[key]
		return !existed
	})
	SetChangedEntries(&attribute, before, known)
	return attribute
}
