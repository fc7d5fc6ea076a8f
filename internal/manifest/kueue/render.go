package kueue

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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
			map[string]any{"clusterQueue": q.Name}, nil))
	}
	for _, flavor := range q.Flavors {
		if flavor.Definition != nil {
			objects = append(objects, object(q, kind.ResourceFlavor(kind.KueueVersion), "", flavor.Name,
				flavorSpec(*flavor.Definition), ownerAnnotation(q)))
		}
	}
	return append(objects, object(q, kind.ClusterQueue(kind.KueueVersion), "", q.Name, clusterQueueSpec(q), nil)), nil
}

// OwnerAnnotation is the annotation of a ResourceFlavor with the queue that defines it, as namespace/name.
const OwnerAnnotation = "kt.dev/queue"

func ownerAnnotation(q Queue) map[string]string {
	return map[string]string{OwnerAnnotation: q.Namespace + "/" + q.Name}
}

func object(
	q Queue, of kind.Kind, namespace, name string, spec map[string]any, annotations map[string]string,
) *unstructured.Unstructured {
	metadata := map[string]any{
		"name": name,
		"labels": kind.Texts(q.DefaultLabels, q.Labels,
			map[string]string{kind.ManagedByLabel: kind.ManagedByValue}),
		"annotations": kind.Texts(q.DefaultAnnotations, q.Annotations, annotations),
	}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	rendered := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": of.Kind, "metadata": metadata, "spec": spec,
	}}
	return &unstructured.Unstructured{Object: manifest.Normalize(rendered)}
}

func flavorSpec(d Definition) map[string]any {
	var taints, tolerations []any
	for _, t := range d.NodeTaints {
		taints = append(taints, texts(map[string]string{"key": t.Key, "value": t.Value, "effect": t.Effect}))
	}
	for _, t := range d.Tolerations {
		toleration := texts(map[string]string{"key": t.Key, "operator": t.Operator, "value": t.Value,
			"effect": t.Effect})
		if t.TolerationSeconds != nil {
			toleration["tolerationSeconds"] = *t.TolerationSeconds
		}
		tolerations = append(tolerations, toleration)
	}
	spec := texts(map[string]string{"topologyName": d.TopologyName})
	spec["nodeLabels"], spec["nodeTaints"], spec["tolerations"] = kind.Texts(d.NodeLabels), taints, tolerations
	return spec
}

func clusterQueueSpec(q Queue) map[string]any {
	spec := texts(map[string]string{"cohortName": q.Cohort, "queueingStrategy": q.QueueingStrategy,
		"stopPolicy": q.StopPolicy})
	spec["namespaceSelector"] = map[string]any{"matchExpressions": []any{map[string]any{
		"key": corev1.LabelMetadataName, "operator": string(metav1.LabelSelectorOpIn),
		"values": values(q.allNamespaces()),
	}}}
	spec["resourceGroups"] = resourceGroups(q)
	if p := q.Preemption; p != nil {
		spec["preemption"] = preemption(*p)
	}
	if q.FairShareWeight != nil {
		spec["fairSharing"] = map[string]any{"weight": q.FairShareWeight.String()}
	}
	var checks []any
	for _, name := range q.AdmissionChecks {
		checks = append(checks, map[string]any{"name": name})
	}
	if len(checks) > 0 {
		spec["admissionChecksStrategy"] = map[string]any{"admissionChecks": checks}
	}
	return spec
}

func resourceGroups(q Queue) []any {
	var groups []any
	for _, group := range q.groups() {
		var flavors []any
		for _, flavor := range group {
			var resources []any
			for _, name := range flavor.resources() {
				resources = append(resources, quota(name, flavor.Quotas[name]))
			}
			flavors = append(flavors, map[string]any{"name": flavor.Name, "resources": resources})
		}
		groups = append(groups, map[string]any{"coveredResources": values(group[0].resources()), "flavors": flavors})
	}
	return groups
}

func quota(name string, q Quota) map[string]any {
	out := map[string]any{"name": name, "nominalQuota": q.Nominal.String()}
	if q.BorrowingLimit != nil {
		out["borrowingLimit"] = q.BorrowingLimit.String()
	}
	if q.LendingLimit != nil {
		out["lendingLimit"] = q.LendingLimit.String()
	}
	return out
}

func preemption(p Preemption) map[string]any {
	out := texts(map[string]string{"withinClusterQueue": p.WithinClusterQueue,
		"reclaimWithinCohort": p.ReclaimWithinCohort})
	if p.BorrowWithinCohort != "" {
		borrow := texts(map[string]string{"policy": p.BorrowWithinCohort})
		if p.MaxPriorityThreshold != nil {
			borrow["maxPriorityThreshold"] = int64(*p.MaxPriorityThreshold)
		}
		out["borrowWithinCohort"] = borrow
	}
	return out
}

// resources returns the names of the resources with a quota, sorted.
func (f Flavor) resources() []string { return slices.Sorted(maps.Keys(f.Quotas)) }

// texts returns the fields whose text is not empty.
func texts(fields map[string]string) map[string]any {
	out := map[string]any{}
	for name, text := range fields {
		if text != "" {
			out[name] = text
		}
	}
	return out
}

func values(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}
