package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// Server-side apply cannot put everything back by itself:
//
//   - It knows a list item by its keys. Where somebody changed a key (the port
//     number of our Service port), it adds our item anew beside the changed one,
//     and the server refuses the two for what must be unique in them (the port's
//     name). The repair gives the changed item, its twin, the keys back.
//   - It leaves fields alone that we don't apply, even where they exclude one
//     that we do: the parameters that the server defaulted for a rolling update,
//     when the strategy becomes Recreate; a probe's exec that somebody put in
//     the place of our httpGet. The repair replaces the struct they are in by
//     ours.
//
// Both are read from the causes of the refusal, by their types and fields.

// patchOp is one operation of a JSON patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// repair makes it possible to apply obj after err, and says whether it is. In a
// dry run it only finds out whether the server would let it.
func (c *Cluster) repair(ctx context.Context, ref Ref, obj *unstructured.Unstructured, err error, dryRun []string) (bool, error) {
	var e *Error
	if !errors.As(err, &e) || e.Class != Invalid {
		return false, nil
	}
	repaired := false
	err = retry.RetryOnConflict(againstWriters(), func() error {
		live, err := c.Get(ctx, ref)
		if IsNotFound(err) {
			return nil // what is new has nothing to repair
		}
		if err != nil {
			return err
		}
		patch := repairs(obj, live, e.Fields)
		if patch == nil {
			return nil
		}
		repaired = true
		return c.patchJSON(ctx, ref, patch, dryRun)
	})
	if err != nil || !repaired || len(dryRun) > 0 {
		return repaired, err
	}
	return true, c.holdByApply(ctx, ref)
}

// againstWriters is for writes that lose against a controller which writes the same
// object: five seconds in all, since a rollout is many writes.
func againstWriters() backoff.Backoff {
	return backoff.Backoff{Steps: 12, Duration: 20 * time.Millisecond, Factor: 1.6, Jitter: 0.2, Cap: 5 * time.Second}
}

// holdByApply makes fields that were patched ours by server-side apply alone:
// what another entry of managedFields holds too, an apply that leaves it out
// would not remove.
func (c *Cluster) holdByApply(ctx context.Context, ref Ref) error {
	return retry.RetryOnConflict(againstWriters(), func() error {
		live, err := c.Get(ctx, ref)
		if err != nil {
			return err
		}
		upgrade, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(Manager), Manager)
		if err != nil || upgrade == nil {
			return wrap("repair", ref, err)
		}
		return c.patchJSON(ctx, ref, json.RawMessage(upgrade), nil)
	})
}

func (c *Cluster) patchJSON(ctx context.Context, ref Ref, patch any, dryRun []string) error {
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

// repairs returns the patch that mends what the causes name, nil where nothing
// can be done. It holds for this very state of the live object.
func repairs(wanted, live *unstructured.Unstructured, causes []FieldCause) []patchOp {
	var patch []patchOp
	for _, cause := range causes {
		switch cause.Type {
		case metav1.CauseTypeFieldValueDuplicate:
			patch = append(patch, twinKeys(wanted, live, cause.Field)...)
		case metav1.CauseTypeForbidden:
			patch = append(patch, ownStruct(wanted, live, cause.Field)...)
		}
	}
	if patch == nil {
		return nil
	}
	guard := patchOp{Op: "replace", Path: "/metadata/resourceVersion", Value: live.GetResourceVersion()}
	return append([]patchOp{guard}, patch...)
}

// ownStruct replaces the struct around a field that may not stand beside
// another one by the struct that we apply.
func ownStruct(wanted, live *unstructured.Unstructured, forbidden string) []patchOp {
	path := steps(forbidden)
	path = path[:len(path)-1]
	ours, theirs := meet(wanted.Object, live.Object, path)
	own, _ := ours.(map[string]any)
	other, _ := theirs.(map[string]any)
	for name := range other {
		if _, applied := own[name]; own != nil && !applied {
			return []patchOp{{Op: "replace", Path: pointer(path), Value: own}}
		}
	}
	return nil // nothing but our own fields can be at fault
}

// twinKeys compares the items that have the same value in the duplicate field,
// and returns what turns the live one's keys into the wanted one's.
func twinKeys(wanted, live *unstructured.Unstructured, duplicate string) []patchOp {
	list, field, ok := splitIndex(duplicate)
	if !ok {
		return nil
	}
	keys := listKeys(live, list)
	ours, theirs := meet(wanted.Object, live.Object, list)
	wantedItems, _ := ours.([]any)
	liveItems, _ := theirs.([]any)
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
					patch = append(patch, patchOp{Op: "replace", Path: fmt.Sprintf("%s/%d/%s", pointer(list), i, key), Value: value})
				}
			}
		}
	}
	return patch
}

// lastIndex splits spec.ports[1].name into spec.ports and name.
var lastIndex = regexp.MustCompile(`^(.+)\[\d+\]\.([A-Za-z]+)$`)

func splitIndex(field string) (list []string, name string, ok bool) {
	match := lastIndex.FindStringSubmatch(field)
	if match == nil {
		return nil, "", false
	}
	return steps(match[1]), match[2], true
}

// steps splits spec.containers[0].ports into names and indexes.
func steps(field string) []string {
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(field), ".")
}

// meet follows path into both documents. An index counts the live items; the
// wanted item is the one of the same name, wherever it stands.
func meet(wanted, live any, path []string) (ours, theirs any) {
	for _, step := range path {
		switch at := live.(type) {
		case map[string]any:
			m, _ := wanted.(map[string]any)
			wanted, live = m[step], at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil, nil
			}
			live = at[i]
			wanted = itemNamed(wanted, nameOf(live))
		default:
			return nil, nil
		}
	}
	return wanted, live
}

func itemNamed(list any, name string) any {
	items, _ := list.([]any)
	for _, item := range items {
		if name != "" && nameOf(item) == name {
			return item
		}
	}
	return nil
}

func nameOf(item any) string {
	m, _ := item.(map[string]any)
	name, _ := m["name"].(string)
	return name
}

// pointer writes steps as a JSON pointer (RFC 6901).
func pointer(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return b.String()
}

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
