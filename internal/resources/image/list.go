package image

import (
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

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
