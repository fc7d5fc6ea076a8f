package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// Server-side apply knows a list item by its keys. Where somebody changed the
// key itself (the port number of our Service port), an apply adds our item
// anew beside the changed one, and the server refuses the two for what must be
// unique in them (the port's name). Such a changed item is called a twin here:
// the repair gives it its keys back, and the apply then finds it.

// patchOp is one operation of a JSON patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// untwin returns the patch that gives twins their keys back, nil where err is
// of another kind or no twin is found.
func (c *Cluster) untwin(ctx context.Context, obj *unstructured.Unstructured, err error) []patchOp {
	e, ok := err.(*Error) //nolint:errorlint // wrap has just made it
	if !ok || e.Class != Invalid {
		return nil
	}
	ref, refErr := RefOf(obj)
	if refErr != nil {
		return nil
	}
	var patch []patchOp
	var live *unstructured.Unstructured
	for _, cause := range e.Fields {
		if cause.Type != metav1.CauseTypeFieldValueDuplicate {
			continue
		}
		if live == nil {
			if live, refErr = c.Get(ctx, ref); refErr != nil {
				return nil
			}
		}
		patch = append(patch, twinKeys(obj, live, cause.Field)...)
	}
	if patch == nil {
		return nil
	}
	guard := patchOp{Op: "test", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()}
	return append([]patchOp{guard}, patch...)
}

// twinKeys compares the items that have the same value in the duplicate field,
// and returns what turns the live one's keys into the wanted one's.
func twinKeys(wanted, live *unstructured.Unstructured, duplicate string) []patchOp {
	list, field, ok := splitIndex(duplicate)
	if !ok {
		return nil
	}
	keys := listKeys(live, list)
	wantedItems, _ := walk(wanted.Object, list).([]any)
	liveItems, _ := walk(live.Object, list).([]any)
	var patch []patchOp
	for _, item := range wantedItems {
		want, _ := item.(map[string]any)
		if want[field] == nil {
			continue
		}
		for i, item := range liveItems {
			have, _ := item.(map[string]any)
			if have[field] != want[field] {
				continue
			}
			for _, key := range keys {
				if value, given := want[key]; given && fmt.Sprint(value) != fmt.Sprint(have[key]) {
					patch = append(patch, patchOp{Op: "replace", Path: fmt.Sprintf("/%s/%d/%s", pointer(list), i, key), Value: value})
				}
			}
		}
	}
	return patch
}

// lastIndex splits spec.ports[1].name into spec.ports and name.
var lastIndex = regexp.MustCompile(`^(.+)\[\d+\]\.([A-Za-z]+)$`) //nolint:gochecknoglobals // compiled once, never changed

func splitIndex(field string) (list []string, name string, ok bool) {
	match := lastIndex.FindStringSubmatch(field)
	if match == nil {
		return nil, "", false
	}
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(match[1]), "."), match[2], true
}

// walk follows names and indexes.
func walk(v any, path []string) any {
	for _, step := range path {
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func pointer(path []string) string { return strings.Join(path, "/") }

// listKeys returns the names of the keys of a list's items, as the server's
// record of ownership uses them.
func listKeys(obj *unstructured.Unstructured, list []string) []string {
	for _, entry := range obj.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set, err := fields.Parse(entry.FieldsV1.GetRawBytes())
		if err != nil {
			continue
		}
		for _, path := range fields.Paths(set) {
			if names := keysAt(path, list); names != nil {
				return names
			}
		}
	}
	return nil
}

// keysAt returns the key names of the item that path goes through at list.
func keysAt(path fieldpath.Path, list []string) []string {
	if len(path) <= len(list) || path[len(list)].Key == nil {
		return nil
	}
	for i, name := range list {
		indexed := path[i].FieldName == nil // an index of the message, a key of the path
		if !indexed && *path[i].FieldName != name {
			return nil
		}
	}
	var names []string
	for _, field := range *path[len(list)].Key {
		names = append(names, field.Name)
	}
	return names
}

// patchJSON sends a JSON patch.
func (c *Cluster) patchJSON(ctx context.Context, ref Ref, patch []patchOp, dryRun []string) error {
	resource, err := c.resource(ref)
	if err != nil {
		return wrap("repair", ref, err)
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return wrap("repair", ref, err)
	}
	_, err = resource.Patch(ctx, ref.Name, types.JSONPatchType, data, metav1.PatchOptions{
		FieldManager: Manager, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	})
	return c.denied(ctx, "patch", ref, wrap("repair", ref, err))
}
