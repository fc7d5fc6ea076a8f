package queue

import (
	"cmp"
	"context"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// NewLister returns the list resource, for the ClusterQueues of Kueue and the queues of KAI.
func NewLister() list.ListResource {
	return &lifecycle.Lister[model, *model, privateState]{Kind: resourceKind(), Hooks: hooks{}, Filters: filters,
		Search: func(ctx context.Context, config tfsdk.Config) (lifecycle.Search, diag.Diagnostics) {
			var f filter
			diags := config.Get(ctx, &f)
			return lifecycle.Search{Filter: lifecycle.Filter{LabelSelector: f.LabelSelector, Managed: f.Managed},
				Find: find}, diags
		}}
}

// filter is the configuration of the list resource. Queues belong to no namespace.
type filter struct {
	LabelSelector types.String `tfsdk:"label_selector"`
	Managed       types.Bool   `tfsdk:"managed"`
}

func filters() schema.Schema {
	all := lifecycle.FilterSchema("queues", nil)
	all.Attributes = map[string]schema.Attribute{
		"label_selector": all.Attributes["label_selector"], "managed": all.Attributes["managed"],
	}
	return all
}

func find(ctx context.Context, query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
	return func(yield func(lifecycle.Item, error) bool) {
		search{query, yield}.run(ctx)
	}
}

// search lists the queues of one query.
type search struct {
	*lifecycle.Query

	yield func(lifecycle.Item, error) bool
}

// run yields all queues. The identity of a queue of Kueue has the namespace of its LocalQueue: that of the provider
// if there is one, and otherwise the first.
func (s search) run(ctx context.Context) {
	s.Listing = s.Cluster.List("") // a queue has LocalQueues in several namespaces
	namespaces := map[string]string{}
	for local, err := range s.Cluster.Objects(ctx, kube.Ref{Kind: kind.LocalQueue(kind.KueueVersion)}, "") {
		if err != nil {
			break // the list of the ClusterQueues reports it
		}
		target, _, _ := unstructured.NestedString(local.Object, "spec", "clusterQueue")
		first, known := namespaces[target]
		if target == local.GetName() && (!known || local.GetNamespace() == s.Namespace ||
			first != s.Namespace && local.GetNamespace() < first) {
			namespaces[target] = local.GetNamespace()
		}
	}
	for _, of := range []kube.Kind{kind.ClusterQueue(kind.KueueVersion), kind.KAIQueue()} {
		for live, err := range s.Objects(ctx, of, "") {
			if !s.yield(s.item(of, live, namespaces), err) {
				return
			}
		}
	}
}

func (s search) item(of kube.Kind, live *unstructured.Unstructured, namespaces map[string]string) lifecycle.Item {
	if live == nil {
		return lifecycle.Item{}
	}
	found := lifecycle.ItemOf(of, live)
	found.Identity.Namespace = types.StringValue(cmp.Or(namespaces[live.GetName()], s.Namespace))
	return found
}
