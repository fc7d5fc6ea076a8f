package computes_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

func TestAccPlanWarnsIfNoNodeHasTheGPUs(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	for name, c := range map[string]struct{ block, attributes, message string }{
		"more GPUs per pod than any node has": {"", `gpus = 9`, "requests 9 nvidia.com/gpu, and the largest of"},
		"a product that no node has": {"", "gpus = 1\n gpu_type = \"NVIDIA-B200\"",
			"No node has the label nvidia.com/gpu.product=NVIDIA-B200"},
		"a product and number that a node has": {"", "gpus = 8\n gpu_type = \"NVIDIA-H100-80GB-HBM3\"", ""},
		"suspended":                            {"", "gpus = 9\n suspend = true", ""},
		"check_gpus is false":                  {"check_gpus = false", `gpus = 9`, ""},
		"with node autoscaling":                {"node_autoscaling = true", `gpus = 9`, ""},
		"without node autoscaling": {"node_autoscaling = false", `gpus = 9`,
			"requests 9 nvidia.com/gpu, and the largest of"},
		"GPUs in a manifest": {"",
			acctest.Manifest("apiVersion: apps/v1\nkind: StatefulSet\nspec: {template: {spec: {containers: [{name: " +
				"kubetorch, resources: {limits: {nvidia.com/gpu: 9}}}]}}}"), "requests 9 nvidia.com/gpu"},
		"GPUs of the workers in a manifest": {"",
			acctest.Manifest("apiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  headGroupSpec: {rayStartParams: {}, " +
				"template: {spec: {containers: [{name: kubetorch}]}}}\n" +
				"  workerGroupSpecs: [{groupName: w, replicas: 1, rayStartParams: {}, template: {spec: {containers: " +
				"[{name: kubetorch, resources: {limits: {nvidia.com/gpu: 9}}}]}}}]"), "requests 9 nvidia.com/gpu"},
		"a product that no node has, in the group with fewer GPUs": {"",
			acctest.Manifest("apiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  headGroupSpec: {rayStartParams: {}, " +
				"template: {spec: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-B200}, containers: " +
				"[{name: kubetorch, resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n" +
				"  workerGroupSpecs: [{groupName: w, replicas: 1, rayStartParams: {}, template: {spec: {containers: " +
				"[{name: kubetorch, resources: {limits: {nvidia.com/gpu: 8}}}]}}}]"),
			"No node has the label nvidia.com/gpu.product=NVIDIA-B200"},
		"more pods than the nodes can run": {"", "gpus = 8\n replicas = 5000",
			"5000 pods cannot run at the same time: each requests 8 nvidia.com/gpu"},
	} {
		body := map[string]string{"trainer": "name = \"trainer\"\n" + c.attributes}
		text := strings.Join(cluster.Resources(t, "kt_compute", ns, c.block).Plan(t, body)["trainer"].Warnings, "\n")
		if got := strings.Contains(text, "No node can run the pods"); got != (c.message != "") ||
			!strings.Contains(text, c.message) {
			t.Errorf("%s: warning shown: %t; want warnings that contain %q:\n%s", name, got, c.message, text)
		}
	}
}
