package kai

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Render returns the Queue, normalized. The error has the type [manifest.Errors]: every problem with its attribute.
func Render(q Queue) ([]*unstructured.Unstructured, error) {
	if errs := Validate(q); len(errs) > 0 {
		return nil, errs
	}
	spec := queueSpec{ParentQueue: q.ParentQueue, DisplayName: q.DisplayName, Priority: q.Priority,
		Resources: map[string]share{}}
	if q.PreemptMinRuntime != nil {
		spec.PreemptMinRuntime = &metav1.Duration{Duration: *q.PreemptMinRuntime}
	}
	if q.ReclaimMinRuntime != nil {
		spec.ReclaimMinRuntime = &metav1.Duration{Duration: *q.ReclaimMinRuntime}
	}
	for _, of := range units() {
		s := q.share(of)
		spec.Resources[of.resource] = share{of.number(s.Quota), s.OverQuotaWeight, of.number(s.Limit)}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	queue := manifest.NewObject(kind.KAIQueue(), "", q.Name, kind.Texts(q.DefaultLabels, q.Labels, ownLabels()),
		kind.Texts(q.DefaultAnnotations, q.Annotations), fields)
	return []*unstructured.Unstructured{queue}, err
}

func ownLabels() map[string]string {
	return map[string]string{kind.ManagedByLabel: kind.ManagedByValue}
}
