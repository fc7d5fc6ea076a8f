package compute

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/observe"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// failed reports an object that could not be applied. Where a creation has made
// others by then, and the server is at fault, it is a warning: an error would
// taint the compute, and the next apply replace what runs. The next plan adds what
// is missing.
func (w *writer) failed(err error, creating bool) {
	if !creating || len(w.done) == 0 || !kube.AboutServer(err) {
		w.Diags.Append(owned.Failure(err))
		return
	}
	w.unfinished, w.PrivateState.Unready = true, true
	w.Diags.Append(tf.Warning(err, "Other objects of the compute exist, and it is in state with `ready = false`. "+
		"The next plan shows the missing objects, and its apply creates them and replaces nothing."))
}

// expectRest puts the objects that the creation did not get to into state as
// planned, with no error; the next refresh sees what is missing.
func (w *writer) expectRest(planned objects) {
	for key, text := range planned {
		if _, done := w.done[key]; done {
			continue
		}
		w.done[key] = text
		if _, known := w.Memory[key]; !known {
			w.Memory.Expect(key, w.Creation)
		}
	}
}

// save puts the model into state, not ready yet.
func (w *writer) save(ctx context.Context) {
	w.Plan.Manifests = withNulls(w.done.value(), w.Plan.Manifests)
	if w.Plan.Ready.IsUnknown() || w.Plan.Ready.IsNull() {
		w.Plan.Ready = types.BoolValue(false)
	}
	if w.Plan.UID.IsUnknown() {
		w.Plan.UID = types.StringNull()
	}
	w.Save(ctx)
}

// savePartly keeps the prior state after a failed update, but for the objects
// that were applied or removed before it failed.
func (w *writer) savePartly(ctx context.Context) {
	before, _ := objectsOf(ctx, w.Prior.Manifests)
	maps.Copy(before, w.done)
	for _, key := range w.removed {
		delete(before, key)
	}
	w.Prior.Manifests = before.value()
	w.SaveAs(ctx, w.Prior)
}

// wait waits for readiness as on_not_ready says, and notes it in state.
func (w *writer) wait(ctx context.Context) {
	if w.Diags.HasError() || w.unfinished {
		return
	}
	var ready bool
	pods, err := podsOf(ctx, w.Data.Cluster, w.Plan, w.done)
	switch {
	case err != nil:
	case w.Plan.OnNotReady.ValueString() == ignoreOnNotReady:
		ready = pods.ready(ctx)
	default:
		waitCtx, cancel := tf.WithTimeLimit(ctx, w.Plan.waitTimeout(w.Data.Defaults), "wait_timeout")
		defer cancel()
		ready, err = pods.wait(waitCtx)
	}
	w.notReady(err)
	w.Plan.Ready = types.BoolValue(ready && !w.Plan.Suspend.ValueBool())
	w.PrivateState.Unready = err != nil || w.Plan.OnNotReady.ValueString() == ignoreOnNotReady && !ready
	w.Save(ctx)
}

// notReady reports how a wait ended. An error after a creation makes Terraform
// taint the compute, and the next apply destroy it: only what waiting cannot
// resolve is one.
func (w *writer) notReady(err error) {
	switch permanent := observe.IsPermanent(err); {
	case err == nil:
	case permanent && w.Plan.OnNotReady.ValueString() == failOnNotReady:
		w.Diags.Append(w.Plan.atDropped(err, tf.Failure(err))...)
	case permanent:
		w.Diags.Append(tf.Warning(err,
			fmt.Sprintf("`on_not_ready = %q` makes this a warning. %s", w.Plan.OnNotReady.ValueString(), waitsAgain)))
	default:
		w.Diags.Append(tf.Warning(err, waitsAgain))
	}
}

const waitsAgain = "The compute is in state with `ready = false`. " +
	"The next plan waits for it again, and does not replace it."
