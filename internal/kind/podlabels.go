package kind

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
