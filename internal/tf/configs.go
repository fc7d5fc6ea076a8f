package tf

import (
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Configs keeps the configurations of resources between their validation and their
// plan. Before it plans, Terraform puts the values of state in the place of what
// lifecycle.ignore_changes names; it validates the configuration as it is written,
// by the same provider, right before that (Terraform's and OpenTofu's
// internal/terraform or internal/tofu, node_resource_abstract_instance.go).
type Configs struct{ byID sync.Map }

// Note keeps the configuration of the resource that is known by id.
func (c *Configs) Note(id string, config tftypes.Value) { c.byID.Store(id, config) }

// Take returns the configuration that was noted last, and forgets it.
func (c *Configs) Take(id string) (config tftypes.Value, ok bool) {
	value, found := c.byID.LoadAndDelete(id)
	config, ok = value.(tftypes.Value)
	return config, found && ok
}
