package observe

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/test/kubetest"
)

func gpuNodeOf(name, product, gpus string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if product != "" {
		n.Labels[kind.GPUProductLabel] = product
	}
	if gpus != "" {
		n.Status.Capacity = corev1.ResourceList{kind.GPUResource: resource.MustParse(gpus)}
		n.Status.Allocatable = n.Status.Capacity
	}
	return n
}

func TestGPUForecastWarnsOfPodsThatFitOnNoNode(t *testing.T) {
	t.Parallel()
	h100 := map[string]string{kind.GPUProductLabel: "H100"}
	nodes := []corev1.Node{gpuNodeOf("a", "H100", "8"), gpuNodeOf("b", "H100", "4"), gpuNodeOf("c", "L4", "1"),
		gpuNodeOf("d", "", "")}
	for name, test := range map[string]struct {
		nodes   []corev1.Node
		demand  GPUDemand
		summary string // "" without a cause
	}{
		"a pod that fits":     {nodes, GPUDemand{Each: 8}, ""},
		"as many pods as fit": {nodes, GPUDemand{Each: 4, Pods: 3, NodeSelector: h100}, ""},
		"a product that no node has": {nodes,
			GPUDemand{Each: 1, NodeSelector: map[string]string{kind.GPUProductLabel: "B200"}},
			"No node has the label nvidia.com/gpu.product=B200. Existing values: H100 (2 nodes), L4 (1 node)."},
		"a label of a node without GPUs": {[]corev1.Node{gpuNodeOf("d", "", "")},
			GPUDemand{Each: 1, NodeSelector: map[string]string{"zone": "east"}},
			"No node has the label zone=east, with any value."},
		"no GPUs in the cluster": {nodes[3:], GPUDemand{Each: 1},
			"requests 1 nvidia.com/gpu, and no node has any."},
		"no nodes in the cluster": {nil, GPUDemand{Each: 1}, "The cluster has no nodes."},
		"more GPUs than any node has": {nodes, GPUDemand{Each: 16},
			"requests 16 nvidia.com/gpu, and the largest of 3 GPU nodes has 8."},
		"more GPUs than any selected node has": {nodes, GPUDemand{Each: 2,
			NodeSelector: map[string]string{kind.GPUProductLabel: "L4"}}, "requests 2 nvidia.com/gpu, " +
			"and the only GPU node that it may run on has 1."},
		"more pods than fit": {nodes, GPUDemand{Each: 4, Pods: 4, NodeSelector: h100},
			"4 pods cannot run at the same time: each requests 4 nvidia.com/gpu, and the 2 nodes that can run such a " +
				"pod can run 3 in total."},
		"a node that is being set up": {[]corev1.Node{gpuNodeOf("e", "H200", "")}, GPUDemand{Each: 8, Pods: 4}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []*corev1.Node{}
			for i := range test.nodes {
				nodes = append(nodes, withGPUsOnly(&test.nodes[i]))
			}
			cause := gpuForecast(nodes, test.demand, "Deployment ml/trainer")
			switch {
			case test.summary == "" && cause != nil:
				t.Errorf("unexpected cause: %s", cause.Summary)
			case test.summary != "" && (cause == nil || !strings.Contains(cause.Summary, test.summary)):
				t.Errorf("got %+v, want %q", cause, test.summary)
			}
		})
	}
}

// nodesAPI is an API server with two pages of nodes, and optionally an autoscaler.
func nodesAPI(lists *atomic.Int64, autoscaler, mayList bool) kubetest.API {
	return kubetest.API{Answer: func(verb, path string, request *http.Request) (int, any) {
		switch {
		case strings.HasSuffix(path, "/selfsubjectaccessreviews"):
			return kubetest.Reviewed(request, func(string) bool { return mayList })
		case verb == "list" && strings.HasSuffix(path, "/nodes") && !mayList:
			return kubetest.Failing(http.StatusForbidden, metav1.StatusReasonForbidden)
		case verb == "list" && strings.HasSuffix(path, "/nodes"):
			lists.Add(1)
			page := corev1.NodeList{Items: []corev1.Node{gpuNodeOf("a", "L4", "1")}}
			if request.URL.Query().Get("continue") == "" {
				page.Continue = "more"
			}
			return http.StatusOK, page
		case autoscaler && strings.HasSuffix(path, "/cluster-autoscaler-status"):
			return http.StatusOK, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "cluster-autoscaler-status"}}
		}
		return http.StatusNotFound, metav1.Status{Reason: metav1.StatusReasonNotFound,
			Details: &metav1.StatusDetails{Name: "x"}}
	}}
}

func TestGPUForecastListsNodesOncePerRun(t *testing.T) {
	t.Parallel()
	var lists atomic.Int64
	cluster := clusterOf(t, nodesAPI(&lists, false, true))
	for _, each := range []int64{2, 3, 4} {
		cause, err := GPUForecast(t.Context(), cluster, GPUDemand{Each: each}, "Deployment ml/trainer")
		if err != nil || cause == nil || !strings.Contains(cause.Summary, "the largest of 2 GPU nodes has 1") {
			t.Fatalf("%v, %v", cause, err)
		}
	}
	if lists.Load() != 2 {
		t.Errorf("nodes were listed by %d requests, want one for each of two pages", lists.Load())
	}
}

func TestGPUForecastReportsNothing(t *testing.T) {
	t.Parallel()
	for name, api := range map[string]struct{ autoscaler, mayList bool }{
		"an autoscaler adds nodes":         {true, true},
		"no permission to list nodes":      {false, false},
		"an autoscaler, and no permission": {true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cause, err := GPUForecast(t.Context(), clusterOf(t,
				nodesAPI(&atomic.Int64{}, api.autoscaler, api.mayList)), GPUDemand{Each: 99}, "Deployment ml/trainer")
			if err != nil || cause != nil {
				t.Errorf("%v, %v", cause, err)
			}
		})
	}
}
