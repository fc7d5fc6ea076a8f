package lifecycle

import (
	"context"
	"errors"
	"maps"
	"reflect"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Reading is a refresh or an import.
type Reading[M, N any] struct {
	Data            *tf.ProviderData
	Resource        string // type and ID: kt_volume ml/data
	RecordedCluster owned.RecordedCluster
	State           *M
	Memory          owned.Memory
	PrivateState    N
	Diags           diag.Diagnostics
	// Moved is the object of a resource that was moved from another provider and not updated since; nil for others.
	Moved *Moved

	// Terminating reports whether the object with the attribute uid is being deleted; see [Reading.SetLive].
	Terminating bool

	// Live is the first object of the resource, and Listing reads its other objects, if a list resource imports it.
	// Both are nil otherwise. Nothing is then stored but the state, so the hook need not determine anything else.
	Live    *unstructured.Unstructured
	Listing *kube.Listing

	// Short reports whether this is the [ShortPath]. There, a hook may return any error instead of a result that
	// needs requests of its own: the framework then repeats the refresh.
	Short bool
}

// FindObject returns the live version of an applied object, or [owned.ErrGone] with a warning. An object is also gone
// if its kind was removed from the cluster.
func (r *Reading[M, N]) FindObject(
	ctx context.Context, obj *unstructured.Unstructured,
) (ref kube.Ref, live *unstructured.Unstructured, err error) {
	cluster := r.Data.Cluster
	ref, err = cluster.Discovery.LiveRef(ctx, obj)
	if err == nil {
		var diags diag.Diagnostics
		live, diags, err = owned.Find(ctx, r.Data.Run, r.Memory, manifest.Key(obj), ref, r.Resource)
		r.Diags.Append(diags...)
	}
	if r.RecordedCluster.KindRemoved(ctx, cluster, ref, err) {
		r.Diags.Append(owned.RemovedWarning(ref))
		err = owned.ErrGone
	}
	return ref, live, err
}

// SetLive sets the attribute uid to that of its live object. If that is being deleted, it warns of it, and the next
// plan replaces the resource; see [Planning.Terminating].
func (r *Reading[M, N]) SetLive(ref kube.Ref, live *unstructured.Unstructured) {
	commonOf(r.State).UID = types.StringValue(string(live.GetUID()))
	// What is moved cannot be replaced, and what is listed is in no state.
	if r.Terminating = live.GetDeletionTimestamp() != nil && r.Moved == nil && r.Listing == nil; r.Terminating {
		r.Diags.Append(owned.TerminatingWarning(ref, live, commonOf(r.State).DeletionProtection.ValueBool()))
	}
}

// ErrKept is the result of a refresh that leaves the state unchanged, and has reported why.
var ErrKept = errors.New("the state is kept unchanged")

// Read updates the state to what the cluster has.
func (r *Resource[M, N]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state := new(M)
	resp.Diagnostics.Append(req.State.Get(ctx, state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, commonOf(state).Identity())...)
	if resp.Diagnostics.HasError() {
		return
	}
	result, diags := r.read(ctx, state, privateData{req.Private, resp.Private}, false)
	resp.Diagnostics.Append(diags...)
	switch result {
	case stateKept:
	case stateChanged:
		resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	case stateRemoved:
		resp.State.RemoveResource(ctx)
	}
}

// terminatingKey is the key in private state of [Reading.Terminating] at the last refresh.
const terminatingKey = "terminating"

// readResult is the effect of a read on the state.
type readResult int

const (
	stateKept readResult = iota
	stateChanged
	stateRemoved
)

// privateData is the private state of a request and of its response.
type privateData struct {
	owned.PrivateReader
	owned.PrivateWriter
}

// read updates state, which is kept while the provider is not configured.
func (r *Resource[M, N]) read(
	ctx context.Context, state *M, private privateData, short bool,
) (result readResult, diags diag.Diagnostics) {
	hidden := commonOf(state).SensitiveValues
	defer func() { diags = mask(diags, hidden, commonOf(state).SensitiveValues) }()
	if !r.data.Configured() {
		return stateKept, nil // the cluster is created in this run
	}
	memory, privateState, recordedCluster, diags := r.recorded(ctx, private, commonOf(state))
	moved, unreadable := loadMoved(ctx, private)
	diags.Append(unreadable...)
	diags.Append(commonOf(state).Reveal()...)
	if diags.HasError() {
		return stateKept, diags
	}
	r.recoverMemory(memory, commonOf(state))
	before, remembered := *state, maps.Clone(memory) // entries are replaced, not changed

	reading := &Reading[M, N]{Data: r.data, Resource: r.Kind.Type + " " + commonOf(state).ID.ValueString(),
		RecordedCluster: recordedCluster, State: state, Memory: memory, PrivateState: privateState, Moved: moved,
		Short: short}
	err := r.refresh(ctx, reading, commonOf(state))
	if !reflect.DeepEqual(memory, remembered) {
		diags.Append(memory.Save(ctx, private)...)
	}
	if !reflect.DeepEqual(reading.PrivateState, privateState) {
		diags.Append(owned.Save(ctx, private, privateStateKey, reading.PrivateState)...)
	}
	diags.Append(reading.Diags...)
	if err == nil {
		diags.Append(saveChanged(ctx, private, terminatingKey, reading.Terminating)...)
		diags.Append(checkMoved(moved, commonOf(state).UID)...)
	}
	switch {
	case errors.Is(err, owned.ErrGone):
		if doubtful := recordedCluster.Doubtful(); doubtful.HasError() {
			return stateKept, append(diags, doubtful...)
		}
		return stateRemoved, diags
	case errors.Is(err, ErrKept):
		return stateKept, diags
	case err != nil && short: // discarded: the read that follows explains it, as an outage is explained once
		return stateKept, append(diags, diag.NewErrorDiagnostic(err.Error(), ""))
	case err != nil: // also without permission: the plan would not show what has changed
		return stateKept, append(diags, tf.Failure(err))
	}
	diags.Append(recordedCluster.Record(ctx, private)...)
	if owned.Unchanged(state, &before) {
		return stateKept, diags
	}
	_, failed := commonOf(state).conceal(commonOf(state).SensitiveValues)
	return stateChanged, append(diags, failed...)
}

func (r *Resource[M, N]) refresh(ctx context.Context, reading *Reading[M, N], state *Common) error {
	switch {
	case !state.Manifests.IsNull():
		return r.Hooks.Refresh(ctx, reading)
	case reading.Short:
		return errImports
	default:
		return r.Hooks.Import(ctx, reading)
	}
}

// errImports ends a refresh on the short path that changes the state in any case.
var errImports = errors.New("the objects have to be imported")
