package tf

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ComputedString returns a string that only the provider sets.
func ComputedString(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// RequiredText returns a required string.
func RequiredText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: validators}
}

// OptionalText returns an optional string.
func OptionalText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// OptionalQuantity returns an optional quantity.
func OptionalQuantity(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: QuantityType{},
		PlanModifiers: []planmodifier.String{KeepSameQuantity()}, MarkdownDescription: description}
}

// Toggle returns an optional boolean with the default false.
func Toggle(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, Computed: true, Default: booldefault.StaticBool(false),
		MarkdownDescription: description}
}

// LabelsAttribute returns the attribute labels of a resource. The noun is that of the labelled object, with its
// article.
func LabelsAttribute(noun string) schema.MapAttribute {
	return LabelMap("Labels of " + noun + ", merged with the provider's `default_labels`, which they override.")
}

// LabelMap returns an optional map of labels.
func LabelMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: Labels(),
		MarkdownDescription: description}
}

// AnnotationsAttribute is like LabelsAttribute, but returns the attribute annotations.
func AnnotationsAttribute(noun string) schema.MapAttribute {
	return AnnotationMap("Annotations of " + noun + ", merged with the provider's `default_annotations`, which they " +
		"override.")
}

// AnnotationMap returns an optional map of annotations.
func AnnotationMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType,
		Validators: []validator.Map{NoNulls(), mapvalidator.KeysAre(LabelKey())}, MarkdownDescription: description}
}

// ManifestsAttribute returns the attribute manifests.
func ManifestsAttribute(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}
