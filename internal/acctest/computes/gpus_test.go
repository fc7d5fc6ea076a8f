package computes_test

import (
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/internal/acctest"
)

func TestAccPlanWarnsIfNoNodeHasTheGPUs(t *testing.T) {
	t.Parallel()
	ns := cluster.Namespace(t)
	for name, c := range map[string]struct{ block, attributes, says string }{
		"too many in a pod": {"", `gpus = 9`, "requests 9 GPUs, and the largest of"},
		"a product of no node": {"", "gpus = 1\n gpu_type = \"NVIDIA-B200\"",
			"no node with nvidia.com/gpu.product=NVIDIA-B200"},
		"what a node has":    {"", "gpus = 8\n gpu_type = \"NVIDIA-H100-80GB-HBM3\"", ""},
		"suspended":          {"", "gpus = 9\n suspend = true", ""},
		"not asked to look":  {"check_gpus = false", `gpus = 9`, ""},
		"nodes on demand":    {"node_autoscaling = true", `gpus = 9`, ""},
		"no nodes on demand": {"node_autoscaling = false", `gpus = 9`, "requests 9 GPUs, and the largest of"},
		"a manifest of my own": {"",
			acctest.Manifest("apiVersion: apps/v1\nkind: StatefulSet\nspec: {template: {spec: {containers: [{name: " +
				"kubetorch, resources: {limits: {nvidia.com/gpu: 9}}}]}}}"), "requests 9 GPUs"},
		"more pods than places": {"", "gpus = 8\n replicas = 5000", "such pods when nothing else runs there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cli := acctest.NewCLI(t)
			cli.Write(t, cluster.ConfigWith(ns, c.block, acctest.BareCompute(c.attributes)))
			out := acctest.Unwrap(cli.MustRun(t, "plan"))
			if got := strings.Contains(out, "No node can run the pods"); got != (c.says != "") ||
				!strings.Contains(out, c.says) {
				t.Errorf("the plan must contain %q:\n%s", c.says, out)
			}
		})
	}
}
