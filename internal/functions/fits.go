package functions

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	corev1 "k8s.io/api/core/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

func newFits() function.Function {
	return pure{name: "fits", run: fits, definition: function.Definition{
		Summary: "Tells whether a compute fits on free GPUs",
		MarkdownDescription: "Returns whether all pods of a compute get their GPUs at the same time, each pod on a " +
			"single node. It uses the free GPUs of the nodes that accept pods, and the product that the pods select. " +
			"An autoscaled compute counts with one pod. A compute without GPUs always fits. CPUs, memory, taints, " +
			"other node labels, quotas and preemption are not considered. The function is for computes that do not " +
			"exist yet, because the GPUs of a running compute are not free.",
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "compute", MarkdownDescription: computeDescription},
			function.DynamicParameter{Name: "gpus", MarkdownDescription: "The data source " +
				"[`kt_gpus`](../data-sources/gpus.md), or an object with its attributes `resource_name`, " +
				"`product_label` and `products`. The first two default as in the data source."},
		},
		Return: function.BoolReturn{},
	}}
}

func fits(ctx context.Context, arguments []tftypes.Value) (any, *function.FuncError) {
	demands, known, err := workloadDemands(ctx, arguments[0])
	if err != nil {
		return nil, invalid(0, err)
	}
	offered, offeredKnown, err := inventoryOf(arguments[1])
	switch {
	case err != nil:
		return nil, invalid(1, err)
	case !known || !offeredKnown:
		return types.BoolUnknown(), nil
	}
	if others := otherGPUs(demands, offered.resource); len(others) > 0 {
		return nil, function.NewArgumentFuncError(1, fmt.Sprintf("The compute requests %s, but the argument counts "+
			"%s.\n\nNext step: Set resource_name of the data source kt_gpus.", strings.Join(others, ", "),
			offered.resource))
	}
	return offered.fit(demands), nil
}

// otherGPUs returns the extended resources for GPUs that pods request, except the offered one, sorted by name.
func otherGPUs(demands []manifest.GroupDemand, offered string) []string {
	others := map[string]bool{}
	for _, demand := range demands {
		for name, requested := range demand.Requests {
			if kind.IsGPU(string(name)) && requested.Sign() > 0 && string(name) != offered {
				others[string(name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(others))
}

// inventory is the part of the data source kt_gpus that decides whether pods fit.
type inventory struct {
	resource, productLabel string
	nodes                  []observe.GPUNode
}

func (i inventory) fit(demands []manifest.GroupDemand) bool {
	requests := make([]observe.GPUDemand, len(demands))
	for at, demand := range demands {
		each := demand.Requests[corev1.ResourceName(i.resource)]
		requests[at] = observe.GPUDemand{NodeSelector: demand.NodeSelector, Each: each.Value(), Pods: demand.Pods}
	}
	return observe.FitGPUs(i.nodes, requests, i.productLabel)
}

// inventoryOf decodes an argument. It returns false if a part of it is unknown.
func inventoryOf(gpus tftypes.Value) (inventory, bool, error) {
	if !gpus.IsFullyKnown() {
		return inventory{}, false, nil
	}
	products, listed := attribute[[]tftypes.Value](gpus, "products")
	if !listed {
		return inventory{}, false, fmt.Errorf("the GPUs must be an object with the attribute products, a list")
	}
	resource, _ := attribute[string](gpus, "resource_name")
	label, _ := attribute[string](gpus, "product_label")
	out := inventory{resource: cmp.Or(resource, kind.GPUResource)}
	out.productLabel = cmp.Or(label, kind.GPUProductLabelOf(out.resource))
	for i, product := range products {
		name, _ := attribute[string](product, "product")
		nodes, ok := attribute[[]tftypes.Value](product, "nodes")
		if !ok {
			return inventory{}, false, fmt.Errorf("the element products[%d] must be an object with the attribute "+
				"nodes, a list", i)
		}
		for j, node := range nodes {
			number, isNumber := attribute[big.Float](node, "free")
			schedulable, isBool := attribute[bool](node, "schedulable")
			free, accuracy := number.Int64()
			if !isNumber || accuracy != big.Exact || !isBool {
				return inventory{}, false, fmt.Errorf("the element products[%d].nodes[%d] must be an object with the "+
					"attributes free, an integer, and schedulable, a bool", i, j)
			}
			out.nodes = append(out.nodes, observe.GPUNode{Product: name, Free: free, Schedulable: schedulable})
		}
	}
	return out, true, nil
}
