package tf

import (
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Configs stores the configurations of resources between their validation and
// their plan. Before a plan, Terraform replaces the attributes in
// lifecycle.ignore_changes by their values in state. It validates the unchanged
// configuration with the same provider immediately before that
// (node_resource_abstract_instance.go in internal/terraform of Terraform and in
// internal/tofu of OpenTofu).
type Configs struct{ byID sync.Map }

// Store stores the configuration of the resource with the given id.
func (c *Configs) Store(id string, config tftypes.Value) { c.byID.Store(id, config) }

// Pop returns the last stored configuration, and removes it.
func (c *Configs) Pop(id string) (config tftypes.Value, ok bool) {
	value, found := c.byID.LoadAndDelete(id)
	config, ok = value.(tftypes.Value)
	return config, found && ok
}
