package tf

import (
	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Attributes are the attributes of a schema or of a nested object. The framework has a package of attributes for each
// kind of schema, with equal interfaces. Those of resources, which these functions return, are used in all schemas.
// Other schemas ignore plan modifiers and defaults.
type Attributes = map[string]schema.Attribute

// ComputedString returns a string that only the provider sets.
func ComputedString(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedInteger returns an integer that only the provider sets.
func ComputedInteger(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

// ComputedNumber returns a number that only the provider sets.
func ComputedNumber(description string) schema.Float64Attribute {
	return schema.Float64Attribute{Computed: true, MarkdownDescription: description}
}

// ComputedBool returns a boolean that only the provider sets.
func ComputedBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Computed: true, MarkdownDescription: description}
}

// ComputedTextMap returns a map of strings that only the provider sets.
func ComputedTextMap(description string) schema.MapAttribute {
	return schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

// ComputedObjects returns a list of objects that only the provider sets.
func ComputedObjects(description string, attributes Attributes) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes}}
}

// ComputedObject returns an object that only the provider sets.
func ComputedObject(description string, attributes Attributes) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Computed: true, MarkdownDescription: description, Attributes: attributes}
}

// OptionalObject returns an optional object.
func OptionalObject(description string, attributes Attributes) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Optional: true, MarkdownDescription: description, Attributes: attributes}
}

// RequiredObject returns a required object.
func RequiredObject(description string, attributes Attributes) schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{Required: true, MarkdownDescription: description, Attributes: attributes}
}

// RequiredText returns a required string.
func RequiredText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, MarkdownDescription: description, Validators: validators}
}

// OptionalText returns an optional string.
func OptionalText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
}

// OptionalSecret returns an optional string that Terraform does not show.
func OptionalSecret(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: description}
}

// OptionalComputedText returns an optional string that the provider sets if the configuration does not.
func OptionalComputedText(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: description,
		Validators: validators}
}

// TextWithDefault returns an optional string with a default.
func TextWithDefault(text, description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString(text),
		MarkdownDescription: description, Validators: validators}
}

// OptionalTexts returns an optional list of strings.
func OptionalTexts(description string, validators ...validator.List) schema.ListAttribute {
	return schema.ListAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: validators}
}

// RequiredTexts returns a required list of strings that is not empty, and none of which is null.
func RequiredTexts(description string, validators ...validator.List) schema.ListAttribute {
	return schema.ListAttribute{Required: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: append([]validator.List{listvalidator.SizeAtLeast(1), NoNulls()}, validators...)}
}

// OptionalTextMap returns an optional map of strings.
func OptionalTextMap(description string, validators ...validator.Map) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: description,
		Validators: validators}
}

// OptionalObjects returns an optional list of objects, none of which is null.
func OptionalObjects(
	description string, attributes map[string]schema.Attribute, validators ...validator.List,
) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Optional: true, MarkdownDescription: description,
		NestedObject: schema.NestedAttributeObject{Attributes: attributes}, Validators: append(validators, NoNulls())}
}

// OptionalJSON returns an optional text with JSON.
func OptionalJSON(description string, check validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: jsontypes.NormalizedType{},
		MarkdownDescription: description, Validators: []validator.String{check}}
}

// OptionalInteger returns an optional integer.
func OptionalInteger(description string, validators ...validator.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, CustomType: IntegerType{}, MarkdownDescription: description,
		Validators: validators}
}

// RequiredInteger returns a required integer.
func RequiredInteger(description string, validators ...validator.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Required: true, CustomType: IntegerType{}, MarkdownDescription: description,
		Validators: validators}
}

// OptionalComputedInteger returns an optional integer that the provider sets if the configuration does not.
func OptionalComputedInteger(description string, validators ...validator.Int64) schema.Int64Attribute {
	return schema.Int64Attribute{Optional: true, Computed: true, CustomType: IntegerType{},
		MarkdownDescription: description, Validators: validators}
}

// OptionalBool returns an optional boolean without a default.
func OptionalBool(description string) schema.BoolAttribute {
	return schema.BoolAttribute{Optional: true, MarkdownDescription: description}
}

// RequiredQuantity returns a required quantity.
func RequiredQuantity(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Required: true, CustomType: QuantityType{}, Validators: validators,
		PlanModifiers: []planmodifier.String{KeepSameQuantity()}, MarkdownDescription: description}
}

// OptionalDuration returns an optional duration.
func OptionalDuration(description string) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: DurationType{},
		PlanModifiers: []planmodifier.String{KeepSameDuration()}, MarkdownDescription: description}
}

// OptionalQuantity returns an optional quantity.
func OptionalQuantity(description string, validators ...validator.String) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, CustomType: QuantityType{}, Validators: validators,
		PlanModifiers: []planmodifier.String{KeepSameQuantity()}, MarkdownDescription: description}
}

// OptionalQuantities returns an optional map of quantities.
func OptionalQuantities(description string) schema.MapAttribute {
	return schema.MapAttribute{Optional: true, ElementType: QuantityType{}, MarkdownDescription: description,
		PlanModifiers: []planmodifier.Map{KeepSameQuantities()},
		Validators: []validator.Map{NoNulls(), mapvalidator.SizeAtLeast(1), mapvalidator.ValueStringsAre(
			check("a quantity such as 500m, 2 or 4Gi", "Invalid quantity", quantity{}.Check))}}
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
	return OptionalTextMap(description, Labels()...)
}

// AnnotationsAttribute is like LabelsAttribute, but returns the attribute annotations.
func AnnotationsAttribute(noun string) schema.MapAttribute {
	return AnnotationMap("Annotations of " + noun + ", merged with the provider's `default_annotations`, which they " +
		"override.")
}

// AnnotationMap returns an optional map of annotations.
func AnnotationMap(description string) schema.MapAttribute {
	return OptionalTextMap(description, NoNulls(), mapvalidator.KeysAre(LabelKey()))
}

// TolerationAttributes returns the attributes of a toleration.
func TolerationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key": OptionalText("Key of the taint. If not set, with `Exists`, all taints are tolerated.", LabelKey()),
		"operator": OptionalText("Operator, `Equal` or `Exists`. Kubernetes defaults to `Equal`.",
			stringvalidator.OneOf("Exists", "Equal")),
		"value": OptionalText("Value of the taint, for `Equal`.", LabelValue()),
		"effect": OptionalText("Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. If not set, all "+
			"effects are tolerated.", TaintEffect()),
		"toleration_seconds": OptionalInteger("Number of seconds for which a `NoExecute` taint is tolerated."),
	}
}

// TaintEffect requires the effect of a taint.
func TaintEffect() validator.String {
	return stringvalidator.OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")
}
