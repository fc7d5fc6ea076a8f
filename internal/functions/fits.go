package functions

import (
	"cmp"
	"context"
	"fmt"
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

func fits(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var argument, gpus types.Dynamic
	if failed := arguments.Get(ctx, &argument, &gpus); failed != nil {
		return nil, failed
	}
	demands, known, err := workloadDemands(ctx, argument)
	if err != nil {
		return nil, invalid(0, err)
	}
	offered, offeredKnown, err := inventoryOf(ctx, gpus)
	switch {
	case err != nil:
		return nil, invalid(1, err)
	case !known || !offeredKnown:
		return types.BoolUnknown(), nil
	}
	others := slices.DeleteFunc(gpusOf(demands, kind.IsGPU), func(name string) bool { return name == offered.resource })
	if len(others) > 0 {
		return nil, function.NewArgumentFuncError(1, fmt.Sprintf("The compute requests %s, but the argument counts "+
			"%s.\n\nNext step: Set resource_name of the data source kt_gpus.", strings.Join(others, ", "),
			offered.resource))
	}
	return offered.fit(demands), nil
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
func inventoryOf(ctx context.Context, argument types.Dynamic) (inventory, bool, error) {
	raw, err := argument.ToTerraformValue(ctx)
	if err != nil {
		return inventory{}, false, err
	}
	if !raw.IsFullyKnown() {
		return inventory{}, false, nil
	}
	gpus, ok := plain(raw).(map[string]any)
	products, listed := gpus["products"].([]any)
	if !ok || !listed {
		return inventory{}, false, fmt.Errorf("the GPUs must be an object with the attribute products, a list")
	}
	resource, _ := gpus["resource_name"].(string)
	label, _ := gpus["product_label"].(string)
	out := inventory{resource: cmp.Or(resource, kind.GPUResource)}
	out.productLabel = cmp.Or(label, kind.GPUProductLabelOf(out.resource))
	for i, product := range products {
		attributes, _ := product.(map[string]any)
		name, _ := attributes["product"].(string)
		nodes, ok := attributes["nodes"].([]any)
		if !ok {
			return inventory{}, false, fmt.Errorf("the element products[%d] must be an object with the attribute "+
				"nodes, a list", i)
		}
		for j, item := range nodes {
			node, _ := item.(map[string]any)
			free, isNumber := node["free"].(int64)
			schedulable, isBool := node["schedulable"].(bool)
			if !isNumber || !isBool {
				return inventory{}, false, fmt.Errorf("the element products[%d].nodes[%d] must be an object with the "+
					"attributes free, an integer, and schedulable, a bool", i, j)
			}
			out.nodes = append(out.nodes, observe.GPUNode{Product: name, Free: free, Schedulable: schedulable})
		}
	}
	return out, true, nil
}

// plain converts a known value to maps, lists, strings, integers and booleans. Other values are nil.
func plain(value tftypes.Value) any {
	if value.IsNull() {
		return nil
	}
	var entries map[string]tftypes.Value
	var items []tftypes.Value
	var text string
	var number big.Float
	var flag bool
	switch typ := value.Type(); {
	case value.As(&text) == nil:
		return text
	case value.As(&flag) == nil:
		return flag
	case value.As(&number) == nil:
		if integer, accuracy := number.Int64(); accuracy == big.Exact {
			return integer
		}
	case (typ.Is(tftypes.Object{}) || typ.Is(tftypes.Map{})) && value.As(&entries) == nil:
		out := make(map[string]any, len(entries))
		for name, entry := range entries {
			out[name] = plain(entry)
		}
		return out
	case value.As(&items) == nil:
		out := make([]any, len(items))
		for i, item := range items {
			out[i] = plain(item)
		}
		return out
	}
	return nil
}
