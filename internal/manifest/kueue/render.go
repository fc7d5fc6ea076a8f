package kueue

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Render returns the objects of a queue in the order in which they are applied, normalized. The error has the type
// [manifest.Errors]: every problem with its attribute.
func Render(q Queue) ([]*unstructured.Unstructured, error) {
	if errs := Validate(q); len(errs) > 0 {
		return nil, errs
	}
	var objects []*unstructured.Unstructured
	for _, namespace := range q.allNamespaces() {
		objects = append(objects, object(q, kind.LocalQueue(kind.KueueVersion), namespace, q.Name,
			&localQueueSpec{q.Name}, nil))
	}
	for _, flavor := range q.Flavors {
		if flavor.Defined() {
			objects = append(objects, object(q, kind.ResourceFlavor(kind.KueueVersion), "", flavor.Name, &flavor,
				ownerAnnotation(q)))
		}
	}
	return append(objects, object(q, kind.ClusterQueue(kind.KueueVersion), "", q.Name, clusterQueueSpecOf(q), nil)), nil
}

// OwnerAnnotation is the annotation of a ResourceFlavor with the queue that defines it, as namespace/name.
const OwnerAnnotation = "kt.dev/queue"

func ownerAnnotation(q Queue) map[string]string {
	return map[string]string{OwnerAnnotation: q.Namespace + "/" + q.Name}
}

// object returns an object of a queue. spec is a pointer to its fields.
func object(
	q Queue, of kind.Kind, namespace, name string, spec any, annotations map[string]string,
) *unstructured.Unstructured {
	fields, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(spec) // it contains only types of the API
	return manifest.NewObject(of, namespace, name, kind.Texts(q.DefaultLabels, q.Labels, manifest.OwnLabels()),
		kind.Texts(q.DefaultAnnotations, q.Annotations, annotations), fields)
}

func clusterQueueSpecOf(q Queue) *clusterQueueSpec {
	spec := &clusterQueueSpec{CohortName: q.Cohort, QueueingStrategy: q.QueueingStrategy, StopPolicy: q.StopPolicy}
	spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: q.allNamespaces(),
	}}}
	for _, flavors := range q.groups() {
		group := resourceGroup{CoveredResources: flavors[0].resources()}
		for _, flavor := range flavors {
			quotas := flavorQuota{Name: flavor.Name}
			for _, name := range flavor.resources() {
				quotas.Resources = append(quotas.Resources, resourceQuota{name, flavor.Quotas[name]})
			}
			group.Flavors = append(group.Flavors, quotas)
		}
		spec.ResourceGroups = append(spec.ResourceGroups, group)
	}
	if p := q.Preemption; p != nil {
		spec.Preemption = &preemptionPolicies{p.WithinClusterQueue, p.ReclaimWithinCohort,
			borrowWithinCohort{p.BorrowWithinCohort, p.MaxPriorityThreshold}}
	}
	spec.FairSharing.Weight = q.FairShareWeight
	checks := &spec.AdmissionChecksStrategy.AdmissionChecks
	for _, name := range q.AdmissionChecks {
		*checks = append(*checks, admissionCheck{name})
	}
	return spec
}

// resources returns the names of the resources with a quota, sorted.
func (f Flavor) resources() []string { return slices.Sorted(maps.Keys(f.Quotas)) }

// Rank returns the position of an object in the order in which the objects of a queue are applied. LocalQueues come
// first, because a missing namespace should fail before anything else is created. They are deleted in the opposite
// order: Kueue keeps a ResourceFlavor that a ClusterQueue uses.
func Rank(obj *unstructured.Unstructured) int {
	later := []string{kind.ResourceFlavor(kind.KueueVersion).Kind, kind.ClusterQueue(kind.KueueVersion).Kind}
	return slices.Index(later, obj.GetKind()) + 1
}
