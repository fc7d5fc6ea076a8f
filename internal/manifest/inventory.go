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

// HasReadyPods reports whether the status of a workload has ready pods, by the fields that most kinds use, or the
// condition Ready, which a Knative Service also has without pods.
func HasReadyPods(workload *unstructured.Unstructured) bool {
	return CountsReady(workload.Object["status"]) || kind.HasCondition(workload.Object, string(corev1.PodReady),
		"HeadPodReady") // of a RayCluster, whose number is that of the workers
}

// CountsReady reports whether a part of the status of a workload of any kind counts ready pods, or others in the fields
// of these names. Some kinds count pods by role, or by job.
func CountsReady(status any, others ...string) bool {
	switch status := status.(type) {
	case map[string]any:
		for field, value := range status {
			n, _ := kind.Number(value).(int64)
			jobs, _ := value.([]any) // of a CronJob
			isCount := slices.Contains(others, field) || slices.Contains(
				[]string{"readyReplicas", "readyWorkerReplicas", "numberReady", "ready", "active"}, field)
			if isCount && (n > 0 || len(jobs) > 0) || CountsReady(value, others...) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(status, func(item any) bool { return CountsReady(item, others...) })
	}
	return false
}
