package lifecycle

import (
	"context"
	"errors"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Reading is a refresh or an import.
type Reading[M, N any] struct {
	Data            *tf.ProviderData
	RecordedCluster owned.RecordedCluster
	State           *M
	Memory          owned.Memory
	PrivateState    N
	Diags           diag.Diagnostics

	// MemoryChanged reports that Memory has changed.
	MemoryChanged bool
}

// keepStateError leaves the state unchanged, with a warning.
type keepStateError struct {
	err         error
	consequence string
}

func (e *keepStateError) Error() string { return e.err.Error() }
func (e *keepStateError) Unwrap() error { return e.err }

// KeepState makes err a warning that states the consequence and leaves the state
// unchanged.
func KeepState(err error, consequence string) error {
	return &keepStateError{err: err, consequence: consequence}
}

// Read updates the state to what the cluster has.
func (r *Resource[M, P, N]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := P(new(M))
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.common().Identity())...)
	if resp.Diagnostics.HasError() || !r.data.Configured() {
		return // the cluster is created in this run: keep the state
	}
	recordedCluster, diags := owned.ClusterOf(ctx, r.data, req.Private, r.Kind.Type, state.common().ID)
	resp.Diagnostics.Append(diags...)
	if diags.HasError() {
		return
	}
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	privateState, diags := r.PrivateState.load(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	before := *state

	reading := &Reading[M, N]{Data: r.data, RecordedCluster: recordedCluster, State: (*M)(state), Memory: memory,
		PrivateState: privateState}
	err := r.refresh(ctx, reading, state.common())
	if reading.MemoryChanged {
		resp.Diagnostics.Append(memory.Save(ctx, resp.Private)...)
	}
	if r.PrivateState.Save != nil && err == nil || r.PrivateState.Save == nil &&
		!reflect.DeepEqual(reading.PrivateState, privateState) {
		resp.Diagnostics.Append(r.PrivateState.save(ctx, resp.Private, reading.PrivateState)...)
	}
	resp.Diagnostics.Append(reading.Diags...)
	switch {
	case errors.Is(err, owned.ErrGone):
		resp.State.RemoveResource(ctx)
	case err != nil:
		resp.Diagnostics.Append(readFailure(err))
	default:
		resp.Diagnostics.Append(recordedCluster.Record(ctx, resp.Private)...)
		if !r.same((*M)(state), &before) {
			resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
		}
	}
}

func (r *Resource[M, P, N]) refresh(ctx context.Context, reading *Reading[M, N], state *Common) error {
	if state.Manifests.IsNull() {
		return r.Hooks.Import(ctx, reading)
	}
	return r.Hooks.Refresh(ctx, reading)
}

func readFailure(err error) diag.Diagnostic {
	if kept, ok := errors.AsType[*keepStateError](err); ok {
		return tf.Warning(kept.err, kept.consequence)
	}
	if kube.ClassOf(err) == kube.Denied {
		return tf.Warning(err, "The state is kept unchanged.")
	}
	return tf.Failure(err)
}
