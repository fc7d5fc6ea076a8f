package kube

import (
	"context"
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Records returns the managed fields to set on an object, or false if it
// already has them.
type Records func(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error)

// SetRecords changes only the managed fields of an object. It starts with live,
// and reads the object again if live is outdated. A missing object is not an
// error.
func (c *Cluster) SetRecords(ctx context.Context, ref Ref, live *unstructured.Unstructured, records Records) error {
	err := retry.RetryOnConflict(conflictBackoff(), func() (err error) {
		if live == nil {
			if live, err = c.API.Get(ctx, ref); err != nil {
				return err
			}
		}
		entries, changed, err := records(live)
		if err != nil || !changed {
			return err
		}
		patch := guarded(live, []patchOp{{Op: "replace", Path: "/metadata/managedFields", Value: entries}})
		err = c.API.patchJSON(ctx, ref, patch, false)
		live = nil
		return err
	})
	if IsNotFound(err) {
		return nil
	}
	return err
}

// RemoveAnnotation removes an annotation from live, if the object still has its
// UID and that value. It does nothing if live lacks the annotation.
func (c *Cluster) RemoveAnnotation(
	ctx context.Context, ref Ref, live *unstructured.Unstructured, name string,
) error {
	value, found := live.GetAnnotations()[name]
	if !found {
		return nil
	}
	after, err := c.API.send(ctx, ref, annotationRemoval(live.GetUID(), name, value))
	if err == nil {
		c.Store.note(ref, after)
	}
	return c.API.denied(ctx, ref, Wrap("apply", ref, err), "patch")
}

// RemoveUnfinished removes UnfinishedAnnotation of this creation from the object with this UID only. If it fails, the
// next run that reads the object does it. The response contains only metadata, and no values of a Secret.
func (a *API) RemoveUnfinished(ctx context.Context, ref Ref, uid types.UID, id string) {
	removal := annotationRemoval(uid, UnfinishedAnnotation, id)
	removal.metadataOnly = true
	_, _ = a.send(ctx, ref, removal)
}

// annotationRemoval returns the request that removes an annotation from the
// object with a UID, if the annotation has that value.
func annotationRemoval(uid types.UID, name, value string) request {
	at := kind.Pointer([]string{"metadata", "annotations", name})
	patch, _ := json.Marshal([]map[string]any{ // texts cannot fail
		{"op": "test", "path": "/metadata/uid", "value": uid},
		{"op": "test", "path": at, "value": value},
		{"op": "remove", "path": at},
	})
	return request{method: http.MethodPatch, contentType: types.JSONPatchType, body: patch,
		params: map[string]string{"fieldManager": Manager}}
}
