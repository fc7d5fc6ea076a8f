package volume

import (
	"github.com/hashicorp/terraform-plugin-framework/list"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// NewLister returns the list resource, for the claims of all clients, except those that a controller owns.
func NewLister() list.ListResource {
	return lifecycle.ListItems[model](resourceKind(), hooks{}, "volumes", kind.PersistentVolumeClaim(), "",
		func(*unstructured.Unstructured) bool { return true }, item)
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	seen := claim.Observe(live)
	return lifecycle.ItemOf(kind.PersistentVolumeClaim(), live, seen.Size.String(), phase,
		lifecycle.Property("username", live.GetLabels()[kind.UsernameLabel]))
}
