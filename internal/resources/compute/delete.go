package compute

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Delete deletes the objects in the foreground and waits until the pods are gone, so that their GPUs are free when it
// returns.
func (hooks) Delete(ctx context.Context, d *deleting) {
	applied, err := d.State.objects()
	if err != nil {
		d.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	_, diags := owned.DeleteObjects(ctx, d.Data.Cluster, d.RecordedCluster, sorted(applied), d.Memory,
		d.State.podLabels())
	d.Diags.Append(diags...)
}
