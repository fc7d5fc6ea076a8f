package datasources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

// gpusSource is the data source kt_gpus.
type gpusSource struct{ source }

var _ datasource.DataSourceWithConfigure = (*gpusSource)(nil)

func (s *gpusSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_gpus"
}

type gpusModel struct {
	Product         types.String `tfsdk:"product"`
	NodeSelector    types.Map    `tfsdk:"node_selector"`
	SchedulableOnly types.Bool   `tfsdk:"schedulable_only"`
	Products        types.List   `tfsdk:"products"`
	Capacity        types.Int64  `tfsdk:"capacity"`
	Allocatable     types.Int64  `tfsdk:"allocatable"`
	Free            types.Int64  `tfsdk:"free"`
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

func gpuProductType() attr.Type {
	number := types.Int64Type
	node := types.ObjectType{AttrTypes: map[string]attr.Type{
		"name": types.StringType, "capacity": number, "allocatable": number, "free": number, "schedulable": types.BoolType,
	}}
	return types.ObjectType{AttrTypes: map[string]attr.Type{
		"product": types.StringType, "capacity": number, "allocatable": number, "free": number, "largest_free": number, "nodes": types.ListType{ElemType: node},
	}}
}

func (s *gpusSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	const (
		capacity    = "GPUs that there are."
		allocatable = "GPUs that pods may use: those that work."
		free        = "GPUs that no pod on the node requests."
	)
	resp.Schema = schema.Schema{
		MarkdownDescription: "Counts the NVIDIA GPUs of the cluster by product, in whole ones (`nvidia.com/gpu`). What is free counts from the requests of the pods that have a node and have not ended; pods that still wait for one hold nothing. It needs the right to list nodes and pods of the whole cluster.",
		Attributes: map[string]schema.Attribute{
			"product":          schema.StringAttribute{Optional: true, Validators: []validator.String{tf.LabelValue()}, MarkdownDescription: "Only nodes with this product, the value of their label `nvidia.com/gpu.product`."},
			"node_selector":    schema.MapAttribute{Optional: true, ElementType: types.StringType, Validators: tf.Labels(), MarkdownDescription: "Only nodes with these labels."},
			"schedulable_only": schema.BoolAttribute{Optional: true, MarkdownDescription: "Leave out nodes that take no pods now: cordoned, or not ready. Default: false."},
			"capacity":         computedInt(capacity),
			"allocatable":      computedInt(allocatable),
			"free":             computedInt(free),
			"products": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The products, by name.",
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"product":      computedString("Name of the product; null for nodes that don't say which they have."),
					"capacity":     computedInt(capacity),
					"allocatable":  computedInt(allocatable),
					"free":         computedInt(free),
					"largest_free": computedInt("The most GPUs that are free on one node, which is what a single pod can get."),
					"nodes": schema.ListNestedAttribute{
						Computed: true, MarkdownDescription: "The nodes that have it, by name.",
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"name":        computedString("Name of the node."),
							"capacity":    computedInt(capacity),
							"allocatable": computedInt(allocatable),
							"free":        computedInt(free),
							"schedulable": computedBool("Whether it takes pods now."),
						}},
					},
				}},
			},
		},
	}
}

func (s *gpusSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m gpusModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster := s.cluster(req, resp)
	if cluster == nil {
		return
	}
	filter := kube.GPUFilter{Product: m.Product.ValueString(), Schedulable: m.SchedulableOnly.ValueBool()}
	resp.Diagnostics.Append(m.NodeSelector.ElementsAs(ctx, &filter.Selector, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	products, err := cluster.GPUs(ctx, filter)
	if err != nil {
		resp.Diagnostics.Append(tf.Failure(err))
		return
	}
	resp.Diagnostics.Append(m.take(ctx, products)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func (m *gpusModel) take(ctx context.Context, products []kube.GPUProduct) diag.Diagnostics {
	var capacity, allocatable, free int64
	all := make([]gpuProductModel, 0, len(products))
	for _, product := range products {
		sum := summary(product)
		capacity += sum.Capacity.ValueInt64()
		allocatable += sum.Allocatable.ValueInt64()
		free += sum.Free.ValueInt64()
		all = append(all, sum)
	}
	m.Capacity, m.Allocatable, m.Free = types.Int64Value(capacity), types.Int64Value(allocatable), types.Int64Value(free)
	var diags diag.Diagnostics
	m.Products, diags = types.ListValueFrom(ctx, gpuProductType(), all)
	return diags
}

func summary(product kube.GPUProduct) gpuProductModel {
	var capacity, allocatable, free, largest int64
	nodes := make([]gpuNodeModel, 0, len(product.Nodes))
	for _, node := range product.Nodes {
		capacity += node.Capacity
		allocatable += node.Allocatable
		free += node.Free
		largest = max(largest, node.Free)
		nodes = append(nodes, gpuNodeModel{
			Name: types.StringValue(node.Name), Capacity: types.Int64Value(node.Capacity), Allocatable: types.Int64Value(node.Allocatable),
			Free: types.Int64Value(node.Free), Schedulable: types.BoolValue(node.Schedulable),
		})
	}
	return gpuProductModel{
		Product: textOrNull(product.Product), Capacity: types.Int64Value(capacity), Allocatable: types.Int64Value(allocatable),
		Free: types.Int64Value(free), LargestFree: types.Int64Value(largest), Nodes: nodes,
	}
}
