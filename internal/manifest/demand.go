package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	podresources "k8s.io/component-helpers/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Demand returns the number of pods of a rendered workload, and the sum of their
// requests. The requests of a pod are those that the scheduler uses: with init
// containers and overhead, and the limit if there is no request. podTemplate is the
// path of the pod template of a kind that is not in the table.
func Demand(workload *unstructured.Unstructured, podTemplate ...string) (pods int64, requests corev1.ResourceList) {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	requests = corev1.ResourceList{}
	if k.RunsTensorServer() {
		return tensorServerDemand(workload.Object)
	}
	for _, g := range k.Groups(workload.Object) {
		content, _ := kind.Find(workload.Object, g.Template)
		template, _ := content.(map[string]any)
		var pod corev1.Pod // a template is a pod without apiVersion and kind
		if runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod) != nil {
			continue
		}
		number := g.Count(workload.Object)
		pods += number
		for name, each := range podresources.PodRequests(withLimits(&pod), podresources.PodResourcesOptions{}) {
			all := requests[name]
			all.Add(times(each, number))
			requests[name] = all
		}
	}
	return pods, requests
}

// withLimits adds the requests that the API server sets from limits.
func withLimits(pod *corev1.Pod) *corev1.Pod {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			needs := &containers[i].Resources
			for name, limit := range needs.Limits {
				if _, given := needs.Requests[name]; given {
					continue
				}
				if needs.Requests == nil {
					needs.Requests = corev1.ResourceList{}
				}
				needs.Requests[name] = limit
			}
		}
	}
	return pod
}

func times(each resource.Quantity, number int64) resource.Quantity {
	product := each.DeepCopy()
	product.Mul(number)
	return product
}
