// Package volume implements the resource kt_volume.
package volume

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// hooks are the part of the life cycle that is specific to volumes.
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

// resourceKind describes the resource, with the default timeouts of its operations. They end waits for the cluster.
func resourceKind() lifecycle.Kind {
	return lifecycle.Kind{
		Type: "kt_volume", Noun: "volume", Example: "datasets",
		Description: description, Attributes: attributes,
		Apply:  10 * time.Minute, // cloud file systems take minutes to create
		Delete: 5 * time.Minute,
		Moves:  func(of schema.GroupKind) bool { return of == kind.PersistentVolumeClaim().GroupKind() },
	}
}

// privateState is what the provider remembers of a volume.
type privateState struct {
	// Waiting is true if the last wait did not complete. The next apply then waits again.
	Waiting bool `json:"waiting,omitempty"`
	// Protected is a copy of deletion_protection for the plan of a replacement, which does not get the state.
	Protected bool `json:"protected,omitempty"`
	// Imported is true if the volume was imported and not updated since.
	Imported bool `json:"imported,omitempty"`
	// Empty is true if the plan replaces the claim because it is not bound and therefore contains no data. If it has
	// been bound since, its deletion was not requested.
	Empty bool `json:"empty,omitempty"`
}

// NewLister returns the list resource, for the claims of all clients, except those that a controller owns.
func NewLister() list.ListResource {
	return lifecycle.ListItems[model](resourceKind(), hooks{}, "volumes", kind.PersistentVolumeClaim(), "",
		func(*unstructured.Unstructured) bool { return true }, item)
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	seen := claim.Observe(live)
	return lifecycle.ItemOf(kind.PersistentVolumeClaim(), live, seen.Size.String(),
		kind.TextAt(live.Object, "status", "phase"),
		lifecycle.Property("username", live.GetLabels()[kind.UsernameLabel]))
}
