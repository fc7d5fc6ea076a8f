package image

import (
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// model is one kt_image. Collections are Terraform values, because any of them may be unknown in a plan.
type model struct {
	lifecycle.Common

	ImageID    types.String `tfsdk:"image_id"`
	Base       types.String `tfsdk:"base"`
	PythonPath types.String `tfsdk:"python_path"`
	InstallCmd types.String `tfsdk:"install_cmd"`
	Dockerfile types.String `tfsdk:"dockerfile"`
	Steps      types.List   `tfsdk:"steps"`
	PinDigest  types.Bool   `tfsdk:"pin_digest"`

	Labels      types.Map `tfsdk:"labels"`
	Annotations types.Map `tfsdk:"annotations"`

	Image              types.String `tfsdk:"image"`
	Digest             types.String `tfsdk:"digest"`
	RenderedDockerfile types.String `tfsdk:"rendered_dockerfile"`
	Ref                types.Object `tfsdk:"ref"`
}

func setupTypes() map[string]attr.Type {
	return map[string]attr.Type{
		"config_map": types.StringType, "digest": types.StringType,
		"python_path": types.StringType, "install_cmd": types.StringType,
	}
}

func refTypes() map[string]attr.Type {
	return map[string]attr.Type{"image": types.StringType, "setup": types.ObjectType{AttrTypes: setupTypes()}}
}
