package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

func newGPUsTotal() function.Function {
	return pure{name: "gpus_total", run: countGPUs, definition: function.Definition{
		Summary: "Counts the GPUs of a compute",
		MarkdownDescription: "Returns the number of GPUs that all pods of a compute request together. They include " +
			"all replicas, the head and the workers of a RayCluster, and all groups of a training job or `manifest`. " +
			"An autoscaled compute counts with `max_scale` pods, or groups of a LeaderWorkerSet. Without " +
			"`max_scale`, it counts with one pod, or with 100 if KEDA scales it. A suspended compute has no pods. " +
			"GPUs of NVIDIA, AMD and Intel count, and so does each requested MIG device. Shares of a GPU " +
			"(`gpu_memory`) do not.",
		Parameters: []function.Parameter{function.DynamicParameter{
			Name: "compute", MarkdownDescription: computeDescription,
		}},
		Return: function.Int64Return{},
	}}
}

func countGPUs(ctx context.Context, arguments []tftypes.Value) (any, *function.FuncError) {
	demands, known, err := workloadDemands(ctx, arguments[0])
	switch {
	case err != nil:
		return nil, invalid(0, err)
	case !known:
		return types.Int64Unknown(), nil
	}
	var total int64
	for _, demand := range demands {
		for name, each := range demand.Requests {
			if kind.IsGPU(string(name)) {
				total += each.Value() * demand.MaxPods
			}
		}
	}
	return total, nil
}
