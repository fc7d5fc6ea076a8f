package compute

import (
	"context"
	"iter"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// NewLister returns the list resource.
func NewLister() tflist.ListResource {
	return &lifecycle.Lister[model, privateState]{Resource: lifecycle.New[model](resourceKind(), hooks{}),
		Filters: filters, Search: decodeSearch}
}

// filter is the configuration of the list resource.
type filter struct {
	lifecycle.Filter

	GPUType types.String `tfsdk:"gpu_type"`
	Idle    types.Bool   `tfsdk:"idle"`
	All     types.Bool   `tfsdk:"all"`
}

func filters() schema.Schema {
	return lifecycle.FilterSchema("computes", map[string]schema.Attribute{
		"gpu_type": tf.OptionalText("GPU product of the nodes that the pods select (label `nvidia.com/gpu.product`), "+
			"or any node label as `key: value`, like `gpu_type` of the resource.", tf.GPUType()),
		"idle": tf.OptionalBool("`true` for computes without a ready pod: suspended, scaled to zero, waiting or " +
			"failing; `false` for computes with at least one ready pod. Defaults to both. With it, the pods of the " +
			"computes are listed too. Without permission to do so, the list is empty, with a warning."),
		"all": tf.OptionalBool("Whether to list also workloads that are neither from this provider nor from " +
			"Kubetorch and whose pods request no GPUs. Defaults to `false`."),
	})
}

func decodeSearch(ctx context.Context, config tfsdk.Config) (lifecycle.Search, diag.Diagnostics) {
	var f filter
	diags := config.Get(ctx, &f)
	gpuType := func(label string) (of manifest.NodeLabel, err error) {
		if !f.GPUType.IsNull() {
			of, err = manifest.ParseGPUType(f.GPUType.ValueString(), label)
		}
		return of, err
	}
	if _, err := gpuType(""); err != nil {
		diags.Append(invalidAttribute(path.Root("gpu_type"), "", err))
	}
	return lifecycle.Search{Filter: f.Filter,
		Find: func(ctx context.Context, query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
			return func(yield func(lifecycle.Item, error) bool) {
				of, _ := gpuType(query.GPUTypeLabel) // which is valid
				s := search{Query: query, filter: f, gpuType: of, seen: map[string]bool{}, yield: yield}
				s.run(ctx)
			}
		}}, diags
}

// search lists the computes of one query.
type search struct {
	*lifecycle.Query

	filter  filter
	gpuType manifest.NodeLabel // of the filter; empty: any
	seen    map[string]bool    // workloads by namespace/name
	ready   map[string]int     // ready pods by namespace/service; nil unless the filter needs them
	yield   func(lifecycle.Item, error) bool
}

// run yields the workloads of all kinds that are computes, and then the computes for existing pods.
func (s *search) run(ctx context.Context) {
	if !s.filter.Idle.IsNull() && !s.countReadyPods(ctx) {
		return
	}
	for _, k := range kind.Workloads() {
		item := func(live *unstructured.Unstructured) lifecycle.Item { return s.item(k, live) }
		if !s.list(ctx, k, labelSelector(k), s.accepts, item) {
			return
		}
	}
	if s.gpuType.Key != "" || !s.filter.Idle.IsNull() {
		return // a compute for existing pods requests none
	}
	withEndpoint := func(service *unstructured.Unstructured) bool { return manifest.ObserveEndpoint(service) != nil }
	if s.listExisting(ctx, kind.Service(), withEndpoint) {
		s.listExisting(ctx, kind.KubetorchWorkload(), manifest.IsOnlyURL)
	}
}

// listExisting lists the computes for existing pods that are known by an object of a kind.
func (s *search) listExisting(ctx context.Context, k kind.Kind, is func(*unstructured.Unstructured) bool) bool {
	return s.list(ctx, k, kind.Ours,
		func(live *unstructured.Unstructured) bool { return !s.seen[id(live)] && is(live) },
		func(live *unstructured.Unstructured) lifecycle.Item { return lifecycle.ItemOf(k, live) })
}

// list yields the computes that are known by an object of a kind, and reports whether the query wants more.
func (s *search) list(
	ctx context.Context, k kind.Kind, selector string, accept func(*unstructured.Unstructured) bool,
	item func(*unstructured.Unstructured) lifecycle.Item,
) bool {
	for found, err := range s.Items(ctx, k, selector, accept, item) {
		if !s.yield(found, err) {
			return false
		}
	}
	return true
}

// labelSelector returns a label selector for the objects of a kind that can be computes. Pods and ReplicaSets that
// Kubernetes creates for other workloads lack the label.
func labelSelector(k kind.Kind) string {
	if k.GroupKind() == kind.Pod().GroupKind() || k.GroupKind() == kind.ReplicaSet().GroupKind() {
		return kind.TemplateLabel
	}
	return ""
}

// accepts reports whether a workload is a compute that the filters admit, and records it.
func (s *search) accepts(live *unstructured.Unstructured) bool {
	if s.seen[id(live)] {
		return false
	}
	inventory := manifest.InventoryOf(live)
	if !s.filter.All.ValueBool() && !inventory.UsesGPUs && !lifecycle.Managed(live) && !manifest.OfKubetorch(live) {
		return false
	}
	s.seen[id(live)] = true
	if s.gpuType.Key != "" && !inventory.Selects(s.gpuType) {
		return false
	}
	return s.filter.Idle.IsNull() || s.filter.Idle.ValueBool() == s.isIdle(live, inventory)
}

// isIdle reports whether a workload has no ready pod.
func (s *search) isIdle(live *unstructured.Unstructured, inventory manifest.Inventory) bool {
	service := inventory.Labels()[kind.ServiceLabel]
	switch {
	case inventory.Suspended || inventory.Pods == 0:
		return true
	case service != "":
		return s.ready[live.GetNamespace()+"/"+service] == 0
	}
	return !manifest.HasReadyPods(live)
}

// countReadyPods counts the ready pods of Kubetorch services. After an error, which it yields, it returns false: a
// compute whose pods are not known must not be listed as idle.
func (s *search) countReadyPods(ctx context.Context) bool {
	s.ready = map[string]int{}
	scope := kube.Ref{Kind: kind.Pod(), Namespace: s.Namespace}
	for pod, err := range s.Cluster.API.List(ctx, scope, kind.OfServices) {
		if err != nil {
			s.yield(lifecycle.Item{}, &lifecycle.UndecidedError{Filter: "idle", Err: err})
			return false
		}
		if kind.HasCondition(pod.Object, string(corev1.PodReady)) {
			s.ready[pod.GetNamespace()+"/"+pod.GetLabels()[kind.ServiceLabel]]++
		}
	}
	return true
}

func (s *search) item(k kind.Kind, live *unstructured.Unstructured) lifecycle.Item {
	inventory := manifest.InventoryOf(live)
	suspended, gpus := "", "" // of a suspended workload: no GPUs
	if inventory.Suspended || inventory.Pods == 0 {
		suspended = "suspended"
	}
	if inventory.GPUs > 0 {
		gpus = strings.TrimSpace(advice.Number(inventory.GPUs, "GPU") + " " + inventory.GPUType())
	}
	return lifecycle.ItemOf(k, live, suspended, gpus,
		lifecycle.Property("username", live.GetLabels()[kind.UsernameLabel]))
}

func id(live *unstructured.Unstructured) string { return live.GetNamespace() + "/" + live.GetName() }
