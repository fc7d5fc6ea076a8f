package image

import (
	"context"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/image"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// lister is the list resource kt_image.
type lister struct {
	lifecycle.Lister[model, *model, privateState]
}

var (
	_ list.ListResourceWithConfigure      = (*lister)(nil)
	_ list.ListResourceWithValidateConfig = (*lister)(nil)
)

// NewLister returns the list resource.
func NewLister() list.ListResource {
	return &lister{lifecycle.Lister[model, *model, privateState]{Kind: resourceKind(), Hooks: hooks{}}}
}

// ListResourceConfigSchema describes the filters.
func (l *lister) ListResourceConfigSchema(
	_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse,
) {
	resp.Schema = lifecycle.FilterSchema("images", nil)
}

// ValidateListResourceConfig reports filters that cannot be combined.
func (l *lister) ValidateListResourceConfig(
	ctx context.Context, req list.ValidateConfigRequest, resp *list.ValidateConfigResponse,
) {
	resp.Diagnostics.Append(lifecycle.ValidateFilter(ctx, req.Config)...)
}

// List lists the images of all states and clients.
func (l *lister) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	l.StreamFiltered(ctx, req, stream, func(query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
		return query.Items(ctx, kind.ConfigMap(), image.ImageLabel, isNamed, item)
	})
}

// isNamed reports whether a ConfigMap has the name of the image in its label.
func isNamed(live *unstructured.Unstructured) bool {
	return live.GetName() == image.ConfigMapName(live.GetLabels()[image.ImageLabel])
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	identity := lifecycle.IdentityOf(live)
	identity.Name = types.StringValue(live.GetLabels()[image.ImageLabel])
	return lifecycle.Item{Identity: identity, Live: live, Display: lifecycle.Display(
		kube.Ref{Kind: kind.ConfigMap(), Namespace: live.GetNamespace(), Name: live.GetName()},
		lifecycle.Property("username", live.GetLabels()[kind.UsernameLabel]))}
}
