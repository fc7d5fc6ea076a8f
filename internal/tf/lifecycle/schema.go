package lifecycle

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// WithCommon adds the attributes that resources describe in the same words to those of a resource. noun names the
// resource, objects what manifests contains, and example is a path of a field.
func WithCommon(resource map[string]schema.Attribute, noun, objects, example string) map[string]schema.Attribute {
	all := map[string]schema.Attribute{
		"labels":      tf.LabelsAttribute(objects),
		"annotations": tf.AnnotationsAttribute(objects),
		"deletion_protection": tf.Toggle("Whether to prevent the deletion and replacement of the " + noun +
			", until this is set to `false` and applied. Defaults to `false`."),
		"id":  tf.ComputedString("ID of the " + noun + ", as `namespace/name`."),
		"uid": tf.ComputedString("UID of " + objects + "."),
		"sensitive_fields": tf.OptionalTexts("Paths of fields of "+objects+" whose values `manifests`, warnings and "+
			"errors do not show, such as `"+example+"`. `[0]` selects a list item by its position, `[\"NAME\"]` by "+
			"its field `name`, and `[*]` all of them. The path of an object or a list selects all values in it. Must "+
			"match at least one value.", listvalidator.ValueStringsAre(tf.SensitivePath())),
		"sensitive_values": schema.MapAttribute{
			Computed: true, Sensitive: true, ElementType: types.StringType,
			MarkdownDescription: "Values of `sensitive_fields`, as JSON by `Kind/namespace/name`. In `manifests`, " +
				"`(sensitive 1)` stands for such a value. The number counts its changes.",
		},
	}
	maps.Copy(all, resource)
	return all
}

// TimeoutsAttribute returns the attribute timeouts with a description of each operation. Unlike [timeouts.Attributes],
// its validators name the attribute and reject zero and negative durations.
func TimeoutsAttribute(create, update, del string) schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "Timeouts of complete operations, as durations such as `90s` or `1h30m`.",
		CustomType: timeouts.Type{ObjectType: types.ObjectType{AttrTypes: map[string]attr.Type{
			"create": types.StringType, "update": types.StringType, "delete": types.StringType,
		}}},
		Attributes: map[string]schema.Attribute{
			"create": tf.OptionalText(create, tf.Timeout()), "update": tf.OptionalText(update, tf.Timeout()),
			"delete": tf.OptionalText(del, tf.Timeout()),
		},
	}
}
