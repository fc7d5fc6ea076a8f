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

// Delete deletes the objects in the foreground and waits until the pods are gone, so that their GPUs are free when it
// returns.
func (hooks) Delete(ctx context.Context, d *deleting) {
	applied, err := objectsOf(d.State.Manifests)
	if err != nil {
		d.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	d.State.recoverMemory(d.Memory, applied)
	_, diags := deleteObjects(ctx, d.Data.Cluster, d.RecordedCluster, applied, d.Memory, d.State.podLabels(ctx))
	d.Diags.Append(diags...)
}

// deleteObjects deletes owned objects and waits until they are gone. It returns those that may remain, because their
// deletion failed or has not ended.
func deleteObjects(
	ctx context.Context, cluster *kube.Cluster, recorded owned.RecordedCluster, obsolete objects, memory owned.Memory,
	podLabels map[string]string,
) (remaining objects, diags diag.Diagnostics) {
	remaining = maps.Clone(obsolete)
	terminating := map[string]kube.Ref{}
	for _, obj := range obsolete.sorted() {
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
			delete(remaining, key)
		case err != nil:
			diags.Append(owned.Failure(err))
		case started:
			terminating[key] = ref
		default: // gone, or now of another resource
			diags.Append(owned.NotDeletedWarning(cluster, ref)...)
			delete(remaining, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(terminating)) {
		if err := observe.WaitGone(ctx, cluster, terminating[key], podLabels); err != nil {
			diags.Append(tf.Failure(err))
			continue
		}
		delete(remaining, key)
	}
	return remaining, diags
}

// deleteObsolete deletes objects that the plan no longer contains. Those that remain stay in state and in memory, so
// that the next apply deletes them.
func (w *writer) deleteObsolete(ctx context.Context, obsolete objects) {
	remaining, diags := deleteObjects(ctx, w.Data.Cluster, w.RecordedCluster, obsolete, w.Memory, nil)
	w.Diags.Append(diags...)
	maps.Copy(w.existing, remaining)
	for key := range obsolete {
		if remaining[key] == nil {
			w.deleted = append(w.deleted, key)
			delete(w.Memory, key)
		}
	}
}
