package volume

import (
	"context"
	"iter"

	"github.com/hashicorp/terraform-plugin-framework/list"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf/lifecycle"
)

// lister is the list resource kt_volume.
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
	resp.Schema = lifecycle.FilterSchema("volumes", nil)
}

// ValidateListResourceConfig reports filters that cannot be combined.
func (l *lister) ValidateListResourceConfig(
	ctx context.Context, req list.ValidateConfigRequest, resp *list.ValidateConfigResponse,
) {
	resp.Diagnostics.Append(lifecycle.ValidateFilter(ctx, req.Config)...)
}

// List lists the claims of all clients, except those that a controller owns.
func (l *lister) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	l.StreamFiltered(ctx, req, stream, func(query *lifecycle.Query) iter.Seq2[lifecycle.Item, error] {
		return query.Items(ctx, kind.PersistentVolumeClaim(), "",
			func(*unstructured.Unstructured) bool { return true }, item)
	})
}

func item(live *unstructured.Unstructured) lifecycle.Item {
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	seen := claim.Observe(live)
	ref := kube.Ref{Kind: kind.PersistentVolumeClaim(), Namespace: live.GetNamespace(), Name: live.GetName()}
	return lifecycle.Item{Identity: lifecycle.IdentityOf(live), Live: live,
		Display: lifecycle.Display(ref, seen.Size.String(), phase,
			lifecycle.Property("username", live.GetLabels()[kind.UsernameLabel]))}
}
