package manifest

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// ForeignSelector returns spec.selector of a live workload if it does not select the pods by the name of their
// compute, and nil otherwise. Selectors are immutable, so a compute that takes over such a workload keeps it. The pods
// get the label of the compute in addition, since its Service and its readiness depend on it.
func ForeignSelector(live *unstructured.Unstructured) map[string]any {
	if !kind.WorkloadOf(live.GroupVersionKind().GroupKind()).Selects {
		return nil
	}
	selector, _, err := unstructured.NestedMap(live.Object, "spec", "selector")
	labels := kind.TextsAt(live.Object, "spec", "selector", "matchLabels")
	if err != nil || len(selector) == 0 || labels[kind.ServiceLabel] == live.GetName() {
		return nil
	}
	return selector
}

// keepSelector sets the selector of the existing workload, and its labels in the pod template. A manifest with another
// selector takes precedence, which the API server then rejects.
func keepSelector(c Compute, k kind.Kind, workload map[string]any) {
	configured, _ := kind.Find(c.Manifest, []string{"spec", "selector"})
	if configured != nil && !kind.IsEmpty(configured) && !reflect.DeepEqual(configured, any(c.KeptSelector)) {
		return
	}
	kind.SetAt(workload, []string{"spec", "selector"}, kind.Copy(c.KeptSelector))
	for _, g := range k.Groups(workload) {
		user := kind.TextsAt(c.Manifest, kind.Under(g.Template, "metadata", "labels")...)
		labels := kind.MapAt(workload, kind.Under(g.Template, "metadata", "labels"))
		for key, value := range kind.TextsAt(workload, "spec", "selector", "matchLabels") {
			if _, given := user[key]; !given {
				labels[key] = value
			}
		}
	}
}
