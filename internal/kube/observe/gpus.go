package observe

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podresources "k8s.io/component-helpers/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// GPUFilter selects GPUs and nodes. An empty field matches all nodes.
type GPUFilter struct {
	Resource     string // extended resource, such as kind.GPUResource; required
	ProductLabel string // node label with the product, or "" if the resource has none
	Product      string // value of ProductLabel
	Selector     map[string]string
	Schedulable  bool // exclude nodes that currently accept no pods: cordoned, not ready
}

// GPUNode is a node with GPUs, with integer numbers of GPUs.
type GPUNode struct {
	Name, Product string
	// Capacity is the total number, Allocatable the number available to pods, and
	// Free the allocatable number without the requests of pods on the node.
	Capacity, Allocatable, Free int64
	Schedulable                 bool // it is ready and not cordoned
}

// GPUProduct is a product with its nodes, sorted by name.
type GPUProduct struct {
	Product string // "" for nodes without the label
	Nodes   []GPUNode
}

// GPUs returns the GPU products of the cluster, sorted by name. It sends one
// paginated list of nodes and one of pods.
func GPUs(ctx context.Context, api *kube.API, filter GPUFilter) ([]GPUProduct, error) {
	nodes := map[string]*GPUNode{}
	selector := labels.Merge(filter.Selector, nil)
	if filter.Product != "" {
		selector[filter.ProductLabel] = filter.Product
	}
	options := metav1.ListOptions{LabelSelector: selector.String()}
	err := kube.Each(ctx, api, kube.Ref{Kind: kind.Node()}, options, func(live *corev1.Node) {
		if node, ok := gpuNode(live, filter); ok && (node.Schedulable || !filter.Schedulable) {
			nodes[node.Name] = &node
		}
	})
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	options = metav1.ListOptions{FieldSelector: "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}
	err = kube.Each(ctx, api, kube.Ref{Kind: kind.Pod()}, options, func(pod *corev1.Pod) {
		if node := nodes[pod.Spec.NodeName]; node != nil {
			// like the scheduler, with init containers
			requests := podresources.PodRequests(pod, podresources.PodResourcesOptions{})
			gpus := requests[corev1.ResourceName(filter.Resource)]
			node.Free = max(0, node.Free-gpus.Value())
		}
	})
	return byProduct(nodes), err
}

// gpuNode converts a node. It returns false for a node without GPUs.
func gpuNode(node *corev1.Node, filter GPUFilter) (GPUNode, bool) {
	name := corev1.ResourceName(filter.Resource)
	capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
	n := GPUNode{
		Name: node.Name, Product: node.Labels[filter.ProductLabel],
		Capacity: capacity.Value(), Allocatable: allocatable.Value(), Free: allocatable.Value(),
		Schedulable: !node.Spec.Unschedulable &&
			slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			}),
	}
	return n, n.Capacity > 0 || n.Allocatable > 0
}

func byProduct(nodes map[string]*GPUNode) []GPUProduct {
	grouped := map[string][]GPUNode{}
	for _, node := range nodes {
		grouped[node.Product] = append(grouped[node.Product], *node)
	}
	products := make([]GPUProduct, 0, len(grouped))
	for product, nodes := range grouped {
		slices.SortFunc(nodes, func(a, b GPUNode) int { return strings.Compare(a.Name, b.Name) })
		products = append(products, GPUProduct{Product: product, Nodes: nodes})
	}
	slices.SortFunc(products, func(a, b GPUProduct) int { return cmp.Compare(a.Product, b.Product) })
	return products
}
