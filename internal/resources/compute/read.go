package compute

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// reader brings one state up to date.
type reader struct{ *reading }

// Refresh updates the state from the shared collections, so that refreshing a
// thousand computes costs two lists.
func (hooks) Refresh(ctx context.Context, r *reading) error {
	l := &reader{r}
	return l.noteRegistration(ctx, l.refresh(ctx))
}

// Import reads the objects of a compute into a new state.
func (hooks) Import(ctx context.Context, r *reading) error {
	l := &reader{r}
	return l.noteRegistration(ctx, l.imported(ctx))
}

// refresh looks at every object that was applied.
func (l *reader) refresh(ctx context.Context) error {
	applied, diags := objectsOf(ctx, l.State.Manifests)
	l.Diags.Append(diags...)
	sent, err := applied.decode()
	if err != nil {
		return err
	}
	if l.PrivateState.Origin == nil {
		l.PrivateState.Origin = observedOrigin(l.State, applied)
	}
	l.State.recoverMemory(l.Memory, applied)
	l.State.observeRendering(applied)
	now := objects{}
	for _, obj := range sent {
		key := manifest.Key(obj)
		ref, found, err := l.find(ctx, key, obj)
		switch {
		case errors.Is(err, owned.ErrGone):
			if roleOf(obj) == manifest.RoleWorkload {
				l.workloadGone()
			}
			continue
		case err != nil:
			return err
		}
		live := found.Live
		now[key] = applied[key]
		if roleOf(obj) == manifest.RoleWorkload {
			l.workload(ctx, ref, live)
			if obj, err = l.release(key, obj, live, now); err != nil {
				return err
			}
		}
		fresh, err := l.Memory.Refresh(key, obj, live)
		if err != nil {
			return err
		}
		l.MemoryChanged = l.MemoryChanged || fresh.MemoryChanged
		l.Diags.Append(owned.DriftWarning(ref, fresh.Changes)...)
		if !fresh.Differs {
			continue
		}
		observed := fresh.Object
		if now[key], err = objectOf(observed); err != nil {
			return err
		}
		switch roleOf(obj) {
		case manifest.RoleWorkload:
			l.Diags.Append(l.State.follow(ctx, l.State.observe(obj), l.State.observe(observed))...)
		case manifest.RoleService:
			l.Diags.Append(l.State.followService(ctx, obj, observed)...)
		case manifest.RoleRegistration: // no attribute follows it
		}
	}
	if l.State.Mode.ValueString() == kind.ModeSelector {
		l.State.Ready = types.BoolValue(l.selected(ctx).ready(ctx))
	}
	if len(now) == 0 {
		return owned.ErrGone
	}
	// A compute of which only the Service is left stays in state, so that a
	// destroy finds it.
	l.State.Manifests = now.value()
	return nil
}

// find looks for an object that was applied. One whose kind was removed from the
// cluster is gone.
func (l *reader) find(ctx context.Context, key string, obj *unstructured.Unstructured) (kube.Ref, owned.Found, error) {
	cluster := l.Data.Cluster
	var found owned.Found
	ref, err := cluster.LiveRef(ctx, obj)
	if err == nil {
		var diags diag.Diagnostics
		found, diags, err = owned.Find(ctx, cluster, l.Memory, key, ref, "kt_compute "+l.State.ID.ValueString())
		l.Diags.Append(diags...)
		l.MemoryChanged = l.MemoryChanged || found.MemoryChanged
	}
	if l.RecordedCluster.KindRemoved(ctx, cluster, ref, err) {
		l.Diags.Append(owned.RemovedWarning(ref))
		err = owned.ErrGone
	}
	return ref, found, err
}

// release leaves to a queue what it has taken over: from then on it is neither
// drift, nor applied again. A compute that the user has suspended is not in its
// queue.
func (l *reader) release(
	key string, sent, live *unstructured.Unstructured, now objects,
) (*unstructured.Unstructured, error) {
	kept := appliable(sent) // a plan that was made without the cluster may hold more
	if !l.State.Suspend.ValueBool() {
		left, released, err := l.Memory.Release(key, kept, live, manifest.LeftAfterCreation(sent.GroupVersionKind()))
		if err != nil {
			return sent, err
		}
		kept, l.MemoryChanged = left, l.MemoryChanged || released
	}
	if kept == sent {
		return sent, nil
	}
	var err error
	now[key], err = objectOf(kept)
	return kept, err
}

// judge reports whether a workload is ready. Its pods are looked at too where its
// status does not tell, and after a wait that failed: the status of some kinds
// says less than the wait saw.
func (l *reader) judge(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) bool {
	isReady := ready.Assess(ready.Snapshot{Workload: live}).Ready
	if isReady && l.PrivateState.Unready || !isReady && ready.NeedsPods(live) {
		pods := l.selected(ctx)
		pods.workload = &ref
		return pods.ready(ctx)
	}
	return isReady
}

// workload takes over what the live workload says of the compute as a whole.
func (l *reader) workload(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) {
	l.State.UID = types.StringValue(string(live.GetUID()))
	isReady := l.judge(ctx, ref, live)
	// Knative says Ready of a suspended one too
	l.State.Ready = types.BoolValue(isReady && !l.State.Suspend.ValueBool())
	l.PrivateState.Unready = l.PrivateState.Unready && !isReady
	if l.PrivateState.Ending = live.GetDeletionTimestamp() != nil; l.PrivateState.Ending {
		l.Diags.Append(owned.TerminatingWarning(ref, live))
	}
}

// workloadGone notes that there is no workload, so that none is being deleted
// either.
func (l *reader) workloadGone() {
	l.State.UID, l.State.Ready = types.StringNull(), types.BoolValue(false)
	l.PrivateState.Ending = false
}
