package fields

import (
	"reflect"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// lookup returns the value at path, and whether it exists.
func lookup(v any, path fieldpath.Path) (any, bool) {
	for _, pe := range path {
		next, ok := child(v, pe)
		if !ok {
			return nil, false
		}
		v = next
	}
	return v, true
}

func child(v any, pe fieldpath.PathElement) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			return nil, false
		}
		field, ok := v[*pe.FieldName]
		return field, ok
	case []any:
		if i := find(v, pe); i >= 0 {
			return v[i], true
		}
	}
	return nil, false
}

// set returns v with the value at path replaced, and creates missing parents. It may change v.
func set(v any, path fieldpath.Path, to any) any {
	if len(path) == 0 {
		return to
	}
	pe := path[0]
	if pe.FieldName != nil {
		m, ok := v.(map[string]any)
		if !ok {
			m = map[string]any{}
		}
		m[*pe.FieldName] = set(m[*pe.FieldName], path[1:], to)
		return m
	}
	list, _ := v.([]any)
	if i := find(list, pe); i >= 0 {
		list[i] = set(list[i], path[1:], to)
		return list
	}
	return append(list, set(nil, path[1:], to))
}

// remove returns v without the value at path. It may change v.
func remove(v any, path fieldpath.Path) any {
	pe, last := path[0], len(path) == 1
	switch v := v.(type) {
	case map[string]any:
		if pe.FieldName == nil {
			return v
		}
		if last {
			delete(v, *pe.FieldName)
		} else if field, ok := v[*pe.FieldName]; ok {
			v[*pe.FieldName] = remove(field, path[1:])
		}
	case []any:
		i := find(v, pe)
		switch {
		case i >= 0 && last:
			return slices.Delete(v, i, i+1)
		case i >= 0:
			v[i] = remove(v[i], path[1:])
		}
	}
	return v
}

// equal compares JSON values. An integer is equal to the float64 that another decoder makes of it.
func equal(a, b any) bool {
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

// Empty reports whether a typed API object omits the value (omitempty).
func Empty(v any) bool { return kind.IsEmpty(v) || reflect.ValueOf(v).IsZero() }
