package compute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestGroupsOfPodsForTheSameNodesNeedTheirGPUsTogether(t *testing.T) {
	t.Parallel()
	group := func(pods, gpus int64, product string) manifest.GroupDemand {
		return manifest.GroupDemand{Pods: pods, NodeSelector: map[string]string{"product": product},
			Requests: corev1.ResourceList{kind.GPUResource: *resource.NewQuantity(gpus, resource.DecimalSI)}}
	}
	demand := func(pods, gpus int64, product string) observe.GPUDemand {
		return observe.GPUDemand{NodeSelector: map[string]string{"product": product}, Each: gpus, Pods: pods}
	}
	got := gpuDemands([]manifest.GroupDemand{group(1, 8, "h100"), group(2, 8, "l4"), group(3, 8, "h100"),
		group(4, 1, "h100")})
	want := []observe.GPUDemand{demand(4, 8, "h100"), demand(2, 8, "l4"), demand(4, 1, "h100")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
