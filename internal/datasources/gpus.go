package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type gpusModel struct {
	Product         types.String      `tfsdk:"product"`
	NodeSelector    map[string]string `tfsdk:"node_selector"`
	SchedulableOnly types.Bool        `tfsdk:"schedulable_only"`
	Products        []gpuProductModel `tfsdk:"products"`
	Capacity        types.Int64       `tfsdk:"capacity"`
	Allocatable     types.Int64       `tfsdk:"allocatable"`
	Free            types.Int64       `tfsdk:"free"`
}

type gpuProductModel struct {
	Product     types.String   `tfsdk:"product"`
	Capacity    types.Int64    `tfsdk:"capacity"`
	Allocatable types.Int64    `tfsdk:"allocatable"`
	Free        types.Int64    `tfsdk:"free"`
	LargestFree types.Int64    `tfsdk:"largest_free"`
	Nodes       []gpuNodeModel `tfsdk:"nodes"`
}

type gpuNodeModel struct {
	Name        types.String `tfsdk:"name"`
	Capacity    types.Int64  `tfsdk:"capacity"`
	Allocatable types.Int64  `tfsdk:"allocatable"`
	Free        types.Int64  `tfsdk:"free"`
	Schedulable types.Bool   `tfsdk:"schedulable"`
}

func gpusSchema() schema.Schema {
	const (
		capacity    = "Total number of GPUs."
		allocatable = "Number of GPUs available to pods, which excludes unhealthy GPUs."
		free        = "Number of GPUs that no pod on the node requests."
	)
	return schema.Schema{
		MarkdownDescription: "Counts the NVIDIA GPUs (`nvidia.com/gpu`) of the cluster by product. Free GPUs are " +
			"computed from the requests of pods that are scheduled to a node and have not terminated. Pods that " +
			"are not scheduled yet do not count. Requires permission to list nodes and pods in the whole cluster.",
		Attributes: map[string]schema.Attribute{
			"product": schema.StringAttribute{Optional: true, Validators: []validator.String{tf.LabelValue()},
				MarkdownDescription: "GPU product to count, as in the node label `nvidia.com/gpu.product`. Defaults " +
					"to all products."},
			"node_selector": schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: tf.Labels(),
				MarkdownDescription: "Labels that a node must have to be counted. Defaults to all nodes."},
			"schedulable_only": schema.BoolAttribute{Optional: true,
				MarkdownDescription: "Whether to exclude nodes that do not accept pods because they are cordoned or " +
					"not ready. Defaults to `false`."},
			"capacity":    computedInt(capacity),
			"allocatable": computedInt(allocatable),
			"free":        computedInt(free),
			"products": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "GPU products, sorted by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"product": computedString("Name of the product. Null for nodes without the label " +
						"`nvidia.com/gpu.product`."),
					"capacity":    computedInt(capacity),
					"allocatable": computedInt(allocatable),
					"free":        computedInt(free),
					"largest_free": computedInt("Largest number of free GPUs on one node, which is the maximum " +
						"that a single pod can get."),
					"nodes": schema.ListNestedAttribute{
						Computed: true, MarkdownDescription: "Nodes with this product, sorted by name.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"name":        computedString("Name of the node."),
							"capacity":    computedInt(capacity),
							"allocatable": computedInt(allocatable),
							"free":        computedInt(free),
							"schedulable": computedBool("Whether the node accepts pods."),
						}},
					},
				}},
			},
		},
	}
}

func readGPUs(ctx context.Context, cluster *kube.Cluster, m *gpusModel) diag.Diagnostics {
	products, err := observe.GPUs(ctx, cluster, observe.GPUFilter{
		Product: m.Product.ValueString(), Schedulable: m.SchedulableOnly.ValueBool(), Selector: m.NodeSelector,
	})
	if err != nil {
		return diag.Diagnostics{tf.Failure(err)}
	}
	m.fill(products)
	return nil
}

func (m *gpusModel) fill(products []observe.GPUProduct) {
	var capacity, allocatable, free int64
	m.Products = make([]gpuProductModel, 0, len(products))
	for _, product := range products {
		sum := summary(product)
		capacity += sum.Capacity.ValueInt64()
		allocatable += sum.Allocatable.ValueInt64()
		free += sum.Free.ValueInt64()
		m.Products = append(m.Products, sum)
	}
	m.Capacity, m.Allocatable, m.Free = types.Int64Value(capacity), types.Int64Value(allocatable),
		types.Int64Value(free)
}

func summary(product observe.GPUProduct) gpuProductModel {
	var capacity, allocatable, free, largest int64
	nodes := make([]gpuNodeModel, 0, len(product.Nodes))
	for _, node := range product.Nodes {
		capacity += node.Capacity
		allocatable += node.Allocatable
		free += node.Free
		largest = max(largest, node.Free)
		nodes = append(nodes, gpuNodeModel{
			Name: types.StringValue(node.Name), Capacity: types.Int64Value(node.Capacity),
			Allocatable: types.Int64Value(node.Allocatable),
			Free:        types.Int64Value(node.Free), Schedulable: types.BoolValue(node.Schedulable),
		})
	}
	return gpuProductModel{
		Product: tf.TextOrNull(product.Product), Capacity: types.Int64Value(capacity),
		Allocatable: types.Int64Value(allocatable),
		Free:        types.Int64Value(free), LargestFree: types.Int64Value(largest), Nodes: nodes,
	}
}
