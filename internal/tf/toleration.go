package tf

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Toleration is an item of an attribute with tolerations.
type Toleration struct {
	Key               types.String `tfsdk:"key"`
	Operator          types.String `tfsdk:"operator"`
	Value             types.String `tfsdk:"value"`
	Effect            types.String `tfsdk:"effect"`
	TolerationSeconds types.Int64  `tfsdk:"toleration_seconds"`
}

// TolerationAttributes returns the attributes of [Toleration].
func TolerationAttributes() map[string]schema.Attribute {
	text := func(description string, validators ...validator.String) schema.Attribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: validators}
	}
	return map[string]schema.Attribute{
		"key": text("Key of the taint. If not set, with `Exists`, all taints are tolerated.", LabelKey()),
		"operator": text("Operator, `Equal` or `Exists`. Kubernetes defaults to `Equal`.",
			stringvalidator.OneOf("Exists", "Equal")),
		"value": text("Value of the taint, for `Equal`.", LabelValue()),
		"effect": text("Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. If not set, all effects "+
			"are tolerated.", TaintEffect()),
		"toleration_seconds": schema.Int64Attribute{Optional: true, CustomType: IntegerType{},
			MarkdownDescription: "Number of seconds for which a `NoExecute` taint is tolerated."},
	}
}

// TaintEffect requires the effect of a taint.
func TaintEffect() validator.String {
	return stringvalidator.OneOf("NoSchedule", "PreferNoSchedule", "NoExecute")
}

// Decode converts the item to the input of a renderer.
func (t Toleration) Decode() manifest.Toleration {
	return manifest.Toleration{
		Key: t.Key.ValueString(), Operator: t.Operator.ValueString(), Value: t.Value.ValueString(),
		Effect: t.Effect.ValueString(), TolerationSeconds: t.TolerationSeconds.ValueInt64Pointer(),
	}
}

// TolerationOf is the inverse of [Toleration.Decode].
func TolerationOf(t manifest.Toleration) Toleration {
	return Toleration{
		Key: TextOrNull(t.Key), Operator: TextOrNull(t.Operator), Value: TextOrNull(t.Value),
		Effect: TextOrNull(t.Effect), TolerationSeconds: types.Int64PointerValue(t.TolerationSeconds),
	}
}
