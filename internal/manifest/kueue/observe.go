package kueue

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// The fields of Kueue's objects (apis/kueue/v1beta2 in sigs.k8s.io/kueue).
type (
	clusterQueue struct {
		Spec struct {
			ResourceGroups          []resourceGroup       `json:"resourceGroups"`
			CohortName              string                `json:"cohortName"`
			QueueingStrategy        string                `json:"queueingStrategy"`
			NamespaceSelector       *metav1.LabelSelector `json:"namespaceSelector"`
			Preemption              *preemptionPolicies   `json:"preemption"`
			AdmissionChecksStrategy struct {
				AdmissionChecks []struct {
					Name string `json:"name"`
				} `json:"admissionChecks"`
			} `json:"admissionChecksStrategy"`
			StopPolicy  string `json:"stopPolicy"`
			FairSharing struct {
				Weight *resource.Quantity `json:"weight"`
			} `json:"fairSharing"`
		} `json:"spec"`
	}

	resourceGroup struct {
		Flavors []struct {
			Name      string          `json:"name"`
			Resources []resourceQuota `json:"resources"`
		} `json:"flavors"`
	}

	resourceQuota struct {
		Name           string             `json:"name"`
		NominalQuota   resource.Quantity  `json:"nominalQuota"`
		BorrowingLimit *resource.Quantity `json:"borrowingLimit"`
		LendingLimit   *resource.Quantity `json:"lendingLimit"`
	}

	preemptionPolicies struct {
		WithinClusterQueue  string `json:"withinClusterQueue"`
		ReclaimWithinCohort string `json:"reclaimWithinCohort"`
		BorrowWithinCohort  struct {
			Policy               string `json:"policy"`
			MaxPriorityThreshold *int32 `json:"maxPriorityThreshold"`
		} `json:"borrowWithinCohort"`
	}

	resourceFlavor struct {
		Spec struct {
			NodeLabels   map[string]string   `json:"nodeLabels"`
			NodeTaints   []corev1.Taint      `json:"nodeTaints"`
			Tolerations  []corev1.Toleration `json:"tolerations"`
			TopologyName string              `json:"topologyName"`
		} `json:"spec"`
	}
)

// Observe returns the attributes of a queue for its objects, without the labels that Render adds. It is the inverse of
// Render, except that objects that cannot be decoded are ignored, and that the flavors are in the order of the resource
// groups. The labels and annotations are those of the ClusterQueue.
func Observe(objects []*unstructured.Unstructured) Queue {
	var q Queue
	definitions := map[string]*Definition{}
	for _, obj := range objects {
		switch obj.GetKind() {
		case kind.ResourceFlavor(kind.KueueVersion).Kind:
			definitions[obj.GetName()] = observeDefinition(obj)
		case kind.ClusterQueue(kind.KueueVersion).Kind:
			observeClusterQueue(&q, obj)
		case kind.LocalQueue(kind.KueueVersion).Kind:
			q.Namespaces = append(q.Namespaces, obj.GetNamespace())
		}
	}
	for i := range q.Flavors {
		q.Flavors[i].Definition = definitions[q.Flavors[i].Name]
	}
	slices.Sort(q.Namespaces)
	return q
}

func observeDefinition(obj *unstructured.Unstructured) *Definition {
	found, ok := decode[resourceFlavor](obj)
	if !ok {
		return nil
	}
	d := &Definition{NodeLabels: found.Spec.NodeLabels, TopologyName: found.Spec.TopologyName}
	for _, t := range found.Spec.NodeTaints {
		d.NodeTaints = append(d.NodeTaints, Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for _, t := range found.Spec.Tolerations {
		d.Tolerations = append(d.Tolerations, manifest.Toleration{Key: t.Key, Operator: string(t.Operator),
			Value: t.Value, Effect: string(t.Effect), TolerationSeconds: t.TolerationSeconds})
	}
	return d
}

func observeClusterQueue(q *Queue, obj *unstructured.Unstructured) {
	found, ok := decode[clusterQueue](obj)
	if !ok {
		return
	}
	spec := found.Spec
	q.Name, q.Cohort, q.QueueingStrategy, q.StopPolicy = obj.GetName(), spec.CohortName, spec.QueueingStrategy,
		spec.StopPolicy
	q.FairShareWeight = spec.FairSharing.Weight
	for _, group := range spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			quotas := map[string]Quota{}
			for _, r := range flavor.Resources {
				quotas[r.Name] = Quota{Nominal: r.NominalQuota, BorrowingLimit: r.BorrowingLimit,
					LendingLimit: r.LendingLimit}
			}
			q.Flavors = append(q.Flavors, Flavor{Name: flavor.Name, Quotas: quotas})
		}
	}
	for _, check := range spec.AdmissionChecksStrategy.AdmissionChecks {
		q.AdmissionChecks = append(q.AdmissionChecks, check.Name)
	}
	if p := spec.Preemption; p != nil {
		q.Preemption = &Preemption{WithinClusterQueue: p.WithinClusterQueue,
			ReclaimWithinCohort: p.ReclaimWithinCohort, BorrowWithinCohort: p.BorrowWithinCohort.Policy,
			MaxPriorityThreshold: p.BorrowWithinCohort.MaxPriorityThreshold}
	}
	q.Labels = manifest.Without(obj.GetLabels(), map[string]string{kind.ManagedByLabel: kind.ManagedByValue})
	q.Annotations = obj.GetAnnotations()
}

// SelectedNamespaces returns the namespaces that a ClusterQueue selects by name, sorted.
func SelectedNamespaces(obj *unstructured.Unstructured) []string {
	found, _ := decode[clusterQueue](obj)
	selector := found.Spec.NamespaceSelector
	if selector == nil {
		return nil
	}
	var names []string
	if name := selector.MatchLabels[corev1.LabelMetadataName]; name != "" {
		names = append(names, name)
	}
	for _, expression := range selector.MatchExpressions {
		if expression.Key == corev1.LabelMetadataName && expression.Operator == metav1.LabelSelectorOpIn {
			names = append(names, expression.Values...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// decode returns the fields of an object. ok is false if one of them has another type.
func decode[T any](obj *unstructured.Unstructured) (fields T, ok bool) {
	var none T
	if obj == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &fields) != nil {
		return none, false
	}
	return fields, true
}
