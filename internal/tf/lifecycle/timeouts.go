package lifecycle

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

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
