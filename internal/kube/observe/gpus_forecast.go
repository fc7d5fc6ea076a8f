package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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

// gpuPlace contains the relevant fields of a node with GPUs.
type gpuPlace struct {
	labels map[string]string
	gpus   int64 // maximum that it can ever provide
}

// GPUForecast returns the cause that will prevent the pods of a compute from
// ever getting GPUs, as far as nodes show it before creation: a product that no
// node has, more GPUs per pod than any node has, or more pods than all nodes
// can run. workload is the name for messages. It returns nothing without
// permission to list nodes, or if nodes are added on demand. One list of nodes
// is kept for the complete run. An error means that the request failed.
func GPUForecast(ctx context.Context, c *kube.Cluster, demand GPUDemand, workload string) ([]*ready.Cause, error) {
	if demand.Each <= 0 || Autoscaled(ctx, c) {
		return nil, nil
	}
	places, err := kube.Recall(c, "GPU nodes", func() ([]gpuPlace, error) {
		places := []gpuPlace{}
		err := kube.Each[corev1.NodeList](ctx, c, kube.Ref{Kind: kind.Node()}, metav1.ListOptions{},
			func(node *corev1.Node) { places = append(places, placeOf(node)) })
		if class := kube.ClassOf(err); class == kube.Denied || class == kube.Refused {
			return nil, nil // nodes are unknown for this run
		}
		return places, err
	})
	if err != nil || places == nil {
		return nil, err
	}
	if cause := gpuForecast(places, demand, workload); cause != nil {
		if c.NodeAutoscaling() == nil {
			cause.Hint += ready.NodesOnDemand
		}
		return []*ready.Cause{cause}, nil
	}
	return nil, nil
}

// placeOf converts a node. A node with GPU labels that does not offer GPUs yet
// is still being set up, and may have any number.
func placeOf(node *corev1.Node) gpuPlace {
	n, has := gpuNode(node, NVIDIAGPUs())
	place := gpuPlace{labels: node.Labels, gpus: max(n.Capacity, n.Allocatable)}
	if !has && (n.Product != "" || node.Labels[kind.GPUPresentLabel] == "true") {
		place.gpus = unknownCount
	}
	return place
}

// unknownCount stands for an unknown number of GPUs. It exceeds that of any node.
const unknownCount = 1 << 20

// gpuForecast compares with the total GPUs of nodes, not the free ones.
func gpuForecast(places []gpuPlace, demand GPUDemand, workload string) *ready.Cause {
	c := &ready.Cause{Reason: ready.ReasonUnschedulable, Object: workload, Subject: "gpus"}
	chosen := labels.SelectorFromSet(demand.NodeSelector)
	var largest, room int64
	var nodes int
	for _, place := range places {
		if place.gpus == 0 || !chosen.Matches(labels.Set(place.labels)) {
			continue
		}
		nodes++
		largest = max(largest, place.gpus)
		room += place.gpus / demand.Each
	}
	where := ""
	if len(demand.NodeSelector) > 0 {
		where = " with " + chosen.String()
	}
	each := ready.Number(int(demand.Each), "GPU")
	c.Command = "kubectl get nodes -L " + kind.GPUProductLabel
	switch {
	case nodes == 0 && where == "":
		c.Summary = fmt.Sprintf("%s requests %s, and no node of the cluster has any.", workload, each)
		c.Hint = "Add nodes with GPUs, or remove " + ready.FieldGPUs + "."
	case nodes == 0:
		c.Subject = "GPU product"
		c.Summary = fmt.Sprintf("%s requests %s, and no node%s has any; %s.", workload, each, where,
			offered(places))
		c.Hint = "Correct " + ready.FieldNodeLabels + ", or add such nodes."
	case demand.Each > largest:
		c.Summary = fmt.Sprintf("A pod of %s requests %s, and the largest of %d nodes%s has %d.", workload,
			each, nodes, where, largest)
		c.Hint = "Reduce " + ready.FieldGPUs + " to at most that number, distribute the work over more pods, or add " +
			"larger nodes."
	case demand.Pods > room:
		c.Summary = fmt.Sprintf("%d pods of %s request %s each, and the %d nodes%s can run %d such pods when "+
			"nothing else runs there.", demand.Pods, workload, each, nodes, where, room)
		c.Hint = "Reduce the number of pods or the GPUs of each pod, or add nodes."
	default:
		return nil
	}
	return c
}

// offered lists the existing products.
func offered(places []gpuPlace) string {
	products := map[string]bool{}
	for _, place := range places {
		if place.gpus > 0 && place.labels[kind.GPUProductLabel] != "" {
			products[place.labels[kind.GPUProductLabel]] = true
		}
	}
	if len(products) == 0 {
		return "no node has a product label"
	}
	return "existing products: " + ready.Listed(slices.Sorted(maps.Keys(products)), 8)
}
