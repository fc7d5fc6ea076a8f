package manifest

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// resources returns requests and limits. GPUs and extra resources have both, because the request and the limit of an
// extended resource must be equal
// (https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources).
func resources(c Compute) *corev1ac.ResourceRequirementsApplyConfiguration {
	requests, limits := requests(c), corev1.ResourceList{}
	for name, quantity := range c.Limits {
		limits[corev1.ResourceName(name)] = quantity.DeepCopy()
	}
	for name, quantity := range requests {
		if isExtended(string(name)) {
			limits[name] = quantity
		}
	}
	return corev1ac.ResourceRequirements().WithLimits(limits).WithRequests(requests)
}

func requests(c Compute) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, quantity := range map[corev1.ResourceName]*resource.Quantity{
		corev1.ResourceCPU: c.CPUs, corev1.ResourceMemory: c.Memory, corev1.ResourceEphemeralStorage: c.DiskSize,
	} {
		if quantity != nil {
			list[name] = quantity.DeepCopy()
		}
	}
	for name, quantity := range c.ExtendedResources {
		list[corev1.ResourceName(name)] = quantity.DeepCopy()
	}
	if c.GPUs > 0 {
		list[kind.GPUResource] = *resource.NewQuantity(c.GPUs, resource.DecimalSI)
	}
	return list
}

// isExtended reports whether a resource is one of a device plugin.
func isExtended(name string) bool {
	domain, _, found := strings.Cut(name, "/")
	return found && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// observeResources is the inverse of resources.
func observeResources(c *Compute, seen corev1.ResourceRequirements) {
	for name, into := range map[corev1.ResourceName]**resource.Quantity{
		corev1.ResourceCPU: &c.CPUs, corev1.ResourceMemory: &c.Memory, corev1.ResourceEphemeralStorage: &c.DiskSize,
	} {
		if quantity, ok := seen.Requests[name]; ok {
			*into = &quantity
		}
	}
	for _, list := range []corev1.ResourceList{seen.Limits, seen.Requests} { // of which one is sufficient
		for name, quantity := range list {
			switch {
			case name == kind.GPUResource:
				c.GPUs = quantity.Value()
			case isExtended(string(name)):
				c.ExtendedResources = withEntry(c.ExtendedResources, string(name), quantity)
			}
		}
	}
	for name, quantity := range seen.Limits {
		if !isExtended(string(name)) {
			c.Limits = withEntry(c.Limits, string(name), quantity)
		}
	}
	c.Tolerations = withoutImplied(c.Tolerations, *c)
}

// validateResources rejects resources that the API server refuses, or that another attribute sets.
func validateResources(c Compute, errs *Errors) {
	for _, name := range slices.Sorted(maps.Keys(c.Limits)) {
		at, limit := At("limits", Entry(name)), c.Limits[name]
		switch requested, asked := requests(c)[corev1.ResourceName(name)]; {
		case name == kind.GPUResource:
			errs.report(at, conflict, "%s limits GPUs, but their limit equals gpus: set gpus instead.", at)
		case isExtended(name):
			errs.report(at, conflict, "%s is an extended resource, whose limit equals its request: set it in "+
				"extended_resources instead.", at)
		case len(validation.IsQualifiedName(name)) > 0 || !isStandard(name):
			errs.report(at, "Unknown resource", "%s is not a resource that a container can limit: use cpu, memory, "+
				"ephemeral-storage or hugepages-<size>.", at)
		case name != string(corev1.ResourceCPU) && CheckBytes(limit) != nil:
			errs.report(at, "Invalid size", "%s %v.", at, CheckBytes(limit))
		case asked && requested.Cmp(limit) > 0:
			requestedBy := At(map[string]string{
				string(corev1.ResourceCPU): "cpus", string(corev1.ResourceMemory): "memory",
				string(corev1.ResourceEphemeralStorage): "disk_size",
			}[name])
			errs.report(at, "Limit below the request", "%s is %s, but %s requests %s: increase the limit, or decrease "+
				"the request.", at, limit.String(), requestedBy, requested.String()).Concerning(requestedBy)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.ExtendedResources)) {
		at, quantity := At("extended_resources", Entry(name)), c.ExtendedResources[name]
		switch {
		case name == kind.GPUResource:
			errs.report(at, conflict, "%s requests GPUs of NVIDIA: set gpus instead.", at)
		case !isExtended(name) || len(validation.IsQualifiedName(name)) > 0:
			errs.report(at, "Unknown resource", "%s is not an extended resource: use the name that its device plugin "+
				"advertises, with a domain, such as amd.com/gpu.", at)
		default:
			errs.Devices(at, name, &quantity)
		}
	}
}

// Devices rejects a quantity of an extended resource that is no integer, or one of GPUs with a unit of bytes, which
// Kubernetes takes for a number of devices. It ignores nil, and other resources: sgx.intel.com/epc counts bytes.
func (e *Errors) Devices(at Path, name string, q *resource.Quantity) {
	if q != nil && isExtended(name) && (q.MilliValue()%1000 != 0 || kind.IsGPU(name) && q.Format == resource.BinarySI) {
		e.report(at, "Invalid quantity", "%s is %s, but extended resources can only be requested as integers: set a "+
			"number of devices without a unit, such as \"4\".", at, q)
	}
}

// isStandard reports whether Kubernetes defines a resource of containers.
func isStandard(name string) bool {
	return slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory,
		corev1.ResourceEphemeralStorage}, corev1.ResourceName(name)) ||
		strings.HasPrefix(name, corev1.ResourceHugePagesPrefix)
}
