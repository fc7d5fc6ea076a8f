package kube

import (
	"context"
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// ActionManager is the field manager of fields that an action changes, so that
// their drift names the action.
const ActionManager = Manager + "-action"

// SetByAction reports whether an action has set the field at path, and no other
// client has changed it since: then the server has removed it from the fields of
// ActionManager. The field may be part of an atomic map.
func SetByAction(obj *unstructured.Unstructured, path []string) bool {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != ActionManager {
			continue
		}
		set, err := fields.Decode(entry)
		if err != nil {
			continue
		}
		leaves, at := set.Leaves(), fieldpath.Path{}
		for i := range path {
			at = append(at, fieldpath.PathElement{FieldName: &path[i]})
			if leaves.Has(at) {
				return true
			}
		}
	}
	return false
}

// Modify changes fields of an existing object as ActionManager, and returns the
// object, and whether it was changed. change modifies a copy of the live object.
// It is called again if another client changed the object at the same time.
func (c *Cluster) Modify(
	ctx context.Context, ref Ref, change func(obj *unstructured.Unstructured) error,
) (after *unstructured.Unstructured, changed bool, err error) {
	err = retry.RetryOnConflict(conflictBackoff(), func() error {
		live, err := c.API.Get(ctx, ref)
		if err != nil {
			return err
		}
		modified := live.DeepCopy()
		if err := change(modified); err != nil {
			return err
		}
		patch, err := mergePatch(live, modified)
		if after = live; err != nil || patch == nil {
			return Wrap("change", ref, err)
		}
		after, err = c.mergeOnce(ctx, ref, patch)
		changed = err == nil
		return err
	})
	return after, changed, err
}

func (c *Cluster) mergeOnce(ctx context.Context, ref Ref, patch []byte) (*unstructured.Unstructured, error) {
	out, err := c.API.write(ctx, "change", ref, request{
		method: http.MethodPatch, contentType: types.MergePatchType,
		params: map[string]string{"fieldManager": ActionManager}, body: patch,
	})
	if err != nil {
		return nil, c.API.denied(ctx, ref, err, "patch")
	}
	c.Store.note(ref, out)
	return out, nil
}

// mergePatch returns the JSON merge patch from live to modified, which applies
// only to this version of the object, or nil if they are equal. A list in the
// patch replaces the complete list, which the version makes safe.
func mergePatch(live, modified *unstructured.Unstructured) ([]byte, error) {
	before, _ := json.Marshal(live.Object) // it was decoded from JSON
	after, err := json.Marshal(modified.Object)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
	if err != nil || string(patch) == "{}" {
		return nil, err
	}
	var fields map[string]any
	_ = json.Unmarshal(patch, &fields)
	kind.SetAt(fields, []string{"metadata", "resourceVersion"}, live.GetResourceVersion())
	return json.Marshal(fields)
}
