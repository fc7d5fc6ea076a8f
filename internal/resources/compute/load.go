package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// loadModel has the names of Kubetorch's module pointers.
type loadModel struct {
	ModuleName   types.String         `tfsdk:"module_name"`
	ClsOrFnName  types.String         `tfsdk:"cls_or_fn_name"`
	FilePath     types.String         `tfsdk:"file_path"`
	CallableType types.String         `tfsdk:"callable_type"`
	InitArgs     jsontypes.Normalized `tfsdk:"init_args"`
}

func loadAttribute() schema.Attribute {
	name := func(description string) schema.Attribute {
		return schema.StringAttribute{Required: true, MarkdownDescription: description,
			Validators: []validator.String{stringvalidator.LengthAtLeast(1)}}
	}
	return schema.SingleNestedAttribute{
		Optional: true, MarkdownDescription: "Function or class of the image that Kubetorch's server loads when it " +
			"starts, so that it serves calls without a client that sends code. Use it with `freeze`. Changing this " +
			"restarts the pods.",
		Attributes: map[string]schema.Attribute{
			"module_name":    name("Name of the Python module, such as `train`."),
			"cls_or_fn_name": name("Name of the function or class in the module."),
			"file_path": optionalText("Directory that contains the module, such as `/app`. Not required if the " +
				"module is installed, or is in `working_dir`."),
			"callable_type": optionalText("Type of the callable, `fn` or `cls`. Defaults to `fn`.",
				stringvalidator.OneOf("fn", "cls")),
			"init_args": schema.StringAttribute{
				Optional: true, CustomType: jsontypes.NormalizedType{}, Validators: []validator.String{tf.JSONObject()},
				MarkdownDescription: "Keyword arguments of the constructor of a class as JSON, such as " +
					"`jsonencode({ model = \"llama\" })`.",
			},
		},
	}
}

// load is unobserved: an import has the environment that it sets in env_vars.
func load() row {
	return custom("load", kubetorchPods, func(m *model) *types.Object { return &m.Load },
		func(c *converter, m *model, out *manifest.Compute) {
			if m.Load.IsNull() {
				return
			}
			object := decodeObject[loadModel](c, m.Load)
			out.Load = &manifest.Load{ModuleName: object.ModuleName.ValueString(),
				Name: object.ClsOrFnName.ValueString(), FilePath: object.FilePath.ValueString(),
				Type:     object.CallableType.ValueString(),
				InitArgs: c.decodeTemplate(object.InitArgs.StringValue)}
		})
}
