package kind

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// PodLabels returns the labels of all pods of a workload: those of its Kubetorch service, or else of its selector, or
// else the one of its controller, or else those of its only template. A workload that this provider did not create has
// only the latter ones. It returns nil if its kind does not tell.
func PodLabels(workload *unstructured.Unstructured) map[string]string {
	of := WorkloadOf(workload.GroupVersionKind().GroupKind())
	var template map[string]string
	if of.Groups != nil {
		for _, g := range of.Groups(workload.Object) {
			template = TextsAt(workload.Object, Under(g.Template, "metadata", "labels")...)
			if service := template[ServiceLabel]; service != "" {
				return map[string]string{ServiceLabel: service}
			}
		}
	}
	if own := TextsAt(workload.Object, "spec", "selector", "matchLabels"); of.Selects && len(own) > 0 {
		return own
	}
	name := workload.GetName()
	if of.PodLabelFrom != nil {
		name = TextAt(workload.Object, of.PodLabelFrom...)
	}
	switch {
	case of.PodLabel != "" && name != "":
		return map[string]string{of.PodLabel: name}
	case of.PodLabel == "" && len(template) > 0: // of a Pod or a CronJob
		return template
	}
	return nil
}

// Controls reports whether a workload, or its ReplicaSet, controls a pod that has the labels of its pods, which others
// may have too. A Pod controls itself. It returns true for kinds with other objects between them and their pods, and
// without a workload, which is nil then.
func Controls(workload *unstructured.Unstructured, pod metav1.Object) bool {
	if workload == nil {
		return true
	}
	of := workload.GroupVersionKind().GroupKind()
	controller := metav1.GetControllerOf(pod)
	switch w := WorkloadOf(of); {
	case of == Pod().GroupKind():
		return pod.GetName() == workload.GetName()
	case w.ReplicaSets:
		return controller != nil && controller.Kind == ReplicaSet().Kind &&
			NamesReplicaSet(controller.Name, workload.GetName())
	case w.Selects:
		return controller != nil && controller.UID == workload.GetUID()
	}
	return true
}

// NamesReplicaSet reports whether the name of a ReplicaSet consists of the name of a Deployment and a template hash, as
// set by the Deployment controller.
func NamesReplicaSet(replicaSet, deployment string) bool {
	hash, ok := strings.CutPrefix(replicaSet, deployment+"-")
	return ok && !strings.Contains(hash, "-")
}
