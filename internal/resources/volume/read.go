package volume

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/claim"
	"github.com/ktdev/terraform-provider-kt/internal/tf"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// Read brings state up to what the cluster has, through the shared collection.
func (r *volumeResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity())...)
	if resp.Diagnostics.HasError() || !r.configured() {
		return // the cluster is made in this run: what is in state stands
	}
	home, diags := owned.HomeOf(ctx, r.data, req.Private, "kt_volume", state.ID)
	resp.Diagnostics.Append(diags...)
	if diags.HasError() {
		return
	}
	memory, diags := owned.LoadMemory(ctx, req.Private)
	resp.Diagnostics.Append(diags...)
	noted, diags := loadNotes(ctx, req.Private)
	resp.Diagnostics.Append(diags...)

	before := state
	look := reader{r: r, state: &state, memory: memory, notes: noted}
	var err error
	if state.Manifests.IsNull() {
		err = look.imported(ctx)
	} else {
		err = look.refresh(ctx)
	}
	if look.learned {
		resp.Diagnostics.Append(look.memory.Save(ctx, resp.Private)...)
	}
	if look.notes != noted {
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
	if !reflect.DeepEqual(state, before) {
		resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	}
}

// reader brings one state up to date.
type reader struct {
	r      *volumeResource
	state  *model
	memory owned.Memory
	notes  notes
	diags  diag.Diagnostics

	learned bool // memory has changed
}

// refresh looks at the claim that was applied.
func (l *reader) refresh(ctx context.Context) error {
	sent, err := l.state.object()
	if err != nil {
		return err
	}
	ref, key := l.state.claimRef(), l.state.key()
	l.memory.Recover(key, apitypes.UID(l.state.UID.ValueString()), false)
	found, diags, err := owned.Find(ctx, l.r.data.Cluster, l.memory, key, ref, "kt_volume "+l.state.ID.ValueString())
	l.diags.Append(diags...)
	l.learned = found.Learned
	if err != nil {
		return err
	}
	fresh, err := l.memory.Refresh(key, sent, found.Live)
	if err != nil {
		return err
	}
	l.learned = l.learned || fresh.Learned
	l.diags.Append(owned.DriftWarning(ref, fresh.Changes)...)
	if fresh.Moved {
		if l.state.Manifests, err = manifestsOf(fresh.Object); err != nil {
			return err
		}
		l.diags.Append(l.state.follow(ctx, claim.Observe(sent), claim.Observe(fresh.Object))...)
	}
	l.condition(ref, found.Live)
	return nil
}

// condition takes over how the claim is, and warns of one whose data is in danger.
func (l *reader) condition(ref kube.Ref, live *unstructured.Unstructured) {
	l.state.status(live)
	l.state.Ref = l.state.ref()
	bound := l.state.Phase.ValueString() == string(corev1.ClaimBound)
	l.notes.Waiting = l.notes.Waiting && (!bound || l.state.smaller())
	volume := l.state.Volume.ValueString()
	if l.state.Phase.ValueString() == string(corev1.ClaimLost) {
		l.diags.AddWarning(ref.String()+" has lost its volume", fmt.Sprintf("PersistentVolume %q is gone, and pods that use the claim do not start. "+
			"The state is kept.\n\nNext step: Restore the PersistentVolume under its name, or give the claim up: remove it from the configuration and apply, then add it again.\nInvestigate with:\n  kubectl -n %s describe persistentvolumeclaim %s",
			volume, ref.Namespace, ref.Name))
	}
	if gone := live.GetDeletionTimestamp(); gone != nil {
		rescue := ""
		if volume != "" {
			rescue = fmt.Sprintf(" To keep its data, have the PersistentVolume outlive it now:\n  kubectl patch persistentvolume %s -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'", volume)
		}
		l.diags.AddWarning(ref.String()+" is being deleted", fmt.Sprintf("Its deletion began at %s and cannot be taken back: it goes once no pod uses it. An apply after that makes a new, empty one.%s",
			gone.UTC().Format(time.RFC3339), rescue))
	}
}

// status takes over what Kubernetes says of a claim.
func (m *model) status(live *unstructured.Unstructured) {
	text := func(path ...string) types.String {
		value, _, _ := unstructured.NestedString(live.Object, path...)
		return textOrNull(value)
	}
	m.UID = types.StringValue(string(live.GetUID()))
	m.Phase = text("status", "phase")
	m.Capacity = text("status", "capacity", "storage")
	m.Volume = types.StringNull()
	if claim.Bound(live) {
		m.Volume = text("spec", "volumeName")
	}
	if class := claim.Observe(live).StorageClass; m.StorageClass.IsNull() && class != nil {
		m.StorageClass = types.StringValue(*class) // the default class, which Kubernetes has filled in
	}
}

// smaller says whether the volume holds less than is asked for.
func (m *model) smaller() bool {
	capacity, size := tf.QuantityOf(m.Capacity.ValueString()), m.Size
	return less(capacity, size)
}
