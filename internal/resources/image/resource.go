// Package image implements the resource kt_image.
package image

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/registry"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to images.
type hooks struct{}

type (
	reading  = lifecycle.Reading[model, privateState]
	planning = lifecycle.Planning[model, privateState]
	writing  = lifecycle.Writing[model, privateState]
	deleting = lifecycle.Deleting[model, privateState]
)

// New returns the resource.
func New() resource.Resource {
	return lifecycle.New[model](resourceKind(), hooks{})
}

// resourceKind describes the resource, with the default timeouts of its operations, which send only a few requests. A
// deletion also waits for finalizers.
func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: "kt_image", Noun: "image", Example: "torch", ObjectName: image.ConfigMapName,
		Description: description, Attributes: attributes,
		Apply: 5 * time.Minute, Delete: 5 * time.Minute,
	}
}

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

// privateState is the private state of an image.
//
// A refresh requests the digest from the registry, and the plan uses this digest. During an apply, Terraform plans
// again without a refresh, and must get the same digest even if the tag was moved in the meantime.
type privateState struct {
	// Reference is the image that was last pinned, and Pin its last known digest.
	Reference string       `json:"reference,omitempty"`
	Pin       registry.Pin `json:"pin,omitzero"`
	// Imported is true if the ConfigMap was imported and not applied since.
	Imported bool `json:"imported,omitempty"`
}

// NewLister returns the list resource, for the images of all states and clients.
func NewLister() list.ListResource {
	return lifecycle.ListItems[model](resourceKind(), hooks{}, "images", kind.ConfigMap(), image.ImageLabel, isNamed,
		item)
}

// isNamed reports whether a ConfigMap has the name of the image in its label.
func isNamed(live *unstructured.Unstructured) bool {
	return live.GetName() == image.ConfigMapName(live.GetLabels()[image.ImageLabel])
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	found := lifecycle.ItemOf(kind.ConfigMap(), live,
		lifecycle.Property("username", live.GetLabels()[kind.UsernameLabel]))
	found.Identity.Name = types.StringValue(live.GetLabels()[image.ImageLabel])
	return found
}
