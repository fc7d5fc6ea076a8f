package compute

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// unchangedSinceImport says whether applying the planned text of an imported
// object would leave the object as it is. Where the texts cannot tell, because
// the server may have filled in a default, a dry run does.
func (p *planner) unchangedSinceImport(ctx context.Context, key, planned, prior string) bool {
	next, err := decode(key, planned)
	if err != nil {
		return false
	}
	live, err := decode(key, prior)
	if err != nil {
		return false
	}
	switch p.Memory.Compare(key, next, live) {
	case fields.Equal:
		return true
	case fields.Undecided:
		return p.dryRunChangesNothing(ctx, p.Memory.Marked(key, next))
	default:
		return false
	}
}

// dryRunChangesNothing says whether the server would store the object as it is
// now; false where it cannot be asked.
func (p *planner) dryRunChangesNothing(ctx context.Context, obj *unstructured.Unstructured) bool {
	cluster := p.Data.Cluster
	ref, err := cluster.RefOf(ctx, obj)
	if err != nil {
		return false
	}
	live, err := cluster.Read(ctx, ref)
	if err != nil {
		return false
	}
	after, err := cluster.DryRun(ctx, obj)
	return err == nil && fields.SameContent(live, after)
}
