package kube

import (
	"fmt"
	"reflect"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// duplicateKeys compares the items with the same value in the duplicate field, and
// returns the patch that changes the keys of the live item to the applied keys.
func duplicateKeys(wanted, live *unstructured.Unstructured, duplicate string) []patchOp {
	match := lastIndex.FindStringSubmatch(duplicate)
	if match == nil {
		return nil
	}
	list, field := steps(match[1]), match[2]
	keys := listKeys(live, list)
	var patch []patchOp
	for _, m := range matches(wanted.Object, live.Object, list) {
		wantedItems, _ := m.ours.([]any)
		liveItems, _ := m.theirs.([]any)
		for _, item := range wantedItems {
			want, _ := item.(map[string]any)
			if want[field] == nil {
				continue
			}
			for i, item := range liveItems {
				have, _ := item.(map[string]any)
				if !reflect.DeepEqual(have[field], want[field]) {
					continue
				}
				for _, key := range keys {
					if value, given := want[key]; given && fmt.Sprint(value) != fmt.Sprint(have[key]) {
						patch = append(patch, patchOp{Op: "replace",
							Path:  fmt.Sprintf("%s/%d/%s", kind.Pointer(m.path), i, key),
							Value: value})
					}
				}
			}
		}
	}
	return patch
}

// lastIndex splits spec.ports[1].name into spec.ports and name, and no other paths.
var lastIndex = regexp.MustCompile(`^(.+)\[\d+\]\.([A-Za-z]+)$`)

// listKeys returns the names of the keys of the items of a list, as used in
// managedFields.
func listKeys(obj *unstructured.Unstructured, list []string) []string {
	for _, entry := range obj.GetManagedFields() {
		set, err := fields.Decode(entry)
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

// keysAt returns the key names of the item of list that path contains.
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
	return kind.Each(*path[len(list)].Key, func(field value.Field) string { return field.Name })
}
