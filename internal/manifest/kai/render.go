package kai

import (
	"cmp"
	"time"

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
		s := of.share(&q)
		spec.Resources[of.resource] = share{of.number(s.Quota), s.OverQuotaWeight, of.number(s.Limit)}
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	queue := manifest.NewObject(kind.KAIQueue(), "", q.Name,
		kind.Texts(q.DefaultLabels, q.Labels, manifest.OwnLabels()), kind.Texts(q.DefaultAnnotations, q.Annotations),
		fields)
	return []*unstructured.Unstructured{queue}, err
}

// The fields of a Queue (pkg/apis/scheduling/v2 of KAI-Scheduler).
type (
	queueSpec struct {
		ParentQueue       string           `json:"parentQueue,omitempty"`
		DisplayName       string           `json:"displayName,omitempty"`
		Priority          *int64           `json:"priority,omitempty"`
		PreemptMinRuntime *metav1.Duration `json:"preemptMinRuntime,omitempty"`
		ReclaimMinRuntime *metav1.Duration `json:"reclaimMinRuntime,omitempty"`
		Resources         map[string]share `json:"resources"`
	}

	share struct {
		Quota           float64  `json:"quota"`
		OverQuotaWeight *float64 `json:"overQuotaWeight,omitempty"`
		Limit           float64  `json:"limit"`
	}
)

// Observe returns the attributes of a queue for its Queue, without the labels that Render adds. It is the inverse of
// Render. An object that cannot be decoded is like an empty one.
func Observe(obj *unstructured.Unstructured) Queue {
	spec := cmp.Or(manifest.SpecOf[queueSpec](obj.Object), &queueSpec{})
	q := Queue{
		Name: obj.GetName(), ParentQueue: spec.ParentQueue, DisplayName: spec.DisplayName, Priority: spec.Priority,
		PreemptMinRuntime: durationOf(spec.PreemptMinRuntime), ReclaimMinRuntime: durationOf(spec.ReclaimMinRuntime),
		Labels: manifest.Without(obj.GetLabels(), manifest.OwnLabels()), Annotations: obj.GetAnnotations(),
	}
	for _, of := range units() {
		s := spec.Resources[of.resource] // KAI treats an absent number as 0
		*of.share(&q) = Share{Quota: of.amount(s.Quota), Limit: of.amount(s.Limit), OverQuotaWeight: s.OverQuotaWeight}
	}
	return q
}

func durationOf(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}

// Validate returns the problems of a queue, each with its attribute.
func Validate(q Queue) manifest.Errors {
	var errs manifest.Errors
	errs.RejectOthers("labels", q.DefaultLabels, q.Labels, manifest.OwnLabels(),
		func(string) (string, []manifest.Path) { return "the provider finds its objects with it", nil })
	if q.ParentQueue != "" && q.ParentQueue == q.Name {
		errs.At(manifest.At("kai", manifest.Name("parent_queue")),
			"is the queue itself. Remove it, or set another queue.").Concerning(manifest.At("name"))
	}
	return errs
}
