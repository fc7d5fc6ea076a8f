package actions

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/endpoint"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// target is the compute of an action.
type target struct {
	workload *unstructured.Unstructured // nil if no workload has the name of the compute
	ref      kube.Ref                   // of the workload
	kind     *kind.Workload             // of the workload; empty for a kind that is not in the table
	pods     map[string]string          // labels that select the pods of all roles
}

// locate finds the compute, of any kind. It returns a [kube.MissingComputeError] if there is none.
func (c *call) locate(ctx context.Context) (target, error) {
	t := target{kind: &kind.Workload{}}
	var missing *kube.MissingComputeError
	var err error
	if t.workload, err = c.cluster.Locate(ctx, c.namespace, c.name); err != nil && !errors.As(err, &missing) {
		return t, err
	}
	found, err := endpoint.Of(ctx, c.cluster, c.namespace, c.name)
	if err != nil {
		return t, err
	}
	if t.workload != nil {
		t.kind = kind.WorkloadOf(t.workload.GroupVersionKind().GroupKind())
		if t.ref, err = c.cluster.RefOf(ctx, t.workload); err != nil {
			return t, err
		}
	}
	t.pods = podLabels(t.workload, t.kind, found.Backend.Selector)
	return t, nil
}

// podLabels returns the labels of all pods of a compute: those of its Kubetorch service, or else of the selector of its
// Service without the labels of the pods that receive calls.
func podLabels(workload *unstructured.Unstructured, of *kind.Workload, selector map[string]string) map[string]string {
	if workload != nil && of.Groups != nil {
		for _, g := range of.Groups(workload.Object) {
			labels := kind.TextsAt(workload.Object, kind.Under(g.Template, "metadata", "labels")...)
			if service := labels[kind.ServiceLabel]; service != "" {
				return map[string]string{kind.ServiceLabel: service}
			}
		}
	}
	all := maps.Clone(selector)
	maps.DeleteFunc(all, func(key, _ string) bool { return slices.Contains(of.RouteLabels, key) })
	return all
}
