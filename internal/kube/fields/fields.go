// Package fields computes field ownership, without side effects: which fields of a live object the provider owns, their
// current values, their values when it applied them, and who has changed them since. In its comments, ours means owned
// or applied by the provider.
//
// Ownership is what the API server wrote into metadata.managedFields for the server-side apply
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/). The field set identifies list items by the
// keys of the type's own schema. Therefore this package does not guess how a list merges, for built-in kinds and
// CRDs alike.
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

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// manager is the name of the provider in managedFields.
const manager = kind.ManagedByValue

// Owned returns the fields of obj that we own by server-side apply, and whether such an entry exists. It
// ignores entries of subresources.
func Owned(obj *unstructured.Unstructured) (*fieldpath.Set, bool, error) {
	for _, entry := range obj.GetManagedFields() {
		if isOurs(entry) {
			set, err := Decode(entry)
			return set, err == nil, err
		}
	}
	return nil, false, nil
}

// Given returns the fields of obj that clients have set, which are the fields of all managers except those that without
// excludes. It ignores entries of subresources. An entry of an update includes the defaults that the server has set in
// the same request.
func Given(obj *unstructured.Unstructured, without ...string) (*fieldpath.Set, error) {
	given := fieldpath.NewSet()
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource != "" || slices.Contains(without, entry.Manager) {
			continue
		}
		set, err := Decode(entry)
		if err != nil {
			return nil, err
		}
		given = given.Union(set)
	}
	return given, nil
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
func Format(set *fieldpath.Set) []byte {
	raw, _ := set.ToJSON() // it fails only for an element without a name, key, value and index, which no set has
	return raw
}

// Decode returns the set of an entry.
func Decode(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	if entry.FieldsV1 == nil {
		return &fieldpath.Set{}, nil
	}
	set, err := Parse(entry.FieldsV1.GetRawBytes())
	if err != nil {
		return nil, fmt.Errorf("managed fields of %q: %w", entry.Manager, err)
	}
	return set, nil
}

// Project returns the fields of obj that are in set, with their current values, in the order of obj. It always
// includes apiVersion, kind, name and namespace, because they identify the object of the request that owns the
// fields.
func Project(obj map[string]any, set *fieldpath.Set) map[string]any {
	out, _ := project(obj, set).(map[string]any)
	for _, path := range identity() {
		if v, ok, _ := unstructured.NestedString(obj, path...); ok {
			_ = unstructured.SetNestedField(out, v, path...) // out contains only maps on these paths
		}
	}
	return out
}

// identity lists the fields that identify the object. The API server omits them from managedFields.
func identity() [][]string {
	return [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}}
}

// project returns the part of v that is in set. A member without children is a leaf (or an atomic list or map),
// which is copied completely.
func project(v any, set *fieldpath.Set) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, field := range v {
			pe := fieldpath.FieldNameElement(name)
			if projected, ok := projectChild(field, pe, set); ok {
				out[name] = projected
			}
		}
		return out
	case []any:
		byIndex := make(map[int]fieldpath.PathElement, len(v))
		for _, pe := range elements(set) {
			if i := find(v, pe); i >= 0 {
				byIndex[i] = pe
			}
		}
		out := []any{}
		for i, item := range v {
			if pe, ok := byIndex[i]; ok {
				if projected, ok := projectChild(item, pe, set); ok {
					out = append(out, projected)
				}
			}
		}
		return out
	default:
		return v
	}
}

func projectChild(v any, pe fieldpath.PathElement, set *fieldpath.Set) (any, bool) {
	if child, ok := set.Children.Get(pe); ok {
		return project(v, child), true
	}
	return v, set.Members.Has(pe)
}

// elements returns every path element of the first level of the set, once. It drains the iterators of package
// fieldpath because they must not be left early.
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

// find returns the index of the list item for a path element, or -1. The server adds keys that have a default
// (protocol TCP of a port) to the element, but not to what was sent. If no item has all keys, find returns an item
// that lacks some of them.
func find(list []any, pe fieldpath.PathElement) int {
	if i := slices.IndexFunc(list, func(item any) bool { return matches(item, pe, true) }); i != -1 {
		return i
	}
	return slices.IndexFunc(list, func(item any) bool { return matches(item, pe, false) })
}

// matches reports whether a path element refers to a list item. With allKeys, the item must have every key of the
// element.
func matches(item any, pe fieldpath.PathElement, allKeys bool) bool {
	switch {
	case pe.Key != nil:
		m, _ := item.(map[string]any)
		same := 0
		for _, key := range *pe.Key {
			got, present := m[key.Name]
			switch {
			case present && !value.Equals(value.NewValueInterface(got), key.Value), !present && allKeys:
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

// String formats a path for users, for example spec.template.spec.containers["kubetorch"].env["HF_TOKEN"].value,
// metadata.labels["app.kubernetes.io/name"] or spec.ports[port=80,protocol=TCP].
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
