package kai

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

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
	var found struct {
		Spec queueSpec `json:"spec"`
	}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &found) != nil {
		found.Spec = queueSpec{}
	}
	spec := found.Spec
	q := Queue{
		Name: obj.GetName(), ParentQueue: spec.ParentQueue, DisplayName: spec.DisplayName, Priority: spec.Priority,
		PreemptMinRuntime: durationOf(spec.PreemptMinRuntime), ReclaimMinRuntime: durationOf(spec.ReclaimMinRuntime),
		Labels: manifest.Without(obj.GetLabels(), ownLabels()), Annotations: obj.GetAnnotations(),
	}
	for _, of := range units() {
		s := spec.Resources[of.resource] // KAI treats an absent number as 0
		*q.share(of) = Share{Quota: of.amount(s.Quota), Limit: of.amount(s.Limit), OverQuotaWeight: s.OverQuotaWeight}
	}
	return q
}

func durationOf(d *metav1.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	return &d.Duration
}
