package manifest

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Observe returns the attributes for a workload. It is the inverse of Render, except
// that the fields of a service_template or manifest, and the defaults of the
// provider, cannot be distinguished from those of other attributes. Fields that the
// workload lacks are zero. podTemplate is the path of the pod template of a kind
// that is not in the table.
//
// Replicas is the number of all pods, or zero for a kind whose number cannot be set.
// The workers of a RayCluster are in Distribute too.
func Observe(workload *unstructured.Unstructured, podTemplate ...string) Compute {
	c := Compute{
		Name: workload.GetName(), Namespace: workload.GetNamespace(),
		Username: workload.GetLabels()[kind.UsernameLabel],
	}
	observeMetadata(&c, workload)
	k, known := kindOfObject(workload.GroupVersionKind(), podTemplate)
	if !known && len(podTemplate) == 0 {
		return c
	}
	groups := k.Groups(workload.Object)
	observeScale(&c, k, groups, workload.Object)
	if k.RunsTensorServer() {
		c.Runtime = k.Server.Runtime
		observeTensorServer(&c, workload.Object)
	}
	if len(groups) == 0 {
		return c
	}
	main := kind.FieldsAt(workload.Object, groups[0].Template...)
	var template corev1.PodTemplateSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(main, &template) != nil {
		return c // the template has an invalid field, which the attribute manifests shows
	}
	c.PodLabels = withoutIdentity(Without(template.Labels, workload.GetLabels()), c.Name)
	observePod(&c, template.Spec)
	observeOthers(&c, k, template.Spec)
	for _, container := range template.Spec.Containers {
		if container.Name == k.Container {
			observeContainer(&c, container)
			if !k.OwnService { // otherwise, these attributes are not supported: see validateKnative
				_, c.Ports = observeContainerPorts(container.Ports)
				observeProbes(&c, container)
			}
			observeMounts(&c, container, template)
		}
	}
	return c
}

// observeScale reads the number of pods of a workload, or the settings of its
// autoscaler. A workload that is suspended by zero replicas is not reported as
// suspended as well.
func observeScale(c *Compute, k kind.Kind, groups []kind.Group, workload map[string]any) {
	if k.Scales {
		c.Replicas = kind.PodCount(workload, groups)
	}
	c.Strategy = kind.TextAt(workload, k.Strategy...)
	if k.Strategy != nil {
		c.MaxSurge = podCountAt(workload, kind.MaxSurge()...)
		c.MaxUnavailable = podCountAt(workload, kind.MaxUnavailable()...)
	}
	c.Suspend = IsSuspended(workload, k.Workload) && !suspendsByNumber(k.Workload)
	if k.Readiness == kind.OfJob {
		c.Job = observeJob(workload)
	}
	if k.Autoscales {
		c.Autoscale = observeAutoscale(workload)
	}
	if k.Distribution != "" {
		c.Distribute = &Distribute{Type: k.Distribution, Workers: c.Replicas}
		if version := kind.TextAt(workload, "spec", kind.RayVersionArg); version != "" {
			c.Distribute.Args = map[string]any{kind.RayVersionArg: version}
		}
	}
}

// ObserveRelated returns the attributes for another object of a compute than its workload: Endpoint, Ports, Service,
// DisruptionBudget, Autoscale or Expose. It is the inverse of Render. For the registration, see [ObserveRegistration].
func ObserveRelated(object *unstructured.Unstructured) Compute {
	switch RoleOf(object.GroupVersionKind()) {
	case RoleService:
		return Compute{Endpoint: ObserveEndpoint(object), Ports: observeServicePorts(object.Object),
			Service: observeService(object)}
	case RoleDisruptionBudget:
		return Compute{DisruptionBudget: &DisruptionBudget{
			MinAvailable:   podCountAt(object.Object, "spec", "minAvailable"),
			MaxUnavailable: podCountAt(object.Object, "spec", "maxUnavailable")}}
	case RoleAutoscaler:
		return Compute{Autoscale: observeAutoscaler(object)}
	case RoleExpose:
		return Compute{Expose: observeExpose(object)}
	default:
		return Compute{}
	}
}

// unlessDefault returns the attribute for a value of a field: zero, which is not set, for the default.
func unlessDefault[T comparable](value, standard T) (attribute T) {
	if value != standard {
		attribute = value
	}
	return attribute
}

// ObserveEndpoint returns the endpoint of a compute whose Service selects other
// pods than its own, such as existing pods. It returns nil if the Service selects
// its own pods or none, and for the headless Service.
func ObserveEndpoint(service *unstructured.Unstructured) *Endpoint {
	if service == nil {
		return nil
	}
	selector := kind.TextsAt(service.Object, "spec", "selector")
	if len(selector) == 0 || kind.TextAt(service.Object, "spec", "clusterIP") == corev1.ClusterIPNone {
		return nil
	}
	others := union(selector)
	maps.DeleteFunc(others, func(key, value string) bool {
		return slices.Contains(kind.RouteLabels(), key) || key == kind.ServiceLabel && value == service.GetName()
	})
	if len(others) == 0 && selector[kind.ServiceLabel] != "" {
		return nil
	}
	return &Endpoint{Selector: selector}
}
