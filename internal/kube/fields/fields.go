// Package fields is the pure arithmetic of field ownership: which fields of a
// live object are ours, what they hold now, what they held when we applied
// them, and who changed them since.
//
// Ownership is what the API server wrote into metadata.managedFields when it
// took our server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/). The
// set names list items by the keys of the type's own schema, so nothing here
// has to guess how a list merges, for built-in kinds and CRDs alike.
package fields

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Owned returns the fields of obj that manager holds by server-side apply, and
// whether there is such an entry at all. Entries of subresources don't count.
func Owned(obj *unstructured.Unstructured, manager string) (*fieldpath.Set, bool, error) {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		set, err := decode(entry)
		return set, err == nil, err
	}
	return nil, false, nil
}

// Parse reads a set in the FieldsV1 JSON form that Format writes.
func Parse(fieldsV1 []byte) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(fieldsV1)); err != nil {
		return nil, fmt.Errorf("field set is not FieldsV1 JSON: %w", err)
	}
	return set, nil
}

// Format writes a set as FieldsV1 JSON.
func Format(set *fieldpath.Set) ([]byte, error) {
	return set.ToJSON()
}

func decode(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if entry.FieldsV1 == nil {
		return &fieldpath.Set{}, nil
	}
	set, err := Parse(entry.FieldsV1.GetRawBytes())
	if err != nil {
		return nil, fmt.Errorf("managed fields of %q: %w", entry.Manager, err)
	}
	return set, nil
}

// Project returns the fields of obj that are in set, with the values they have
// now, in obj's own order. apiVersion, kind, name and namespace are always in
// it: they belong to the request that owns the fields.
func Project(obj map[string]any, set *fieldpath.Set) map[string]any {
	out, _ := project(obj, set).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for _, path := range identity() {
		if v, ok, _ := unstructured.NestedString(obj, path...); ok {
			_ = unstructured.SetNestedField(out, v, path...) // out holds only maps on these paths
		}
	}
	return out
}

// identity lists the fields that say which object is meant. The API server
// leaves them out of managedFields.
func identity() [][]string {
	return [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}}
}

// project keeps of v what set names. A member without children is a leaf (or
// an atomic list or map) and is kept whole.
func project(v any, set *fieldpath.Set) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range v {
			pe := fieldpath.FieldNameElement(name)
			if kept, ok := keep(field, pe, set); ok {
				out[name] = kept
			}
		}
		return out
	case []any:
		named := make(map[int]fieldpath.PathElement, len(v))
		for _, pe := range elements(set) {
			if i := find(v, pe); i >= 0 {
				named[i] = pe
			}
		}
		out := []any{}
		for i, item := range v {
			if pe, ok := named[i]; ok {
				if kept, ok := keep(item, pe, set); ok {
					out = append(out, kept)
				}
			}
		}
		return out
	default:
		return v
	}
}

func keep(v any, pe fieldpath.PathElement, set *fieldpath.Set) (any, bool) {
	if child, ok := set.Children.Get(pe); ok {
		return project(v, child), true
	}
	return v, set.Members.Has(pe)
}

// elements returns every path element of the set's first level once. (The
// iterators of package fieldpath must not be left early, so they are drained.)
func elements(set *fieldpath.Set) []fieldpath.PathElement {
	all := slices.Collect(set.Children.All())
	for pe := range set.Members.All() {
		if _, both := set.Children.Get(pe); !both {
			all = append(all, pe)
		}
	}
	return all
}

// Paths returns every path of the set, parents before children.
func Paths(set *fieldpath.Set) []fieldpath.Path {
	var paths []fieldpath.Path
	for path := range set.All() {
		paths = append(paths, path.Copy()) // the iterator reuses its memory
	}
	slices.SortStableFunc(paths, fieldpath.Path.Compare)
	return paths
}

// find returns the index of the list item that a path element names, -1 where
// there is none. The server fills keys that have a default (protocol TCP of a
// port) into the element, but not into what we sent, so an item that leaves keys
// out is taken where no other item has all of them.
func find(list []any, pe fieldpath.PathElement) int {
	if i := slices.IndexFunc(list, func(item any) bool { return matches(item, pe, true) }); i >= 0 || pe.Key == nil {
		return i
	}
	return slices.IndexFunc(list, func(item any) bool { return matches(item, pe, false) })
}

// matches says whether a list item is the one that a path element names; in full
// if the item is to have all of the element's keys.
func matches(item any, pe fieldpath.PathElement, inFull bool) bool {
	switch {
	case pe.Key != nil:
		m, ok := item.(map[string]any)
		if !ok {
			return false
		}
		same := 0
		for _, key := range *pe.Key {
			got, present := m[key.Name]
			switch {
			case present && !value.Equals(value.NewValueInterface(got), key.Value), !present && inFull:
				return false
			case present:
				same++
			}
		}
		return same > 0
	case pe.Value != nil:
		return value.Equals(value.NewValueInterface(item), *pe.Value)
	default:
		return false
	}
}

// String writes a path as people write it:
// spec.template.spec.containers["kubetorch"].env["HF_TOKEN"].value,
// metadata.labels["app.kubernetes.io/name"], spec.ports[port=80,protocol=TCP].
func String(path fieldpath.Path) string {
	var b strings.Builder
	for _, pe := range path {
		switch {
		case pe.FieldName != nil && strings.ContainsAny(*pe.FieldName, "./"):
			fmt.Fprintf(&b, "[%q]", *pe.FieldName)
		case pe.FieldName != nil:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(*pe.FieldName)
		case pe.Key != nil && len(*pe.Key) == 1 && (*pe.Key)[0].Value.IsString():
			fmt.Fprintf(&b, "[%q]", (*pe.Key)[0].Value.AsString())
		case pe.Key != nil:
			parts := make([]string, 0, len(*pe.Key))
			for _, key := range *pe.Key {
				parts = append(parts, key.Name+"="+scalar(key.Value))
			}
			fmt.Fprintf(&b, "[%s]", strings.Join(parts, ","))
		case pe.Value != nil:
			fmt.Fprintf(&b, "[%s]", scalar(*pe.Value))
		case pe.Index != nil:
			fmt.Fprintf(&b, "[%d]", *pe.Index)
		}
	}
	return b.String()
}

func scalar(v value.Value) string {
	return fmt.Sprint(v.Unstructured())
}
