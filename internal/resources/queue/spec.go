package queue

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kai"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
)

// spec is the input of the renderer of the queue's scheduler.
type spec struct {
	kueue.Queue
	KAI *kai.Queue // nil for a queue of Kueue
}

func (s spec) render() ([]*unstructured.Unstructured, error) {
	if s.KAI != nil {
		return kai.Render(*s.KAI)
	}
	return kueue.Render(s.Queue)
}

func (s spec) validate() manifest.Errors {
	if s.KAI != nil {
		return kai.Validate(*s.KAI)
	}
	return kueue.Validate(s.Queue)
}

// observed is the inverse of render.
func observed(objects []*unstructured.Unstructured) spec {
	out := spec{Queue: kueue.Observe(objects)}
	for _, obj := range objects {
		if isKAIQueue(obj) {
			queue := kai.Observe(obj)
			out.Labels, out.Annotations = queue.Labels, queue.Annotations
			queue.Labels, queue.Annotations = nil, nil // attributes that both schedulers have
			out.KAI = &queue
		}
	}
	return out
}
