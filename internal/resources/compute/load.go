package compute

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

func loadAttribute() schema.Attribute {
	return tf.OptionalObject("Function or class of the image that Kubetorch's server loads when it starts, so that "+
		"it serves calls without a client that sends code. Use it with `freeze`. Changing this restarts the pods.",
		map[string]schema.Attribute{
			"module_name": tf.RequiredText("Name of the Python module, such as `train`.",
				stringvalidator.LengthAtLeast(1)),
			"cls_or_fn_name": tf.RequiredText("Name of the function or class in the module.",
				stringvalidator.LengthAtLeast(1)),
			"file_path": tf.OptionalText("Directory that contains the module, such as `/app`. Not required if the " +
				"module is installed, or is in `working_dir`."),
			"callable_type": tf.OptionalText("Type of the callable, `fn` or `cls`. Defaults to `fn`.",
				stringvalidator.OneOf("fn", "cls")),
			"init_args": tf.OptionalJSON("Keyword arguments of the constructor of a class as JSON, such as "+
				"`jsonencode({ model = \"llama\" })`.", tf.JSONObject()),
		})
}
