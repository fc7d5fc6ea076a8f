package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// GPUDemand contains the GPU requests of a compute.
type GPUDemand struct {
	NodeSelector map[string]string // of its pods
	Each         int64             // GPUs of one pod
	Pods         int64             // that run at the same time; 0 means unknown
}

// GPUForecast returns the cause that will prevent the pods of a compute from
// ever getting GPUs, as far as nodes show it before creation: a product that no
// node has, more GPUs per pod than any node has, or more pods than all nodes
// can run. workload is the name for messages. It returns nothing without
// permission to list nodes, or if nodes are added on demand. One list of nodes
// is kept for the complete run. An error means that the request failed.
func GPUForecast(ctx context.Context, c *kube.Cluster, demand GPUDemand, workload string) (*ready.Cause, error) {
	if demand.Each <= 0 || Autoscaled(ctx, c) {
		return nil, nil
	}
	nodes, err := kube.Recall(c.API, "GPU nodes", func() ([]*corev1.Node, error) {
		nodes := []*corev1.Node{}
		err := kube.Each(ctx, c.API, kube.Ref{Kind: kind.Node()}, metav1.ListOptions{},
			func(node *corev1.Node) { nodes = append(nodes, withGPUsOnly(node)) })
		if class := kube.ClassOf(err); class == kube.Denied || class == kube.Refused {
			return nil, nil // nodes are unknown for this run
		}
		return nodes, err
	})
	if err != nil || nodes == nil {
		return nil, err
	}
	cause := gpuForecast(nodes, demand, workload)
	if cause != nil && c.NodeAutoscaling() == nil {
		cause.Hint = ready.OrNodesOnDemand(cause.Hint)
	}
	return cause, nil
}

// unknownCount stands for an unknown number of GPUs. It exceeds that of any node.
const unknownCount = 1 << 20

// withGPUsOnly returns a node with its labels and the maximum of GPUs that it can ever provide. A node with GPU labels
// that does not offer GPUs yet is still being set up, and may have any number.
func withGPUsOnly(node *corev1.Node) *corev1.Node {
	n, has := gpuNode(node, GPUFilter{Resource: kind.GPUResource, ProductLabel: kind.GPUProductLabel})
	gpus := max(n.Capacity, n.Allocatable)
	if !has && (n.Product != "" || node.Labels[kind.GPUPresentLabel] == "true") {
		gpus = unknownCount
	}
	out := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels}}
	out.Status.Capacity = corev1.ResourceList{kind.GPUResource: *resource.NewQuantity(gpus, resource.DecimalSI)}
	return out
}

// gpuForecast compares only labels and GPUs: other requests and taints are left to the scheduler.
func gpuForecast(nodes []*corev1.Node, demand GPUDemand, workload string) *ready.Cause {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		NodeSelector: demand.NodeSelector, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			kind.GPUResource: *resource.NewQuantity(demand.Each, resource.DecimalSI)}}}},
	}}
	c := ready.ForecastNodes(pod, nodes, int(demand.Pods))
	if c != nil {
		c.Object, c.Command = workload, "kubectl get nodes -L "+kind.GPUProductLabel
	}
	return c
}
