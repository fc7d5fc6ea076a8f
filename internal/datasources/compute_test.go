package datasources

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// The containers of a workload that something else created can have any name.
func TestImageIsThatOfTheFirstContainerOfEveryKind(t *testing.T) {
	t.Parallel()
	const image = "example.com/main:1"
	pod := map[string]any{"spec": map[string]any{"containers": []any{
		map[string]any{"name": "main", "image": image}, map[string]any{"name": "other", "image": "other"},
	}}}
	template := map[string]any{"template": pod}
	for kind, spec := range map[string]any{
		"apps/v1 Deployment":         template,
		"batch/v1 CronJob":           map[string]any{"jobTemplate": map[string]any{"spec": template}},
		"ray.io/v1 RayCluster":       map[string]any{"headGroupSpec": template},
		"kubeflow.org/v1 PyTorchJob": map[string]any{"pytorchReplicaSpecs": map[string]any{"Worker": template}},
		"jobset.x-k8s.io/v1alpha2 JobSet": map[string]any{"replicatedJobs": []any{
			map[string]any{"name": "a", "template": map[string]any{"spec": template}},
		}},
		"leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": map[string]any{
			"leaderWorkerTemplate": map[string]any{"workerTemplate": pod},
		},
		"v1 Pod": pod["spec"],
	} {
		version, name, _ := strings.Cut(kind, " ")
		workload := &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": version, "kind": name, "spec": spec},
		}
		if got := imageOf(workload, manifest.Observe(workload)); got != image {
			t.Errorf("%s: %q", kind, got)
		}
	}
}
