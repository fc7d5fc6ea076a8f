package datasources

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
)

type gpusModel struct {
	ResourceName    types.String      `tfsdk:"resource_name"`
	ProductLabel    types.String      `tfsdk:"product_label"`
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
	Capacity    int64          `tfsdk:"capacity"`
	Allocatable int64          `tfsdk:"allocatable"`
	Free        int64          `tfsdk:"free"`
	LargestFree int64          `tfsdk:"largest_free"`
	Nodes       []gpuNodeModel `tfsdk:"nodes"`
}

type gpuNodeModel struct {
	Name        string `tfsdk:"name"`
	Capacity    int64  `tfsdk:"capacity"`
	Allocatable int64  `tfsdk:"allocatable"`
	Free        int64  `tfsdk:"free"`
	Schedulable bool   `tfsdk:"schedulable"`
}

const gpusDescription = "Counts the GPUs of the cluster by product. Free GPUs are computed from the requests of " +
	"pods that are scheduled to a node and have not terminated. Pods that are not scheduled yet do not " +
	"count. Requires permission to list nodes and pods in the whole cluster."

func gpusAttributes() tf.Attributes {
	return withCounts(tf.Attributes{
		"resource_name": tf.OptionalText("Extended resource to count, such as `amd.com/gpu` or "+
			"`nvidia.com/mig-1g.10gb`. Defaults to `nvidia.com/gpu`.", tf.LabelKey()),
		"product_label": tf.OptionalText("Node label that contains the product. Defaults to `nvidia.com/gpu.product`, "+
			"`amd.com/gpu.product-name` or `gpu.intel.com/product`, depending on the domain of `resource_name`. "+
			"Resources of other domains have no products by default.", tf.LabelKey()),
		"product": tf.OptionalText("GPU product to count, as in the node label `product_label`. The numbers are 0 if "+
			"no node has it. Defaults to all products.", tf.LabelValue(), stringvalidator.LengthAtLeast(1)),
		"node_selector": tf.LabelMap("Labels that a node must have to be counted. Defaults to all nodes."),
		"schedulable_only": tf.OptionalBool("Whether to exclude nodes that do not accept pods because they are " +
			"cordoned or not ready. Defaults to `false`."),
		"products": tf.ComputedObjects("GPU products, sorted by name.", withCounts(tf.Attributes{
			"product": tf.ComputedString("Name of the product. Null for nodes without the label `product_label`."),
			"largest_free": tf.ComputedInteger("Largest number of free GPUs on one node, which is the maximum that a " +
				"single pod can get."),
			"nodes": tf.ComputedObjects("Nodes with this product, sorted by name.", withCounts(tf.Attributes{
				"name":        tf.ComputedString("Name of the node."),
				"schedulable": tf.ComputedBool("Whether the node accepts pods."),
			})),
		})),
	})
}

// withCounts adds the numbers of GPUs of the cluster, a product or a node.
func withCounts(attributes tf.Attributes) tf.Attributes {
	attributes["capacity"] = tf.ComputedInteger("Total number of GPUs.")
	attributes["allocatable"] = tf.ComputedInteger("Number of GPUs available to pods, which excludes unhealthy GPUs.")
	attributes["free"] = tf.ComputedInteger("Number of GPUs that no pod on the node requests.")
	return attributes
}

func readGPUs(ctx context.Context, data *tf.ProviderData, m *gpusModel) diag.Diagnostics {
	resource := cmp.Or(m.ResourceName.ValueString(), kind.GPUResource)
	filter := observe.GPUFilter{
		Resource: resource, ProductLabel: cmp.Or(m.ProductLabel.ValueString(), kind.GPUProductLabelOf(resource)),
		Product: m.Product.ValueString(), Schedulable: m.SchedulableOnly.ValueBool(), Selector: m.NodeSelector,
	}
	if filter.Product != "" && filter.ProductLabel == "" {
		return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(path.Root("product"), "Unknown product label",
			fmt.Sprintf("product is %q, but the node label that contains the products of %s is not known.\n\nNext "+
				"step: Set `product_label`, or select the nodes with `node_selector`.", filter.Product,
				filter.Resource))}
	}
	products, err := observe.GPUs(ctx, data.Cluster.API, filter)
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
		capacity += sum.Capacity
		allocatable += sum.Allocatable
		free += sum.Free
		m.Products = append(m.Products, sum)
	}
	m.Capacity, m.Allocatable, m.Free = types.Int64Value(capacity), types.Int64Value(allocatable),
		types.Int64Value(free)
}

func summary(product observe.GPUProduct) gpuProductModel {
	sum := gpuProductModel{Product: tf.TextOrNull(product.Product), Nodes: make([]gpuNodeModel, 0, len(product.Nodes))}
	for _, node := range product.Nodes {
		sum.Capacity += node.Capacity
		sum.Allocatable += node.Allocatable
		sum.Free += node.Free
		sum.LargestFree = max(sum.LargestFree, node.Free)
		sum.Nodes = append(sum.Nodes, gpuNodeModel{Name: node.Name, Capacity: node.Capacity,
			Allocatable: node.Allocatable, Free: node.Free, Schedulable: node.Schedulable})
	}
	return sum
}
