package compute

import "context"

// Delete deletes the objects in the foreground and waits until the pods are gone, so that their GPUs are free when it
// returns.
func (hooks) Delete(ctx context.Context, d *deleting) {
	applied, err := d.State.objects()
	if err != nil {
		d.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	d.DeleteObjects(ctx, sorted(applied), d.State.podLabels())
}
