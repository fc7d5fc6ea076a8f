package manifest

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// kindOf returns the kind that runs a compute.
func kindOf(c Compute) kind.Kind {
	if c.Manifest != nil {
		k, _ := kindOfObject(gvkOf(c.Manifest), c.PodTemplatePath)
		return k
	}
	return kind.Picked(kindInput(c))
}

// kindInput returns the properties of a compute that select its kind, and that the kind needs to render it.
func kindInput(c Compute) kind.Compute {
	replicas, attribute := requestedReplicas(c)
	view := kind.Compute{
		Name: c.Name, Runtime: c.Runtime, Autoscale: c.Autoscale.isKnative(), Selector: len(c.Selector) > 0,
		Job:      c.Job.spec(),
		Replicas: replicas, ReplicasGiven: attribute != nil, Strategy: c.Strategy, QueueLabels: queueLabels(c),
		Serves: c.runsOwnServer() && c.Port > 0 && c.Distribute == nil, GPUs: c.WantsGPU(),
		MaxSurge: c.MaxSurge, MaxUnavailable: c.MaxUnavailable,
	}
	if c.Autoscale != nil {
		view.Concurrency = c.Autoscale.Concurrency
	}
	if c.Distribute != nil {
		view.Distribution, view.DistributionArgs = c.Distribute.Type, c.Distribute.Args
	}
	if isDistributed(c) || c.runsManyPods() {
		view.Subdomain = kind.HeadlessName(c.Name)
	}
	return view
}

// kindOfObject returns the kind of a workload of any version, and whether it is in
// the table. Other kinds have their pod template at the path podTemplate.
func kindOfObject(gvk schema.GroupVersionKind, podTemplate []string) (k kind.Kind, known bool) {
	if k, ok := kind.Of(gvk.GroupKind()); ok && k.Workload != nil {
		return k, true
	}
	return customKind(gvk, podTemplate), false
}

func gvkOf(object map[string]any) schema.GroupVersionKind {
	return (&unstructured.Unstructured{Object: object}).GroupVersionKind()
}

// customKind returns a kind that is not in the table. Its number of pods can only
// be set in its manifest.
func customKind(gvk schema.GroupVersionKind, podTemplate []string) kind.Kind {
	name := strings.ToLower(gvk.Kind)
	mode := name
	if kind.OfMode(name).Mode != "" { // such as StatefulSet of another group
		mode += "." + gvk.Group
	}
	return kind.Kind{GroupVersionKind: gvk, Workload: &kind.Workload{
		Mode: mode, Template: name, Container: kind.ContainerName,
		Groups: func(map[string]any) []kind.Group { return []kind.Group{{Template: podTemplate}} },
	}}
}

// toMap converts a pointer to an apply configuration, or to a type of the Kubernetes
// API, to plain JSON, without the fields that are not set.
func toMap(typed any) map[string]any {
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(typed) // each value of these types has a JSON form
	return fields
}

// SpecOf returns the spec of an object, or nil if one of its fields has another type.
func SpecOf[T any](object map[string]any) *T {
	content, isMap := object["spec"].(map[string]any)
	spec := new(T)
	if !isMap && object["spec"] != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(content, spec) != nil {
		return nil
	}
	return spec
}
