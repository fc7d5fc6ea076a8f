package secret

import (
	"context"
	"iter"
	"slices"

	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	spec "github.com/ktdev/terraform-provider-kt/internal/manifest/secret"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// lister is the list resource kt_secret.
type lister struct {
	lifecycle.Lister[model, *model, privateState]
}

var (
	_ tflist.ListResourceWithConfigure      = (*lister)(nil)
	_ tflist.ListResourceWithValidateConfig = (*lister)(nil)
)

// NewLister returns the list resource.
func NewLister() tflist.ListResource {
	return &lister{lifecycle.Lister[model, *model, privateState]{Kind: resourceKind(), Hooks: hooks{}}}
}

// filter is the configuration of the list resource.
type filter struct {
	lifecycle.Filter

	All types.Bool `tfsdk:"all"`
}

// ListResourceConfigSchema describes the filters.
func (l *lister) ListResourceConfigSchema(
	_ context.Context, _ tflist.ListResourceSchemaRequest, resp *tflist.ListResourceSchemaResponse,
) {
	resp.Schema = lifecycle.FilterSchema("secrets", map[string]schema.Attribute{
		"all": schema.BoolAttribute{Optional: true, MarkdownDescription: "Whether to list also Secrets of the type " +
			"`Opaque` that are neither from this provider nor from Kubetorch, unless another object controls them. " +
			"Defaults to `false`."},
	})
}

// ValidateListResourceConfig reports filters that cannot be combined.
func (l *lister) ValidateListResourceConfig(
	ctx context.Context, req tflist.ValidateConfigRequest, resp *tflist.ValidateConfigResponse,
) {
	var f filter
	if resp.Diagnostics.Append(req.Config.Get(ctx, &f)...); !resp.Diagnostics.HasError() {
		resp.Diagnostics.Append(f.Validate()...)
	}
}

// List lists Secrets by their metadata. It never requests their values.
func (l *lister) List(ctx context.Context, req tflist.ListRequest, stream *tflist.ListResultsStream) {
	var f filter
	if diags := req.Config.Get(ctx, &f); diags.HasError() {
		stream.Results = tflist.ListResultsStreamDiagnostics(diags)
		return
	}
	opaque := kind.SecretMetadata()
	opaque.FieldSelector = "type=" + string(corev1.SecretTypeOpaque)
	l.Stream(ctx, req, stream, f.Filter, func(query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
		return query.Items(ctx, opaque, "", func(live *unstructured.Unstructured) bool {
			return f.All.ValueBool() || manifest.OfKubetorch(live) || lifecycle.Managed(live)
		}, item)
	})
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	labels := live.GetLabels()
	ref := kube.Ref{Kind: kind.Secret(), Namespace: live.GetNamespace(), Name: live.GetName()}
	return lifecycle.Item{Identity: lifecycle.IdentityOf(live), Live: live,
		Display: lifecycle.Display(ref, lifecycle.Property("provider", labels[spec.ProviderLabel]),
			lifecycle.Property("username", labels[kind.UsernameLabel]))}
}

// importListed completes a state from the metadata of a Secret, of which the values are not read.
func (r reader) importListed(live *unstructured.Unstructured) {
	r.State.UID = types.StringValue(string(live.GetUID()))
	r.State.Labels = tf.Configurable(live.GetLabels(), r.Data.Defaults.Labels, spec.IsReservedLabel)
	if provider := live.GetLabels()[spec.ProviderLabel]; slices.Contains(spec.Providers(), provider) {
		r.State.ProviderName = types.StringValue(provider)
	}
}
