package observe

import (
	"cmp"
	"slices"
)

// FitGPUs reports whether pods get their GPUs at the same time on the free GPUs of nodes. Nodes that accept no pods
// are not used. A pod that selects a product by productLabel gets only nodes with it; productLabel is "" for nodes
// whose products are not known. Other labels are ignored.
//
// Pods with the most GPUs are placed first, each on the node with the fewest free GPUs that are sufficient. If the
// numbers of GPUs of all pods are the same, or each divides the next larger one, such as 1, 2, 4 and 8, and the pods
// select the same nodes, this finds a placement if there is one.
func FitGPUs(nodes []GPUNode, demands []GPUDemand, productLabel string) bool {
	free := slices.DeleteFunc(slices.Clone(nodes), func(n GPUNode) bool { return !n.Schedulable })
	largestFirst := slices.SortedStableFunc(slices.Values(demands), func(a, b GPUDemand) int {
		return cmp.Compare(b.Each, a.Each)
	})
	for _, demand := range largestFirst {
		if demand.Each <= 0 {
			continue
		}
		product := demand.NodeSelector[productLabel] // no label has the key ""
		for range demand.Pods {
			node := tightestNode(free, demand.Each, product)
			if node == nil {
				return false
			}
			node.Free -= demand.Each
		}
	}
	return true
}

// tightestNode returns the node with the fewest free GPUs that are sufficient, or nil. product is "" for any.
func tightestNode(nodes []GPUNode, gpus int64, product string) *GPUNode {
	var best *GPUNode
	for i := range nodes {
		node := &nodes[i]
		if node.Free < gpus || product != "" && node.Product != product {
			continue
		}
		if best == nil || node.Free < best.Free {
			best = node
		}
	}
	return best
}
