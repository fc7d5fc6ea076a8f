// Package paths reads and changes fields of live objects at the paths that managedFields contain.
package paths

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// At returns the value at a path of a live object, whose list items have all of
// their keys.
func At(v any, path fieldpath.Path) (any, bool) {
	for _, pe := range path {
		switch in := v.(type) {
		case map[string]any:
			if pe.FieldName == nil {
				return nil, false
			}
			next, ok := in[*pe.FieldName]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i := item(in, pe)
			if i < 0 {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func item(list []any, pe fieldpath.PathElement) int {
	return slices.IndexFunc(list, func(item any) bool {
		if pe.Value != nil {
			return value.Equals(value.NewValueInterface(item), *pe.Value)
		}
		m, ok := item.(map[string]any)
		if !ok || pe.Key == nil {
			return false
		}
		for _, key := range *pe.Key {
			if got, has := m[key.Name]; !has || !value.Equals(value.NewValueInterface(got), key.Value) {
				return false
			}
		}
		return true
	})
}

// Edited returns a copy of an object with another value at path. Nil removes the field.
func Edited(object map[string]any, path fieldpath.Path, to any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	parent, ok := At(out, path[:len(path)-1])
	if !ok {
		return nil
	}
	last := path[len(path)-1]
	switch in := parent.(type) {
	case map[string]any:
		if to == nil {
			delete(in, *last.FieldName)
		} else {
			in[*last.FieldName] = to
		}
	case []any:
		i := item(in, last)
		if i < 0 {
			return nil
		}
		list := slices.Delete(slices.Clone(in), i, i+1)
		if to != nil {
			list = slices.Insert(list, i, to)
		}
		return Edited(object, path[:len(path)-1], list)
	}
	return out
}

// Scalars returns the paths of all scalars in a value, as names and indexes.
func Scalars(v any, at []any) [][]any {
	var out [][]any
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, Scalars(v[key], append(slices.Clone(at), key))...)
		}
	case []any:
		for i := range v {
			out = append(out, Scalars(v[i], append(slices.Clone(at), i))...)
		}
	default:
		out = append(out, at)
	}
	return out
}

// Inside returns a copy of a value. change replaces the map or list that contains
// the last of the steps; it receives both.
func Inside(v any, steps []any, change func(in any, last any) any) any {
	if len(steps) == 1 {
		return change(runtime.DeepCopyJSONValue(v), steps[0])
	}
	switch step := steps[0].(type) {
	case string:
		if v, ok := v.(map[string]any); ok {
			out := maps.Clone(v)
			out[step] = Inside(v[step], steps[1:], change)
			return out
		}
	case int:
		if v, ok := v.([]any); ok {
			out := slices.Clone(v)
			out[step] = Inside(v[step], steps[1:], change)
			return out
		}
	}
	return v
}

// Step follows names and indexes into a value. It returns nil if a step does not exist.
func Step(v any, steps []any) any {
	for _, s := range steps {
		switch in := v.(type) {
		case map[string]any:
			name, _ := s.(string)
			v = in[name]
		case []any:
			i, ok := s.(int)
			if !ok || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// Others returns values that differ from v. The server may reject some of them.
func Others(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v}
	case int64:
		return []any{v + 1, v + 7, int64(2), int64(0)}
	case float64:
		return []any{v + 1}
	case string:
		if q, err := resource.ParseQuantity(v); err == nil && !q.IsZero() && strings.ContainsAny(v, "0123456789") {
			q.Add(q)
			return []any{q.String(), v + "1", v + "x"}
		}
		var out []any
		for _, choice := range []string{
			"Always", "Never", "OnFailure", "IfNotPresent", "NoSchedule", "NoExecute", "PreferNoSchedule", "Exists",
			"Equal", "UDP", "HTTPS",
			"Recreate", "RollingUpdate", "OnDelete", "ScheduleAnyway", "DoNotSchedule", "Ignore", "In", "NotIn",
			"ReadWriteMany", "Allow", "Forbid",
		} {
			if choice != v {
				out = append(out, choice)
			}
		}
		if strings.HasPrefix(v, "/") {
			return append([]any{v + "x"}, out...)
		}
		return append([]any{v + "-x", v + "x", "other", "0 5 1 1 *", "10.0.0.9"}, out...)
	}
	return nil
}
