package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	backoff "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// Server-side apply cannot restore all fields:
//
//   - It identifies a list item by its keys. If another client changed a key,
//     such as the number of a Service port, the apply adds the item again. The
//     server rejects both items if another field must be unique, such as the name
//     of the port. The repair restores the keys of the changed item.
//   - It does not change fields that the provider does not apply, even if they
//     conflict with applied fields. Examples are the parameters that the server
//     defaulted for a rolling update if the strategy becomes Recreate, and the
//     exec of a probe that replaced the applied httpGet. The repair replaces the
//     struct that contains both by the applied struct.
//   - It makes null of a map whose last field it removes, also if the applied map
//     is empty, and the schema of a custom resource rejects null. An example is
//     the rayStartParams of a RayCluster. The repair empties the map.
//
// All cases are detected by the types and fields of the causes in the
// rejection. Indexes in a cause refer to the merged object, which the server does
// not return. Items are therefore identified by name.

// patchOp is one operation of a JSON patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// repair changes the live object so that obj can be applied after err, and
// reports whether it succeeded. In a dry run, it only checks this.
func (c *Cluster) repair(
	ctx context.Context, ref Ref, obj *unstructured.Unstructured, err error, dryRun bool,
) (bool, error) {
	var e *Error
	if !errors.As(err, &e) || e.Class != Invalid {
		return false, nil
	}
	return c.patchLive(ctx, ref, dryRun, func(live *unstructured.Unstructured) []patchOp {
		return repairs(obj, live, e.Fields)
	})
}

// patchLive applies the patch that with returns for the live object, if any, and
// reports whether there was one.
func (c *Cluster) patchLive(
	ctx context.Context, ref Ref, dryRun bool, with func(live *unstructured.Unstructured) []patchOp,
) (bool, error) {
	patched := false
	err := retry.RetryOnConflict(conflictBackoff(), func() error {
		live, err := c.API.Get(ctx, ref)
		if IsNotFound(err) {
			return nil // a new object needs no repair
		}
		if err != nil {
			return err
		}
		patch := with(live)
		if patch == nil {
			return nil
		}
		patched = true
		return c.API.patchJSON(ctx, ref, patch, dryRun)
	})
	if err != nil || !patched || dryRun {
		return patched, err
	}
	return true, c.ownByApply(ctx, ref)
}

// removeForeignMembers removes members of unions that other clients have added to the
// applied member. Built-in kinds reject both members; a custom resource would
// keep both.
func (c *Cluster) removeForeignMembers(ctx context.Context, ref Ref, obj *unstructured.Unstructured) error {
	if isKubernetes(ref.Kind.Group) {
		return nil
	}
	seen, err := c.Store.Get(ctx, ref)
	if err != nil || len(replaceUnions(obj, seen)) == 0 {
		return nil //nolint:nilerr // the apply returns the same error
	}
	_, err = c.patchLive(ctx, ref, false, func(live *unstructured.Unstructured) []patchOp {
		return guarded(live, replaceUnions(obj, live))
	})
	return err
}

// conflictBackoff is the backoff of writes that conflict with a controller. It
// takes five seconds in total, because a rollout consists of many writes.
func conflictBackoff() backoff.Backoff {
	return backoff.Backoff{Steps: 12, Duration: 20 * time.Millisecond, Factor: 1.6, Jitter: 0.2}
}

// ownByApply moves the ownership of patched fields to server-side apply: a
// later apply without a field does not remove it while another entry of
// managedFields contains it.
func (c *Cluster) ownByApply(ctx context.Context, ref Ref) error {
	return retry.RetryOnConflict(conflictBackoff(), func() error {
		live, err := c.API.Get(ctx, ref)
		if err != nil {
			return err
		}
		upgrade, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(Manager), Manager)
		if err != nil || upgrade == nil {
			return Wrap("repair", ref, err)
		}
		return c.API.patchJSON(ctx, ref, json.RawMessage(upgrade), false)
	})
}

func (a *API) patchJSON(ctx context.Context, ref Ref, patch any, dryRun bool) error {
	op := "repair"
	if ref.isSecret() { // of which only managed fields are patched
		op = "apply"
	}
	data, _ := json.Marshal(patch) // what was decoded from JSON cannot fail
	_, err := a.send(ctx, ref, request{
		method: http.MethodPatch, contentType: types.JSONPatchType, params: strict(dryRun), body: data,
	})
	return a.maskError(ctx, ref, Wrap(op, ref, err), nil, "patch")
}

// repairs returns the patch that repairs the causes, or nil if there is none.
// The patch is valid only for this version of the live object.
func repairs(wanted, live *unstructured.Unstructured, causes []FieldCause) []patchOp {
	var patch []patchOp
	for _, cause := range causes {
		for _, op := range replaceUnions(wanted, live) {
			if overlap(cause.Field, op.Path) {
				patch = append(patch, op)
			}
		}
		switch cause.Type {
		case metav1.CauseTypeFieldValueDuplicate:
			patch = append(patch, duplicateKeys(wanted, live, cause.Field)...)
		case metav1.CauseTypeForbidden, metav1.CauseTypeFieldValueInvalid:
			patch = append(patch, replaceStruct(wanted, live, cause.Field)...)
		case metav1.CauseTypeTypeInvalid:
			patch = append(patch, emptyMap(wanted, live, cause.Field)...)
		}
	}
	return guarded(live, withoutRepeats(patch))
}

