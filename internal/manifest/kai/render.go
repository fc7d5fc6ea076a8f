package kai

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Render returns the Queue, normalized. The error has the type [manifest.Errors]: every problem with its attribute.
func Render(q Queue) ([]*unstructured.Unstructured, error) {
	if errs := Validate(q); len(errs) > 0 {
		return nil, errs
	}
	resources := map[string]any{}
	for _, of := range units() {
		resources[of.resource] = shareFields(of, *q.share(of))
	}
	spec := map[string]any{"resources": resources}
	for name, text := range map[string]string{"parentQueue": q.ParentQueue, "displayName": q.DisplayName} {
		if text != "" {
			spec[name] = text
		}
	}
	if q.Priority != nil {
		spec["priority"] = *q.Priority
	}
	for name, runtime := range map[string]*time.Duration{
		"preemptMinRuntime": q.PreemptMinRuntime, "reclaimMinRuntime": q.ReclaimMinRuntime,
	} {
		if runtime != nil {
			spec[name] = runtime.String()
		}
	}
	of := kind.KAIQueue()
	rendered := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": of.GroupVersion().String(), "kind": of.Kind, "spec": spec,
		"metadata": map[string]any{
			"name":        q.Name,
			"labels":      kind.Texts(q.DefaultLabels, q.Labels, ownLabels()),
			"annotations": kind.Texts(q.DefaultAnnotations, q.Annotations),
		},
	}}
	return []*unstructured.Unstructured{{Object: manifest.Normalize(rendered)}}, nil
}

func ownLabels() map[string]string {
	return map[string]string{kind.ManagedByLabel: kind.ManagedByValue}
}

func shareFields(of unit, s Share) map[string]any {
	out := map[string]any{"quota": of.number(s.Quota), "limit": of.number(s.Limit)}
	if s.OverQuotaWeight != nil {
		out["overQuotaWeight"] = integral(*s.OverQuotaWeight)
	}
	return out
}
