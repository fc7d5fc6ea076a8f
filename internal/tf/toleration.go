package tf

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

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
