package compute

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// locateCustom finds a workload of ours whose kind the provider does not know,
// and where its pod template is; nil where there is none. Somebody else's is not
// looked for: nothing would tell a workload from any other object.
func (l *reader) locateCustom(ctx context.Context) (*unstructured.Unstructured, error) {
	kinds, err := l.Data.Cluster.CustomKinds(ctx)
	if err != nil {
		return nil, err
	}
	known := manifest.Workloads()
	for _, kind := range kinds {
		if slices.Contains(known, kind.GroupVersionKind) || kind.GroupVersionKind == manifest.RegistrationKind() {
			continue
		}
		live, err := l.Data.Cluster.Get(ctx, kube.Ref{Kind: kind, Namespace: l.State.Namespace.ValueString(),
			Name: l.State.Name.ValueString()})
		switch class := kube.ClassOf(err); {
		case class == kube.NotFound, class == kube.KindMissing, class == kube.Denied:
			continue
		case err != nil:
			return nil, err
		}
		if _, ours, err := kube.OwnedFields(live); err != nil || !ours {
			continue
		}
		if path := manifest.PodTemplatePath(live.Object); path != "" {
			l.State.PodTemplatePath = types.StringValue(path)
			return live, nil
		}
	}
	return nil, nil
}

// missesWorkload refuses to import the Service of a compute alone, which selects
// the compute's own pods: as a compute of mode selector, it would be replaced.
func (l *reader) missesWorkload(service *unstructured.Unstructured) bool {
	if manifest.ObserveEndpoint(service) != nil {
		return false
	}
	l.Diags.AddError("Workload of the compute not found", fmt.Sprintf(
		"Service %[1]s/%[2]s selects the pods of a workload with this name, but no readable workload exists.\n\n"+
			"Next step: Import with permission to get the workload. If it was deleted, also delete the Service:\n  "+
			"kubectl delete service %[2]s -n %[1]s",
		l.State.Namespace.ValueString(), l.State.Name.ValueString()))
	return true
}
