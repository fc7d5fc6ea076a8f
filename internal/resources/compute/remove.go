package compute

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// remove deletes objects of ours and waits until they are gone. It returns those
// of which that is not certain: their deletion failed, or has not ended.
func remove(
	ctx context.Context, cluster *kube.Cluster, recorded owned.RecordedCluster, gone objects, memory owned.Memory,
	podLabels map[string]string,
) (left objects, diags diag.Diagnostics) {
	left = maps.Clone(gone)
	decoded, err := gone.decode()
	if err != nil {
		diags.AddError("Cannot read the state", err.Error())
		return left, diags
	}
	going := map[string]kube.Ref{}
	for _, obj := range decoded {
		key := manifest.Key(obj)
		ref, err := cluster.LiveRef(ctx, obj)
		started := false
		if err == nil {
			var others diag.Diagnostics
			started, others, err = owned.Delete(ctx, cluster, memory, key, ref)
			diags.Append(others...)
		}
		switch {
		case recorded.KindRemoved(ctx, cluster, ref, err):
			delete(left, key)
		case err != nil:
			diags.Append(owned.Failure(err))
		case started:
			going[key] = ref
		default: // there is none of ours: it is gone, or another resource has it now
			diags.Append(owned.NotDeletedWarning(cluster, ref)...)
			delete(left, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(going)) {
		if err := observe.WaitGone(ctx, cluster, going[key], podLabels); err != nil {
			diags.Append(tf.Failure(err))
			continue
		}
		delete(left, key)
	}
	return left, diags
}

// removeOld deletes the objects that are no longer wanted. Those that are left
// stay in state and in memory, so that the next apply deletes them.
func (w *writer) removeOld(ctx context.Context, gone objects) {
	left, diags := remove(ctx, w.Data.Cluster, w.RecordedCluster, gone, w.Memory, nil)
	w.Diags.Append(diags...)
	maps.Copy(w.done, left)
	for key := range gone {
		if _, stays := left[key]; !stays {
			w.removed = append(w.removed, key)
			delete(w.Memory, key)
		}
	}
}
