package tf

import "sync"

// Holds contains the resources that must not be destroyed in this run, because an action before their destruction
// failed. A failed action does not prevent `terraform destroy` from destroying a resource
// (node_resource_abstract_instance.go in internal/terraform of Terraform 1.16, invokeDestroyActions), so the provider
// does. The zero value has none. It is safe for concurrent use.
type Holds struct{ reasons sync.Map }

// Add prevents the destruction of a resource.
func (h *Holds) Add(resourceType, id, reason string) { h.reasons.Store(resourceType+" "+id, reason) }

// Remove allows the destruction of a resource again.
func (h *Holds) Remove(resourceType, id string) { h.reasons.Delete(resourceType + " " + id) }

// Reason returns why a resource must not be destroyed, or "".
func (h *Holds) Reason(resourceType, id string) string {
	value, _ := h.reasons.Load(resourceType + " " + id)
	reason, _ := value.(string)
	return reason
}
