package manifest

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// DisruptionBudget limits how many pods an eviction, such as the drain of a node, may stop at a time. Exactly one of
// its fields is set: a number of pods or a percentage, such as "1" or "50%".
type DisruptionBudget struct {
	MinAvailable, MaxUnavailable string
}

func renderDisruptionBudget(c Compute) map[string]any {
	spec := policyv1ac.PodDisruptionBudgetSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(podSelector(c)))
	if c.DisruptionBudget.MinAvailable != "" {
		spec.WithMinAvailable(intstr.Parse(c.DisruptionBudget.MinAvailable))
	} else {
		spec.WithMaxUnavailable(intstr.Parse(c.DisruptionBudget.MaxUnavailable))
	}
	return toMap(policyv1ac.PodDisruptionBudget(c.Name, c.Namespace).WithLabels(serviceLabels(c)).WithSpec(spec))
}

// podCountAt returns the number of pods or the percentage at a path, or "" if there is none.
func podCountAt(object map[string]any, path ...string) string {
	found, _ := kind.Find(object, path)
	switch found := found.(type) {
	case string:
		return found
	case int64:
		return strconv.FormatInt(found, 10)
	}
	return ""
}

// AllowsNoEviction reports whether Kubernetes cannot compute a budget for the pods of
// a workload. It then rejects every eviction.
func (b DisruptionBudget) AllowsNoEviction(workload *unstructured.Unstructured) bool {
	return kind.WorkloadOf(workload.GroupVersionKind().GroupKind()).Unscaled &&
		(b.MaxUnavailable != "" || strings.HasSuffix(b.MinAvailable, "%"))
}

// validateDisruptionBudget rejects a budget that is empty or contradictory.
func validateDisruptionBudget(c Compute, errs *Errors) {
	b, at := c.DisruptionBudget, At("pod_disruption_budget")
	lowest, highest := at.At(Name("min_available")), at.At(Name("max_unavailable"))
	switch {
	case b == nil:
	case b.MinAvailable == "" && b.MaxUnavailable == "":
		errs.At(at, "is empty: set min_available or max_unavailable.").Concerning(lowest, highest)
	case b.MinAvailable != "" && b.MaxUnavailable != "":
		errs.At(highest, "cannot be set together with min_available: remove one of the two.").Concerning(lowest)
	}
}
