package tf

import (
	"bytes"
	"sync"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Configs stores the configurations of resources between their validation and their plan. Before a plan, Terraform
// replaces the attributes in lifecycle.ignore_changes by their values in state. It validates the unchanged
// configuration with the same provider immediately before that (node_resource_abstract_instance.go in
// internal/terraform of Terraform and in internal/tofu of OpenTofu).
type Configs struct{ byID sync.Map }

// Store stores the configuration of the resource with the given id.
func (c *Configs) Store(id string, config *tfprotov6.DynamicValue) { c.byID.Store(id, config) }

// Is reports whether the last stored configuration is config.
func (c *Configs) Is(id string, config *tfprotov6.DynamicValue) bool {
	stored, ok := c.Get(id)
	return ok && bytes.Equal(stored.MsgPack, config.MsgPack) && bytes.Equal(stored.JSON, config.JSON)
}

// Get returns the last stored configuration.
func (c *Configs) Get(id string) (config *tfprotov6.DynamicValue, ok bool) {
	value, _ := c.byID.Load(id)
	config, ok = value.(*tfprotov6.DynamicValue)
	return config, ok
}

// Delete removes the configuration.
func (c *Configs) Delete(id string) { c.byID.Delete(id) }

// ConfigID returns the id of a configuration. A namespace that it omits is empty.
func ConfigID(resourceType, namespace, name string) string {
	return resourceType + " " + namespace + "/" + name
}
