package manifest

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Inventory is a summary of the pods of a workload of any client.
type Inventory struct {
	// Pods is the requested number of pods, which is zero for a suspended workload with a number of pods.
	Pods int64
	// GPUs is the number of GPUs that these pods request, of any vendor.
	GPUs int64
	// UsesGPUs reports whether a pod requests GPUs, or a share of one, also if no pods are requested.
	UsesGPUs bool
	// Suspended reports whether a field suspends the workload.
	Suspended bool

	templates []corev1.Pod
}

// InventoryOf returns the summary of a workload of a kind in the table.
func InventoryOf(workload *unstructured.Unstructured) Inventory {
	inventory := Inventory{Suspended: Observe(workload).Suspend}
	for _, d := range Demands(workload) {
		each := accelerators(d.Requests)
		inventory.Pods += d.Pods
		inventory.GPUs += each * d.Pods
		_, shares := d.template.Annotations[kind.GPUMemoryAnnotation]
		inventory.UsesGPUs = inventory.UsesGPUs || each > 0 || shares
		inventory.templates = append(inventory.templates, d.template)
	}
	return inventory
}

// Selects reports whether the pods run only on nodes with a label.
func (i Inventory) Selects(label NodeLabel) bool {
	return slices.ContainsFunc(i.templates, func(template corev1.Pod) bool {
		return template.Spec.NodeSelector[label.Key] == label.Value || requires(template.Spec.Affinity, label)
	})
}

// Labels returns the labels of the first pod template, or nil.
func (i Inventory) Labels() map[string]string {
	if len(i.templates) == 0 {
		return nil
	}
	return i.templates[0].Labels
}

// GPUType returns the value of the label with the GPU product that the pods select, or "".
func (i Inventory) GPUType() string {
	for _, template := range i.templates {
		if product := template.Spec.NodeSelector[kind.GPUProductLabel]; product != "" {
			return product
		}
	}
	return ""
}

// requires reports whether an affinity admits only nodes with a label.
func requires(affinity *corev1.Affinity, label NodeLabel) bool {
	terms := kind.RequiredNodeTerms(affinity)
	admitsOthers := func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == label.Key && r.Operator == corev1.NodeSelectorOpIn &&
				slices.Equal(r.Values, []string{label.Value})
		})
	}
	return len(terms) > 0 && !slices.ContainsFunc(terms, admitsOthers)
}

func accelerators(requests corev1.ResourceList) int64 {
	var sum int64
	for name, quantity := range requests {
		if kind.IsAccelerator(string(name)) {
			sum += quantity.Value()
		}
	}
	return sum
}

// OfKubetorch reports whether an object has labels of Kubetorch, which its clients and this provider set.
func OfKubetorch(obj *unstructured.Unstructured) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(obj.GetLabels())),
		func(label string) bool { return strings.HasPrefix(label, kind.KubetorchGroup+"/") })
}

// ReadyPods returns the number of ready pods in the status of a workload, by the fields that most kinds use.
func ReadyPods(workload *unstructured.Unstructured) int64 {
	var most int64
	for _, field := range []string{"readyReplicas", "numberReady", "ready", "active"} {
		if n, ok := kind.NumberAt(workload.Object, []string{"status", field}); ok {
			most = max(most, n)
		}
	}
	return most
}

// IsReadyPod reports whether a pod has the condition Ready.
func IsReadyPod(pod *unstructured.Unstructured) bool {
	return slices.ContainsFunc(kind.ListAt(pod.Object, "status", "conditions"), func(condition map[string]any) bool {
		return condition["type"] == string(corev1.PodReady) && condition["status"] == string(corev1.ConditionTrue)
	})
}
