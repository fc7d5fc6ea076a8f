package compute

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Read brings state up to what the cluster has. It goes through the shared
// collections, so refreshing a thousand computes costs two lists.
func (r *computeResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if resp.Diagnostics.HasError() || !r.configured() {
		return // the cluster is made in this run: what is in state stands
	}
	home, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_compute", state.ID)
	resp.Diagnostics.Append(diags...)
	if diags.HasError() {
		return
	}
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)

	noted, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)

	before := state
	look := reader{r: r, state: &state, home: home, memory: memory, notes: noted}
	var err error
	if state.Manifests.IsNull() {
		err = look.imported(ctx)
	} else {
		err = look.refresh(ctx)
	}
	if err == nil {
		look.noteRegistration(ctx)
	}
	if look.learned {
		resp.Diagnostics.Append(look.memory.Save(ctx, resp.Private)...)
	}
	if !look.notes.equal(noted) {
		resp.Diagnostics.Append(look.notes.save(ctx, resp.Private)...)
	}
	resp.Diagnostics.Append(look.diags...)
	switch {
	case errors.Is(err, owned.ErrGone):
		resp.State.RemoveResource(ctx)
		return
	case kube.ClassOf(err) == kube.Denied:
		resp.Diagnostics.Append(tf.Caution(err, "The state is kept as it is."))
		return
	case err != nil:
		resp.Diagnostics.Append(tf.Failure(err))
		return
	}
	resp.Diagnostics.Append(home.Learn(ctx, resp.Private)...)
	if !state.computesLike(&before) { // any drift shows in manifests too
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	}
}

// reader brings one state up to date.
type reader struct {
	r      *computeResource
	state  *model
	home   owned.Home
	memory owned.Memory
	notes  notes
	diags  diag.Diagnostics

	learned bool // memory has changed
}

// refresh looks at every object that was applied.
func (l *reader) refresh(ctx context.Context) error {
	applied, diags := objectsOf(ctx, l.state.Manifests)
	l.diags.Append(diags...)
	sent, err := applied.decode()
	if err != nil {
		return err
	}
	if l.notes.Origin == nil {
		l.notes.Origin = observedOrigin(l.state, applied)
	}
	l.state.recoverMemory(l.memory, applied)
	l.state.observeRendering(applied)
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
		fresh, err := l.memory.Refresh(key, obj, live)
		if err != nil {
			return err
		}
		l.learned = l.learned || fresh.Learned
		l.diags.Append(owned.DriftWarning(ref, fresh.Changes)...)
		if !fresh.Moved {
			continue
		}
		observed := fresh.Object
		if now[key], err = manifest.JSON(observed); err != nil {
			return err
		}
		switch roleOf(obj) {
		case manifest.RoleWorkload:
			l.diags.Append(l.state.follow(ctx, l.state.observe(obj), l.state.observe(observed))...)
		case manifest.RoleService:
			l.diags.Append(l.state.followService(ctx, obj, observed)...)
		case manifest.RoleRegistration: // no attribute follows it
		}
	}
	if l.state.Mode.ValueString() == kind.ModeSelector {
		l.state.Ready = types.BoolValue(l.selected(ctx).ready(ctx))
	}
	if len(now) == 0 {
		return owned.ErrGone
	}
	// A compute of which only the Service is left stays in state, so that a
	// destroy finds it.
	l.state.Manifests = now.value()
	return nil
}

// find looks for an object that was applied. One whose kind was removed from the
// cluster is gone.
func (l *reader) find(ctx context.Context, key string, obj *unstructured.Unstructured) (kube.Ref, owned.Found, error) {
	cluster := l.r.data.Cluster
	var found owned.Found
	ref, err := cluster.LiveRef(ctx, obj)
	if err == nil {
		var diags diag.Diagnostics
		found, diags, err = owned.Find(ctx, cluster, l.memory, key, ref, "kt_compute "+l.state.ID.ValueString())
		l.diags.Append(diags...)
		l.learned = l.learned || found.Learned
	}
	if l.home.Removed(ctx, cluster, ref, err) {
		l.diags.Append(owned.RemovedWarning(ref))
		err = owned.ErrGone
	}
	return ref, found, err
}

// release leaves to a queue what it has taken over: from then on it is neither
// drift, nor applied again. A compute that the user has suspended is not in its
// queue.
func (l *reader) release(key string, sent, live *unstructured.Unstructured, now objects) (*unstructured.Unstructured, error) {
	kept := appliable(sent) // a plan that was made without the cluster may hold more
	if !l.state.Suspend.ValueBool() {
		left, released, err := l.memory.Release(key, kept, live, manifest.LeftAfterCreation(sent.GroupVersionKind()))
		if err != nil {
			return sent, err
		}
		kept, l.learned = left, l.learned || released
	}
	if kept == sent {
		return sent, nil
	}
	var err error
	now[key], err = manifest.JSON(kept)
	return kept, err
}

// judge says whether a workload is ready. Its pods are looked at too where its
// status does not tell, and after a wait that failed: the status of some kinds
// says less than the wait saw.
func (l *reader) judge(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) bool {
	isReady := ready.Assess(ready.Snapshot{Workload: live}).Ready
	if isReady && l.notes.Unready || !isReady && ready.NeedsPods(live) {
		pods := l.selected(ctx)
		pods.workload = &ref
		return pods.ready(ctx)
	}
	return isReady
}

// workload takes over what the live workload says of the compute as a whole.
func (l *reader) workload(ctx context.Context, ref kube.Ref, live *unstructured.Unstructured) {
	l.state.UID = types.StringValue(string(live.GetUID()))
	isReady := l.judge(ctx, ref, live)
	l.state.Ready = types.BoolValue(isReady && !l.state.Suspend.ValueBool()) // Knative says Ready of a suspended one too
	l.notes.Unready = l.notes.Unready && !isReady
	if l.notes.Ending = live.GetDeletionTimestamp() != nil; l.notes.Ending {
		l.diags.Append(owned.TerminatingWarning(ref, live))
	}
}

// workloadGone notes that there is no workload, so that none is being deleted
// either.
func (l *reader) workloadGone() {
	l.state.UID, l.state.Ready = types.StringNull(), types.BoolValue(false)
	l.notes.Ending = false
}
