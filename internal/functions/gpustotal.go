package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

type gpusTotal struct{}

func newGPUsTotal() function.Function { return gpusTotal{} }

// Metadata names the function.
func (gpusTotal) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "gpus_total"
}

// Definition describes the function.
func (gpusTotal) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Counts the GPUs of a compute",
		MarkdownDescription: "Returns the number of GPUs that all pods of a compute request together. They include " +
			"all replicas, the head and the workers of a RayCluster, and all groups of a training job or `manifest`. " +
			"An autoscaled compute counts with `max_scale` pods, or with one pod if it has no limit. A suspended " +
			"compute has no pods. GPUs of NVIDIA, AMD and Intel count, and so does each requested MIG device. Shares " +
			"of a GPU (`gpu_memory`) do not.",
		Parameters: []function.Parameter{function.DynamicParameter{
			Name: "compute", MarkdownDescription: computeDescription,
		}},
		Return: function.Int64Return{},
	}
}

// Run counts the GPUs of the argument.
func (gpusTotal) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var argument types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &argument); resp.Error != nil {
		return
	}
	demands, known, err := workloadDemands(ctx, argument)
	switch {
	case err != nil:
		resp.Error = function.NewArgumentFuncError(0, sentence(err))
	case !known:
		resp.Error = resp.Result.Set(ctx, types.Int64Unknown())
	default:
		resp.Error = resp.Result.Set(ctx, totalGPUs(demands))
	}
}

func totalGPUs(demands []manifest.GroupDemand) int64 {
	var total int64
	for _, demand := range demands {
		for name, each := range demand.Requests {
			if kind.IsGPU(string(name)) {
				total += each.Value() * demand.MaxPods
			}
		}
	}
	return total
}
