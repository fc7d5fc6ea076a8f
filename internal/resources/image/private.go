package image

import "github.com/ktdev/terraform-provider-kt/internal/registry"

// privateState is the private state of an image.
//
// A refresh requests the digest from the registry, and the plan uses this digest. During an apply, Terraform plans
// again without a refresh, and must get the same digest even if the tag was moved in the meantime.
type privateState struct {
	// Reference is the image that was last pinned, and Pin its last known digest.
	Reference string       `json:"reference,omitempty"`
	Pin       registry.Pin `json:"pin,omitzero"`
	// Terminating is true if the ConfigMap was being deleted at the last refresh.
	Terminating bool `json:"ending,omitempty"`
	// Imported is true if the ConfigMap was imported and not applied since.
	Imported bool `json:"imported,omitempty"`
}
