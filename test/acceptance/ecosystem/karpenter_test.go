package ecosystem_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktdev/terraform-provider-kt/test/acctest"
)

const nodePool = `
apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: gpus}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpus}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: gpus}
      requirements:
      - {key: karpenter.k8s.aws/instance-gpu-name, operator: In, values: [h100]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: Never}
`

// The cluster has no node with GPUs. Karpenter creates one for a gpu_type that a NodePool provides.
func TestEcoKarpenterCreatesNodesForAGPUTypeOfANodePoolOnly(t *testing.T) {
	t.Parallel()
	ns := karpenter.Namespace(t)
	karpenter.Apply(t, nodePool)
	cli := acctest.NewAttachedCLI(t)
	write := func(gpuType string) {
		cli.Write(t, karpenter.ConfigWith(ns, `gpu_type_label = "karpenter.k8s.aws/instance-gpu-name"`,
			acctest.Compute(fmt.Sprintf("gpus = 1\ngpu_type = %q", gpuType))))
	}
	write("h1000")
	out, err := cli.Run(t, "apply", "-auto-approve")
	if err == nil {
		t.Errorf("the apply succeeds:\n%s", out)
	}
	acctest.ExpectText(t, acctest.Unwrap(out),
		"No NodePool of Karpenter creates nodes with the label karpenter.k8s.aws/instance-gpu-name=h1000")
	if claims := karpenter.Kubectl(t, "get", "nodeclaims", "-o", "name"); claims != "" {
		t.Errorf("Karpenter creates %s", claims)
	}
	write("h100")
	cli.MustRun(t, "apply", "-auto-approve")
	nodes := karpenter.Kubectl(t, "get", "nodes", "-l", "karpenter.k8s.aws/instance-gpu-name=h100", "-o", "name")
	if len(strings.Fields(nodes)) != 1 {
		t.Errorf("nodes: %s", nodes)
	}
	cli.MustRun(t, "plan", "-detailed-exitcode") // fails unless the plan is empty
	cli.MustRun(t, "destroy", "-auto-approve")
}
