package secret

import (
	"context"
	"iter"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// NewLister returns the list resource.
func NewLister() tflist.ListResource {
	return &lifecycle.Lister[model, privateState]{Resource: lifecycle.New[model](resourceKind(), hooks{}),
		Filters: filters, Search: search}
}

// filter is the configuration of the list resource.
type filter struct {
	lifecycle.Filter

	All types.Bool `tfsdk:"all"`
}

func filters() schema.Schema {
	return lifecycle.FilterSchema("secrets", map[string]schema.Attribute{
		"all": tf.OptionalBool("Whether to list also Secrets of the type `Opaque` that are neither from this " +
			"provider nor from Kubetorch, unless another object controls them. Defaults to `false`."),
	})
}

// search lists Secrets by their metadata. It never requests their values.
func search(ctx context.Context, config tfsdk.Config) (lifecycle.Search, diag.Diagnostics) {
	var f filter
	diags := config.Get(ctx, &f)
	opaque := kind.SecretMetadata()
	opaque.FieldSelector = "type=" + string(corev1.SecretTypeOpaque)
	return lifecycle.Search{Filter: f.Filter,
		Find: func(ctx context.Context, query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
			return query.Items(ctx, opaque, "", func(live *unstructured.Unstructured) bool {
				return f.All.ValueBool() || manifest.OfKubetorch(live) || lifecycle.Managed(live)
			}, item)
		}}, diags
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	labels := live.GetLabels()
	return lifecycle.ItemOf(kind.Secret(), live, lifecycle.Property("provider", labels[spec.ProviderLabel]),
		lifecycle.Property("username", labels[kind.UsernameLabel]))
}

// importListed completes a state from the metadata of a Secret, of which the values are not read.
func (r reader) importListed(live *unstructured.Unstructured) {
	r.State.UID = types.StringValue(string(live.GetUID()))
	r.State.Labels = tf.Configurable(live.GetLabels(), r.Data.Defaults.Labels, spec.IsReservedLabel)
	if provider := live.GetLabels()[spec.ProviderLabel]; slices.Contains(spec.Providers(), provider) {
		r.State.ProviderName = types.StringValue(provider)
	}
}
