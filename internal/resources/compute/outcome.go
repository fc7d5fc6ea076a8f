package compute

import (
	"context"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// failed reports an object that could not be applied. Where a creation has made
// others by then, and the server is at fault, it is a warning: an error would
// taint the compute, and the next apply replace what runs. The next plan adds what
// is missing.
func (w *writer) failed(err error, creating bool) {
	if !creating || len(w.done) == 0 || !kube.AboutServer(err) {
		w.diags.Append(owned.Failure(err))
		return
	}
	w.unfinished, w.notes.Unready = true, true
	w.diags.Append(tf.Caution(err, "Other objects of the compute exist, and it is in state with `ready = false`. The next plan shows what is missing, and its apply creates that and replaces nothing."))
}

// expectRest puts the objects that the creation did not get to into state as
// planned, with no error; the next refresh sees what is missing.
func (w *writer) expectRest(planned objects) {
	for key, text := range planned {
		if _, done := w.done[key]; done {
			continue
		}
		w.done[key] = text
		if _, known := w.memory[key]; !known {
			w.memory.Expect(key, w.creation)
		}
	}
}

// save puts the model into state, not ready yet.
func (w *writer) save(ctx context.Context) {
	w.model.Manifests = withNulls(w.done.value(), w.model.Manifests)
	if w.model.Ready.IsUnknown() || w.model.Ready.IsNull() {
		w.model.Ready = types.BoolValue(false)
	}
	if w.model.UID.IsUnknown() {
		w.model.UID = types.StringNull()
	}
	w.diags.Append(w.state.Set(ctx, w.model)...)
	w.remember(ctx)
}

func (w *writer) remember(ctx context.Context) {
	w.diags.Append(w.memory.Save(ctx, w.private)...)
	w.diags.Append(w.notes.save(ctx, w.private)...)
}

// savePartly keeps the prior state after a failed update, but for the objects
// that were applied or removed before it failed.
func (w *writer) savePartly(ctx context.Context, prior *model) {
	before, _ := objectsOf(ctx, prior.Manifests)
	maps.Copy(before, w.done)
	for _, key := range w.removed {
		delete(before, key)
	}
	prior.Manifests = before.value()
	w.diags.Append(w.state.Set(ctx, prior)...)
	w.remember(ctx)
}

// wait waits for readiness as on_not_ready says, and notes it in state.
func (w *writer) wait(ctx context.Context) {
	if w.diags.HasError() || w.unfinished {
		return
	}
	var ready bool
	pods, err := w.r.podsOf(ctx, w.model, w.done)
	switch {
	case err != nil:
	case w.model.OnNotReady.ValueString() == ignoreOnNotReady:
		ready = pods.ready(ctx)
	default:
		waitCtx, cancel := tf.WithTimeLimit(ctx, w.r.waitTimeout(w.model), "wait_timeout")
		defer cancel()
		ready, err = pods.wait(waitCtx)
	}
	w.notReady(err)
	w.model.Ready = types.BoolValue(ready && !w.model.Suspend.ValueBool())
	w.notes.Unready = err != nil || w.model.OnNotReady.ValueString() == ignoreOnNotReady && !ready
	w.diags.Append(w.state.Set(ctx, w.model)...)
	w.remember(ctx)
}

// notReady reports how a wait ended. An error after a creation makes Terraform
// taint the compute, and the next apply destroy it: only what waiting cannot
// resolve is one.
func (w *writer) notReady(err error) {
	switch permanent := kube.IsPermanent(err); {
	case err == nil:
	case permanent && w.model.OnNotReady.ValueString() == failOnNotReady:
		w.diags.Append(w.model.atDropped(err, tf.Failure(err))...)
	case permanent:
		w.diags.Append(tf.Caution(err, fmt.Sprintf("`on_not_ready = %q` makes this a warning. %s", w.model.OnNotReady.ValueString(), waitsAgain)))
	default:
		w.diags.Append(tf.Caution(err, waitsAgain))
	}
}

const waitsAgain = "The compute is in state with `ready = false`. The next plan waits for it again, and does not replace it."
