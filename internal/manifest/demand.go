package manifest

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	podresources "k8s.io/component-helpers/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// GroupDemand is the demand of the pods of a workload with the same template.
type GroupDemand struct {
	Pods         int64               // number of pods
	MaxPods      int64               // number of pods that an autoscaler may create; Pods without one
	Requests     corev1.ResourceList // of one pod, as the scheduler computes them
	NodeSelector map[string]string

	template corev1.Pod // without apiVersion and kind; empty for a tensor server
}

// Demand returns the number of pods of a rendered workload, and the sum of their
// requests. The requests of a pod are those that the scheduler uses: with init
// containers and overhead, and the limit if there is no request. podTemplate is the
// path of the pod template of a kind that is not in the table.
func Demand(workload *unstructured.Unstructured, podTemplate ...string) (pods int64, requests corev1.ResourceList) {
	requests = corev1.ResourceList{}
	for _, group := range Demands(workload, podTemplate...) {
		pods += group.Pods
		kind.AddRequests(requests, group.Requests, group.Pods)
	}
	return pods, requests
}

// Demands returns the demand of each group of pods of a rendered workload whose template can be decoded; see [Demand].
func Demands(workload *unstructured.Unstructured, podTemplate ...string) []GroupDemand {
	k, _ := kindOfObject(workload.GroupVersionKind(), podTemplate)
	if k.RunsTensorServer() {
		return tensorServerDemand(workload.Object)
	}
	var demands []GroupDemand
	for _, g := range k.Groups(workload.Object) {
		fields := kind.FieldsAt(workload.Object, g.Template...)
		var template corev1.Pod
		if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &template) != nil {
			continue
		}
		pods := g.Count(workload.Object)
		demands = append(demands, GroupDemand{
			Pods: pods, MaxPods: max(pods, maxScale(k, &template)), NodeSelector: template.Spec.NodeSelector,
			Requests: podresources.PodRequests(withLimits(&template), podresources.PodResourcesOptions{}),
			template: template,
		})
	}
	return demands
}

// ScaledDemands returns [Demands], with the maximum of an autoscaler of the workload that is one of the objects.
func ScaledDemands(
	workload *unstructured.Unstructured, objects map[string]*unstructured.Unstructured, podTemplate ...string,
) []GroupDemand {
	demands, number := Demands(workload, podTemplate...), kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Scale
	autoscaler := AutoscalerOf(workload, objects)
	if autoscaler == nil || len(number) == 0 {
		return demands
	}
	largest := workload.DeepCopy()
	kind.SetAt(largest.Object, number, maxReplicas(autoscaler.Object))
	for i, group := range Demands(largest, podTemplate...) {
		demands[i].MaxPods = max(demands[i].Pods, group.Pods)
	}
	return demands
}

// maxReplicas returns the maximum of a HorizontalPodAutoscaler or a ScaledObject.
func maxReplicas(autoscaler map[string]any) int64 {
	for _, field := range []string{"maxReplicas", "maxReplicaCount"} {
		if limit, ok := kind.NumberAt(autoscaler, []string{"spec", field}); ok {
			return limit
		}
	}
	return 100 // defaultHPAMaxReplicas in apis/keda/v1alpha1/scaledobject_types.go of github.com/kedacore/keda
}

// maxScale returns the number of pods up to which Knative scales a Service, or zero if it has no limit.
func maxScale(k kind.Kind, template *corev1.Pod) int64 {
	limit, err := strconv.ParseInt(template.Annotations[kind.MaxScaleAnnotation], 10, 64)
	if err != nil || !k.Autoscales {
		return 0
	}
	return limit
}

// withLimits adds the requests that the API server sets from limits.
func withLimits(pod *corev1.Pod) *corev1.Pod {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			needs := &containers[i].Resources
			requests := corev1.ResourceList{}
			maps.Copy(requests, needs.Limits)
			maps.Copy(requests, needs.Requests)
			needs.Requests = requests
		}
	}
	return pod
}
