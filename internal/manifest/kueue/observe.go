package kueue

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// clusterQueueSpec and the types below it are the fields of a ClusterQueue (apis/kueue/v1beta2 in sigs.k8s.io/kueue).
type clusterQueueSpec struct {
	ResourceGroups          []resourceGroup       `json:"resourceGroups,omitempty"`
	CohortName              string                `json:"cohortName,omitempty"`
	QueueingStrategy        string                `json:"queueingStrategy,omitempty"`
	NamespaceSelector       *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	Preemption              *preemptionPolicies   `json:"preemption,omitempty"`
	AdmissionChecksStrategy struct {
		AdmissionChecks []admissionCheck `json:"admissionChecks,omitempty"`
	} `json:"admissionChecksStrategy"`
	StopPolicy  string `json:"stopPolicy,omitempty"`
	FairSharing struct {
		Weight *resource.Quantity `json:"weight,omitempty"`
	} `json:"fairSharing"`
}

type (
	localQueueSpec struct {
		ClusterQueue string `json:"clusterQueue"`
	}

	resourceGroup struct {
		CoveredResources []string      `json:"coveredResources,omitempty"`
		Flavors          []flavorQuota `json:"flavors,omitempty"`
	}

	flavorQuota struct {
		Name      string          `json:"name"`
		Resources []resourceQuota `json:"resources,omitempty"`
	}

	resourceQuota struct {
		Name string `json:"name"`

		Quota `json:",inline"`
	}

	preemptionPolicies struct {
		WithinClusterQueue  string             `json:"withinClusterQueue,omitempty"`
		ReclaimWithinCohort string             `json:"reclaimWithinCohort,omitempty"`
		BorrowWithinCohort  borrowWithinCohort `json:"borrowWithinCohort"`
	}

	borrowWithinCohort struct {
		Policy               string `json:"policy,omitempty"`
		MaxPriorityThreshold *int32 `json:"maxPriorityThreshold,omitempty"`
	}

	admissionCheck struct {
		Name string `json:"name"`
	}
)

// Observe returns the attributes of a queue for its objects, without the labels that Render adds. It is the inverse of
// Render, except that objects that cannot be decoded are ignored, and that the flavors are in the order of the resource
// groups. The labels and annotations are those of the ClusterQueue.
func Observe(objects []*unstructured.Unstructured) Queue {
	var q Queue
	defined := map[string]Flavor{}
	for _, obj := range objects {
		switch obj.GetKind() {
		case kind.ResourceFlavor(kind.KueueVersion).Kind:
			defined[obj.GetName()] = observeFlavor(obj)
		case kind.ClusterQueue(kind.KueueVersion).Kind:
			observeClusterQueue(&q, obj)
		case kind.LocalQueue(kind.KueueVersion).Kind:
			q.Namespaces = append(q.Namespaces, obj.GetNamespace())
		}
	}
	for i, flavor := range q.Flavors {
		q.Flavors[i] = defined[flavor.Name]
		q.Flavors[i].Name, q.Flavors[i].Quotas = flavor.Name, flavor.Quotas
	}
	slices.Sort(q.Namespaces)
	return q
}

// observeFlavor returns a flavor without a name and quotas. One without any restriction is for all nodes.
func observeFlavor(obj *unstructured.Unstructured) Flavor {
	f := manifest.SpecOf[Flavor](obj.Object)
	if f == nil {
		return Flavor{}
	}
	if f.NodeLabels != nil && len(*f.NodeLabels) == 0 {
		f.NodeLabels = nil
	}
	if !f.Defined() {
		f.NodeLabels = &map[string]string{}
	}
	return *f
}

func observeClusterQueue(q *Queue, obj *unstructured.Unstructured) {
	spec := manifest.SpecOf[clusterQueueSpec](obj.Object)
	if spec == nil {
		return
	}
	q.Name, q.Cohort, q.QueueingStrategy, q.StopPolicy = obj.GetName(), spec.CohortName, spec.QueueingStrategy,
		spec.StopPolicy
	q.FairShareWeight = spec.FairSharing.Weight
	for _, group := range spec.ResourceGroups {
		for _, flavor := range group.Flavors {
			quotas := map[string]Quota{}
			for _, r := range flavor.Resources {
				quotas[r.Name] = r.Quota
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
	q.Labels = manifest.Without(obj.GetLabels(), manifest.OwnLabels())
	q.Annotations = obj.GetAnnotations()
}

// SelectedNamespaces returns the namespaces that a ClusterQueue selects by name, sorted.
func SelectedNamespaces(obj *unstructured.Unstructured) []string {
	spec := manifest.SpecOf[clusterQueueSpec](obj.Object)
	if spec == nil || spec.NamespaceSelector == nil {
		return nil
	}
	selector := spec.NamespaceSelector
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
