package lifecycle

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/tf/owned"
)

// UID returns the planned uid. It is unknown if the apply sets it: that of a new object, or, if the object is applied,
// one that state lacks because the response to the creation was lost.
func (p *Planning[M, N]) UID(inState types.String, applied bool) types.String {
	if p.Creating || p.Terminating || len(p.Replace) > 0 || inState.IsNull() && applied {
		return types.StringUnknown()
	}
	return inState
}

// SetDestroyRequested records in the plan whether the deletion of the resource was requested: by a destroy, by removing
// it from the configuration, or with -replace. A replacement that was not requested is that of a tainted resource,
// whose creation failed. Terraform plans it without a request to the provider for the old resource. Every plan of a
// resource that distinguishes this calls it, because the mark of an earlier plan that was not applied remains in the
// private state.
func (p *Planning[M, N]) SetDestroyRequested(ctx context.Context, requested bool) {
	p.Diags.Append(saveChanged(ctx, p.private, destroyKey, requested)...)
}

// saveChanged saves a value in private state if it differs from the saved one.
func saveChanged(ctx context.Context, private privateData, key string, value bool) diag.Diagnostics {
	if before, _ := owned.Load[bool](ctx, private, key); before == value {
		return nil
	}
	return owned.Save(ctx, private, key, value)
}

// Send creates an object, or updates one in state. An update has the UID, so that the server rejects it if the object
// was deleted, instead of creating another one.
func (w *Writing[M, N]) Send(
	ctx context.Context, obj *unstructured.Unstructured, inState bool,
) (*unstructured.Unstructured, diag.Diagnostics, error) {
	if !inState {
		return owned.Create(ctx, w.Data.Run, w.Memory, w.Creation, obj)
	}
	sent := obj
	if uid := w.Memory[manifest.Key(obj)].UID; uid != "" {
		sent = obj.DeepCopy()
		sent.SetUID(uid)
	}
	return owned.ApplyAs(ctx, w.Data.Run, w.Memory, obj, sent)
}

// ReadNow reads an object after a wait, even if the wait was interrupted.
func (w *Writing[M, N]) ReadNow(ctx context.Context, ref kube.Ref) (*unstructured.Unstructured, error) {
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return w.Data.Cluster.Store.Get(ctx, ref)
}
