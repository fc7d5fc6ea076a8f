package queue

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/kueue"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// inStateAndWaits is the consequence of a failure that is only a warning.
const inStateAndWaits = "The queue is in state with `active = false`. The next apply waits for it again, and does " +
	"not replace it."

// writer applies one plan.
type writer struct{ *writing }

// Apply applies the planned objects, saves the state, and waits until the queue is active.
func (hooks) Apply(ctx context.Context, writing *writing) {
	w := writer{writing}
	prior, err := owned.ObjectsOf(w.Prior.Manifests)
	if err != nil {
		w.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	mustWait := w.Plan.Active.IsUnknown()
	change, ok := w.apply(ctx, prior)
	if !ok {
		return
	}
	if w.Diags.HasError() && !w.Creating {
		w.Prior.Manifests = change.After(prior).Value()
		w.SaveAs(ctx, w.Prior)
		return
	}
	if len(change.Existing) == 0 {
		return // nothing exists, so nothing goes into state
	}
	w.Plan.Manifests = change.Existing.Value()
	w.PrivateState.Configured = !w.Creating
	if mustWait {
		w.PrivateState.Waiting = change.Interrupted
		w.refreshStatus(ctx)
	}
	w.Save(ctx)
	if mustWait && !change.Interrupted {
		w.wait(ctx)
	}
}

// apply sends the planned objects that differ from prior ones, and deletes the prior ones that are not planned.
func (w writer) apply(ctx context.Context, prior owned.Objects) (change *owned.Change, ok bool) {
	planned, err := owned.ObjectsOf(w.Plan.Manifests)
	if err != nil {
		w.Diags.AddError("Cannot read the plan", err.Error())
	}
	wanted, problems := w.Plan.spec(ctx, w.Data.Defaults)
	w.Diags.Append(problems...)
	if w.Plan.Manifests.IsUnknown() {
		planned, problems = render(wanted)
		w.Diags.Append(problems...)
	}
	if w.Diags.HasError() {
		return nil, false
	}
	w.Plan.Manifests = planned.Value() // an error that quotes a value of sensitive_fields is masked
	change = &owned.Change{
		Run: w.Data.Run, RecordedCluster: w.RecordedCluster, Memory: w.Memory, Creation: w.Creation,
		Rank: kueue.Rank, DeletionRank: deletionRank, Send: w.send,
		Release: releaser{w.Data.Cluster, w.Plan.Name.ValueString(), wanted.Queue, w.Diags}.release,
		Incomplete: "Other objects of the queue exist, and it is in state with `active = false`. The next plan shows " +
			"the missing objects, and its apply creates them and replaces nothing.",
	}
	change.Apply(ctx, planned, prior)
	w.Diags.Append(change.Diags...)
	return change, true
}

// deletionRank is the opposite of [kueue.Rank].
func deletionRank(obj *unstructured.Unstructured) int { return -kueue.Rank(obj) }

// send applies one object.
func (w writer) send(
	ctx context.Context, obj *unstructured.Unstructured, before *owned.Object,
) (diag.Diagnostics, error) {
	_, diags, err := w.Send(ctx, obj, before != nil)
	if err == nil {
		w.PrivateState.Imported = slices.DeleteFunc(w.PrivateState.Imported,
			func(imported string) bool { return imported == manifest.Key(obj) })
	}
	return diags, err
}

// refreshStatus sets the status of the queue. If it cannot be read, it counts as inactive and empty.
func (w writer) refreshStatus(ctx context.Context) {
	queue := w.Plan.ref()
	live, err := w.ReadNow(ctx, queue)
	if err != nil {
		live = nil
	}
	w.Plan.setStatus(live)
	if uid := w.Memory[manifest.Key(queue.Kind.Named("", queue.Name))].UID; uid != "" {
		w.Plan.UID = types.StringValue(string(uid))
	}
}

// wait waits until the queue is active, and saves the result. A queue that is not active is no error, which would taint
// it: what is missing can still be created.
func (w writer) wait(ctx context.Context) {
	if w.Diags.HasError() || !w.Plan.waits() {
		return
	}
	err := observe.WaitClusterQueue(ctx, w.Data.Cluster, w.Plan.ref())
	if err != nil {
		w.Diags.Append(tf.Warning(err, inStateAndWaits))
	}
	w.PrivateState.Waiting = err != nil
	w.refreshStatus(ctx)
	w.Save(ctx)
}

// Delete deletes the objects and waits until they are gone. Kueue keeps a ClusterQueue until no workload has reserved
// quota. The LocalQueues and the flavors stay until then, so that the next destroy continues.
func (hooks) Delete(ctx context.Context, d *deleting) {
	applied, err := owned.ObjectsOf(d.State.Manifests)
	if err != nil {
		d.Diags.AddError("Cannot read the state", err.Error())
		return
	}
	all := applied.Sorted(deletionRank)
	others := slices.DeleteFunc(slices.Clone(all), hasQuotas)
	queues := slices.DeleteFunc(all, func(obj *unstructured.Unstructured) bool { return !hasQuotas(obj) })
	if d.State.ofKAI() { // an error also occurs in the deletion
		_ = observe.WaitKAIChildren(ctx, d.Data.Cluster, d.State.ref())
	}
	if remaining := d.DeleteObjects(ctx, queues, nil); len(remaining) > 0 {
		return
	}
	flavors := releaser{d.Data.Cluster, d.State.Name.ValueString(), kueue.Queue{}, d.Diags}
	others = slices.DeleteFunc(others, func(obj *unstructured.Unstructured) bool {
		released, err := flavors.release(ctx, obj)
		if err != nil {
			d.Diags.Append(owned.Failure(err)) // the queue stays in state, and the next destroy continues
		}
		return released || err != nil
	})
	d.DeleteObjects(ctx, others, nil)
}