// guarded makes a patch valid only for this version of the live object. It
// returns nil for an empty patch. Replacing the version, instead of testing it,
// makes the server respond with a conflict.
func guarded(live *unstructured.Unstructured, patch []patchOp) []patchOp {
	if patch == nil {
		return nil
	}
	guard := patchOp{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()}
	return append([]patchOp{guard}, patch...)
}

// overlap reports whether the field of a cause contains the struct at a JSON
// pointer, or the reverse, regardless of the items of lists.
func overlap(field, pointer string) bool {
	names := func(path []string) []string {
		return slices.DeleteFunc(path, func(step string) bool { _, err := strconv.Atoi(step); return err == nil })
	}
	a, b := names(steps(field)), names(strings.Split(pointer, "/")[1:])
	shorter := min(len(a), len(b))
	return slices.Equal(a[:shorter], b[:shorter])
}

// replaceUnions replaces the structs in which the live object has a member that
// conflicts with the applied member.
func replaceUnions(wanted, live *unstructured.Unstructured) []patchOp {
	return kind.Each(fields.MixedUnions(wanted.Object, live.Object), func(union fields.Union) patchOp {
		return patchOp{Op: "replace", Path: kind.Pointer(union.Path), Value: union.Struct}
	})
}

// withoutRepeats removes operations on paths that an earlier operation
// replaces.
func withoutRepeats(patch []patchOp) []patchOp {
	var out []patchOp
	for _, op := range patch {
		replaced := func(o patchOp) bool { return op.Path == o.Path || strings.HasPrefix(op.Path, o.Path+"/") }
		if !slices.ContainsFunc(out, replaced) {
			out = append(out, op)
		}
	}
	return out
}

// replaceStruct replaces the struct of a field that conflicts with another field by
// the applied struct.
func replaceStruct(wanted, live *unstructured.Unstructured, named string) []patchOp {
	path := steps(named)
	field, path := path[len(path)-1], path[:len(path)-1]
	if isShared(path) {
		return nil
	}
	var patch []patchOp
	for _, m := range matches(wanted.Object, live.Object, path) {
		own, _ := m.ours.(map[string]any)
		other, _ := m.theirs.(map[string]any)
		_, ours := own[field]
		_, there := other[field]
		if own != nil && there && !ours {
			patch = append(patch, patchOp{Op: "replace", Path: kind.Pointer(m.path), Value: own})
		}
	}
	return patch // nil: only applied fields can be the cause
}

// emptyMap empties a map that is empty in the applied object.
func emptyMap(wanted, live *unstructured.Unstructured, field string) []patchOp {
	var patch []patchOp
	for _, m := range matches(wanted.Object, live.Object, steps(field)) {
		if own, isMap := m.ours.(map[string]any); isMap && len(own) == 0 {
			patch = append(patch, patchOp{Op: "replace", Path: kind.Pointer(m.path), Value: own})
		}
	}
	return patch
}

// isShared reports whether path is a struct with fields of other clients, such
// as a container or the object, which must not be replaced completely.
func isShared(path []string) bool {
	for _, step := range slices.Backward(path) {
		if _, err := strconv.Atoi(step); err != nil {
			return slices.Contains([]string{"metadata", "spec", "template", "jobTemplate", "containers",
				"initContainers"}, step)
		}
	}
	return true
}

// steps splits spec.containers[0].ports into names and indexes.
func steps(field string) []string {
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(field), ".")
}

// match is a path that exists in both documents.
type match struct {
	path         []string // in the live one
	ours, theirs any
}

// matches returns the places at path in both documents. An index in it matches every item that
// has the same name in both.
func matches(wanted, live any, path []string) []match {
	at := []match{{ours: wanted, theirs: live}}
	for _, step := range path {
		var next []match
		for _, m := range at {
			next = append(next, m.follow(step)...)
		}
		at = next
	}
	return at
}

func (m match) follow(step string) []match {
	var out []match
	switch theirs := m.theirs.(type) {
	case map[string]any:
		ours, _ := m.ours.(map[string]any)
		out = append(out, match{path: append(slices.Clone(m.path), step), ours: ours[step], theirs: theirs[step]})
	case []any:
		ours, _ := m.ours.([]any)
		for i, item := range theirs {
			if j := kind.IndexNamed(ours, kind.TextAt(item, "name")); j >= 0 {
				out = append(out, match{path: append(slices.Clone(m.path), strconv.Itoa(i)), ours: ours[j],
					theirs: item})
			}
		}
	}
	return out
}
