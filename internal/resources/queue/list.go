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
	return &lifecycle.Lister[model, privateState]{Resource: lifecycle.New[model](resourceKind(), hooks{}),
		Filters: filters, Search: func(ctx context.Context, config tfsdk.Config) (lifecycle.Search, diag.Diagnostics) {
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

// find yields all queues. The identity of a queue of Kueue has the namespace of its LocalQueue: that of the provider
// if there is one, and otherwise the first. Without permission to list LocalQueues, it yields no queues of Kueue, since
// their identities are not known.
func find(ctx context.Context, query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
	return func(yield func(lifecycle.Item, error) bool) {
		query.Listing = query.Cluster.API.Listing("") // a queue has LocalQueues in several namespaces
		kinds := []kube.Kind{kind.ClusterQueue(kind.KueueVersion), kind.KAIQueue()}
		namespaces, err := namespacesOf(ctx, query)
		if err != nil {
			if !yield(lifecycle.Item{}, err) {
				return
			}
			kinds = kinds[1:]
		}
		for _, of := range kinds {
			for live, err := range query.Objects(ctx, of, "") {
				var item lifecycle.Item
				if err == nil {
					item = lifecycle.ItemOf(of, live)
					item.Identity.Namespace = types.StringValue(cmp.Or(namespaces[live.GetName()], query.Namespace))
				}
				if !yield(item, err) {
					return
				}
			}
		}
	}
}

// namespacesOf returns the namespace in the identity of each queue of Kueue that has a LocalQueue of its name.
func namespacesOf(ctx context.Context, query *lifecycle.Query) (map[string]string, error) {
	namespaces := map[string]string{}
	all := &lifecycle.Query{Cluster: query.Cluster} // the filters are those of queues
	for local, err := range all.Objects(ctx, kind.LocalQueue(kind.KueueVersion), "") {
		if err != nil {
			return nil, err
		}
		target, _, _ := unstructured.NestedString(local.Object, "spec", "clusterQueue")
		first, known := namespaces[target]
		if target == local.GetName() && (!known || local.GetNamespace() == query.Namespace ||
			first != query.Namespace && local.GetNamespace() < first) {
			namespaces[target] = local.GetNamespace()
		}
	}
	return namespaces, nil
}
