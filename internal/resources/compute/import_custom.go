package compute

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// findCustomWorkload returns a workload of this provider of an unsupported kind, or nil, and sets the path of its pod
// template. Unmanaged workloads are not considered, since they cannot be distinguished from other objects.
func (r *reader) findCustomWorkload(ctx context.Context) (*unstructured.Unstructured, error) {
	kinds, err := r.Data.Cluster.Discovery.CustomKinds(ctx)
	if err != nil {
		return nil, err
	}
	known := append(kind.Workloads(), kind.KubetorchWorkload())
	for _, custom := range kinds {
		if slices.ContainsFunc(known, func(k kind.Kind) bool { return k.GroupVersionKind == custom.GroupVersionKind }) {
			continue
		}
		live, err := r.Data.Cluster.Find(ctx, kube.Ref{Kind: custom, Namespace: r.State.Namespace.ValueString(),
			Name: r.State.Name.ValueString()})
		if err != nil && kube.ClassOf(err) != kube.Denied {
			return nil, err
		}
		if live == nil {
			continue
		}
		if _, managed, err := kube.OwnedFields(live); err != nil || !managed {
			continue
		}
		if path := manifest.PodTemplatePath(live.Object); path != "" {
			r.State.PodTemplatePath = types.StringValue(path)
			return live, nil
		}
	}
	return nil, nil
}

// refuseWithoutWorkload rejects the import of a Service that selects the pods of a workload. As a compute of mode
// selector, the next plan would replace it.
func (r *reader) refuseWithoutWorkload(service *unstructured.Unstructured) bool {
	if manifest.ObserveEndpoint(service) != nil {
		return false
	}
	r.Diags.AddError("Workload of the compute not found", fmt.Sprintf(
		"Service %[1]s/%[2]s selects the pods of a workload with this name, but no readable workload exists.\n\n"+
			"Next step: Import with permission to get the workload. If it was deleted, also delete the Service:\n  "+
			"kubectl delete service %[2]s -n %[1]s",
		r.State.Namespace.ValueString(), r.State.Name.ValueString()))
	return true
}
