package compute

import (
	"context"

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
		same, err := p.Data.Cluster.ApplyChangesNothing(ctx, p.Memory.Marked(key, next))
		return err == nil && same
	default:
		return false
	}
}
