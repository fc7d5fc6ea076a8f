package compute

import (
	"context"
	"errors"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// reader refreshes or imports one state.
type reader struct {
	*reading

	expired  []deletedObject // that Kubetorch has probably deleted, the workload first
	denied   []string        // kinds that an import may not get
	released bool            // a queue has taken over fields of the workload
}

// Refresh updates the state from the shared collections, so that a refresh of a thousand computes costs two lists.
func (hooks) Refresh(ctx context.Context, reading *reading) error {
	r := &reader{reading: reading}
	applied, err := r.State.objects()
	if err != nil {
		return err
	}
	before := *r.State
	r.PrivateState.Origin = r.PrivateState.origin(r.State, applied)
	r.State.observeVersions(applied)
	current, remaining := owned.Objects{}, maps.Clone(applied)
	for _, obj := range sorted(applied) {
		if err := r.refreshObject(ctx, obj, remaining, current); err != nil {
			return err
		}
	}
	r.followObjects(ctx, remaining, current)
	r.reportExpired(applied, current)
	if r.State.Mode.ValueString() == kind.ModeSelector {
		r.State.Ready = types.BoolValue(r.State.areReady(ctx, r.Data.Cluster, nil))
	}
	if len(current) == 0 {
		return owned.ErrGone
	}
	// A compute of which only the Service is left stays in state, so that a destroy deletes the Service.
	r.State.Manifests = withNulls(r.State.manifestsOf(current, &before, applied), before.Manifests)
	r.PrivateState.rememberCRD(ctx, r.Data.Cluster, r.State)
	return nil
}

// refreshObject adds an object to the current ones if it exists.
func (r *reader) refreshObject(
	ctx context.Context, obj *unstructured.Unstructured, applied, current owned.Objects,
) error {
	key, workload := manifest.Key(obj), isWorkload(obj)
	reported := len(r.Diags)
	ref, live, err := r.FindObject(ctx, obj)
	switch {
	case errors.Is(err, owned.ErrGone):
		if workload {
			r.clearStatus()
		}
		if errors.Is(err, owned.ErrDeleted) && isKnown(r.State.InactivityTTL) && (workload || len(r.expired) > 0) {
			r.expired = append(r.expired, deletedObject{key, ref})
			r.Diags = r.Diags[:reported] // one warning reports all of them
		}
		return nil
	case err != nil:
		return err
	}
	current[key] = applied[key]
	if workload {
		r.setStatus(ctx, ref, live)
		if obj, err = r.release(key, obj, live, applied); err != nil {
			return err
		}
		current[key] = applied[key]
	}
	refreshed, err := r.Memory.Refresh(key, obj, live)
	if err != nil {
		return err
	}
	r.Diags.Append(owned.DriftWarning(ref, refreshed)...)
	if workload {
		// the run ended before or during its wait
		r.PrivateState.Unready = r.PrivateState.Unready || refreshed.Unrecorded && !r.State.Ready.ValueBool()
		seen := r.State.followSuspension(refreshed.Object, live)
		refreshed.Differs = refreshed.Differs || seen != refreshed.Object
		refreshed.Object = seen
	}
	if refreshed.Differs {
		current[key], err = owned.ObjectOf(refreshed.Object)
	}
	return err
}

// followSuspension is [manifest.FollowSuspension], without the number of pods of a resumed workload that an autoscaler
// sets: no apply owns it.
func (m *model) followSuspension(applied, live *unstructured.Unstructured) *unstructured.Unstructured {
	seen := manifest.FollowSuspension(applied, live)
	of := kind.WorkloadOf(live.GroupVersionKind().GroupKind())
	if seen != applied && m.scalesWorkload() && len(of.Scale) > 0 && !manifest.IsSuspended(live.Object, of) {
		kind.SetAt(seen.Object, of.Scale, nil)
	}
	return seen
}

// release removes the fields that a queue has taken over from an applied workload and from objects: they are no longer
// drift, and are not applied again. A compute that the user has suspended is not in a queue.
func (r *reader) release(
	key string, applied, live *unstructured.Unstructured, objects owned.Objects,
) (*unstructured.Unstructured, error) {
	remaining := withoutUnserved(applied) // a plan without a cluster may contain more fields
	if !r.State.Suspend.ValueBool() {
		var err error
		remaining, err = r.Memory.Release(key, remaining, live, manifest.LeftAfterCreation(applied.GroupVersionKind()))
		if err != nil {
			return applied, err
		}
	}
	if remaining == applied {
		return applied, nil
	}
	var err error
	r.released = true
	objects[key], err = owned.ObjectOf(remaining)
	return remaining, err
}

// isReady reports whether a workload is ready. It assesses the pods too if the status is not sufficient, and after a
// failed wait, since the status of some kinds contains less than the wait has observed.
func (r *reader) isReady(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) bool {
	isReady := r.State.isReady(ready.Assess(ready.Snapshot{Workload: live}))
	if r.Listing != nil {
		return isReady
	}
	if isReady && r.PrivateState.Unready || !isReady && ready.NeedsPods(live) {
		return r.State.areReady(ctx, r.Data.Cluster, &ref)
	}
	return isReady
}

// setStatus sets the attributes about the live workload.
func (r *reader) setStatus(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) {
	r.SetLive(ref, live)
	isReady := r.isReady(ctx, ref, live)
	// Knative also reports a suspended Service as ready.
	r.State.Ready = types.BoolValue(isReady && !r.State.Suspend.ValueBool())
	r.PrivateState.Unready = r.PrivateState.Unready && !isReady
}

// clearStatus sets the attributes about the workload if it does not exist.
func (r *reader) clearStatus() {
	r.State.UID, r.State.Ready = types.StringNull(), types.BoolValue(false)
}
