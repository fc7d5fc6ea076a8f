package manifest_test

import (
	"fmt"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func TestDemandIsTheSumOfAllPods(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		compute manifest.Compute
		pods    int64
		gpus    int64
		cpu     string
	}{
		"a Deployment":    {manifest.Compute{CPUs: quantity(t, "500m"), GPUs: 2, Replicas: 3}, 3, 6, "1500m"},
		"a suspended one": {manifest.Compute{CPUs: quantity(t, "1"), Replicas: 3, Suspend: true}, 0, 0, "0"},
		"a RayCluster": {manifest.Compute{CPUs: quantity(t, "1"), GPUs: 1,
			Distribute: &manifest.Distribute{Type: "ray", Workers: 4}}, 4, 4, "4"},
		"a tensor server": {manifest.Compute{CPUs: quantity(t, "2"), GPUs: 1, Runtime: kind.RuntimeSkyTorch}, 1, 1,
			"2"},
		"a suspended server": {manifest.Compute{CPUs: quantity(t, "2"), Runtime: kind.RuntimeKPU, Suspend: true}, 0, 0,
			"0"},
		"one Knative pod": {manifest.Compute{CPUs: quantity(t, "1"), Autoscale: &manifest.Autoscale{}}, 1, 0, "1"},
		"limits without a need": {byo(t,
			"kind: StatefulSet\napiVersion: apps/v1\nspec: {replicas: 2, template: {spec: {containers: [{name: x, "+
				"resources: {limits: {cpu: 2}}}]}}}"), 2, 0, "4"},
		"workers of a job": {byo(t, "kind: PyTorchJob\napiVersion: kubeflow.org/v1\nspec: {pytorchReplicaSpecs: "+
			"{Master: {replicas: 1, template: {}}, Worker: {replicas: 3, template: {spec: {containers: [{name: "+
			"pytorch, resources: {requests: {cpu: 2}}}]}}}}}"), 4, 0, "6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.compute.Name, c.compute.Namespace = "trainer", "ml"
			objects, err := manifest.Render(c.compute)
			if err != nil {
				t.Fatal(err)
			}
			pods, requests := manifest.Demand(objects[0])
			cpu := requests.Cpu()
			gpus := requests["nvidia.com/gpu"]
			want := quantity(t, c.cpu)
			if pods != c.pods || gpus.Value() != c.gpus || cpu.Cmp(*want) != 0 {
				t.Errorf("got %s, want %d pods, %d GPUs, %s CPUs",
					fmt.Sprintf("%d pods, %s GPUs, %s CPUs", pods, gpus.String(), cpu), c.pods, c.gpus, c.cpu)
			}
		})
	}
}

func byo(t *testing.T, text string) manifest.Compute {
	t.Helper()
	document, err := manifest.ParseDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Compute{Manifest: document}
}
