package compute

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// unchangedSinceImport reports whether applying the planned text of an imported
// object would leave the object as it is. Where the texts cannot tell, because
// the server may have filled in a default, a dry run does.
func (p *planner) unchangedSinceImport(ctx context.Context, planned, prior *object) bool {
	next, err := planned.decode()
	if err != nil {
		return false
	}
	live, err := prior.decode()
	if err != nil {
		return false
	}
	switch p.Memory().Compare(planned.key, next, live) {
	case fields.Equal:
		return true
	case fields.Undecided:
		same, err := p.Data.Cluster.ApplyChangesNothing(ctx, p.Memory().Marked(planned.key, next))
		return err == nil && same
	default:
		return false
	}
}
