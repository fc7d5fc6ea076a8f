package manifest

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// LogLevelVariable is the environment variable that holds the log level.
const LogLevelVariable = logLevelEnv

// Observe reads a workload back into the attributes that render it, as far as
// it shows them. It is the inverse of Render for what a workload says plainly:
// a service_template or manifest has melted into the rest, and the provider's
// defaults are not told from the compute's own attributes. What the workload
// lacks stays zero. podTemplate is where the pods of a kind are that the
// provider does not know.
//
// Replicas is the number of all pods, zero in modes without (see HasReplicas).
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
	content, _ := kind.Find(workload.Object, groups[0].Template)
	main, _ := content.(map[string]any)
	var template corev1.PodTemplateSpec
	if runtime.DefaultUnstructuredConverter.FromUnstructured(main, &template) != nil {
		return c // somebody put in what no pod has; manifests shows it all the same
	}
	observePod(&c, template.Spec)
	for _, container := range template.Spec.Containers {
		if container.Name == k.Container {
			observeContainer(&c, container)
			observeMounts(&c, container, template)
		}
	}
	return c
}

// observeScale reads how many pods a workload has, and who decides that. No
// replicas are as good as suspended, so that Suspend does not say so again.
func observeScale(c *Compute, k kind.Kind, groups []kind.Group, workload map[string]any) {
	if k.Scales {
		c.Replicas = kind.PodCount(workload, groups)
	}
	c.Suspend = len(k.Suspension) > 0 && !slices.ContainsFunc(k.Suspension, func(s kind.Setting) bool {
		value, _ := kind.Find(workload, s.Path)
		return value != s.Value || value == int64(0)
	})
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

// ObserveEndpoint reads back from the Service of a compute which other pods than
// its own it selects, nil where it selects these or says nothing, and of the
// headless Service. Those of a compute whose pods exist already are others.
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
