package driftbench_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// at returns the value at a path of a live object, whose list items have all of
// their keys.
func at(v any, path fieldpath.Path) (any, bool) {
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

// edited returns a copy of an object with another value at path. Nil removes the field.
func edited(object map[string]any, path fieldpath.Path, to any) map[string]any {
	out := runtime.DeepCopyJSON(object)
	parent, ok := at(out, path[:len(path)-1])
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
		return edited(object, path[:len(path)-1], list)
	}
	return out
}

// extended returns a path extended by field names.
func extended(path fieldpath.Path, names ...string) fieldpath.Path {
	out := path.Copy()
	for _, name := range names {
		out = append(out, fieldpath.FieldNameElement(name))
	}
	return out
}

// lastField returns the name of the last field in a path. For a list item, this is
// the list.
func lastField(path fieldpath.Path) string {
	for _, pe := range slices.Backward(path) {
		if pe.FieldName != nil {
			return *pe.FieldName
		}
	}
	return ""
}

// parents returns the paths that contain one of the leaves.
func parents(leaves []fieldpath.Path) []fieldpath.Path {
	var out []fieldpath.Path
	seen := map[string]bool{}
	for _, leaf := range leaves {
		for end := 1; end < len(leaf); end++ {
			if text := leaf[:end].String(); !seen[text] {
				seen[text] = true
				out = append(out, leaf[:end].Copy())
			}
		}
	}
	slices.SortFunc(out, fieldpath.Path.Compare)
	return out
}

// partial returns the object for a server-side apply of only the value at path.
func partial(object map[string]any, path fieldpath.Path, to any) map[string]any {
	out, _ := part(path, to).(map[string]any)
	meta, _ := out["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		out["metadata"] = meta
	}
	was, _ := object["metadata"].(map[string]any)
	out["apiVersion"], out["kind"], meta["name"], meta["namespace"] = object["apiVersion"], object["kind"], was["name"],
		was["namespace"]
	return out
}

func part(path fieldpath.Path, to any) any {
	if len(path) == 0 {
		return runtime.DeepCopyJSONValue(to)
	}
	inner := part(path[1:], to)
	pe := path[0]
	switch {
	case pe.FieldName != nil:
		return map[string]any{*pe.FieldName: inner}
	case pe.Key != nil:
		m, _ := inner.(map[string]any)
		for _, key := range *pe.Key {
			m[key.Name] = key.Value.Unstructured()
		}
		return []any{m}
	default:
		return []any{inner}
	}
}

// scalars returns the paths of all scalars in a value, as names and indexes.
func scalars(v any, at []any) [][]any {
	var out [][]any
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, scalars(v[key], append(slices.Clone(at), key))...)
		}
	case []any:
		for i := range v {
			out = append(out, scalars(v[i], append(slices.Clone(at), i))...)
		}
	default:
		out = append(out, at)
	}
	return out
}

// inside returns a copy of a value. change replaces the map or list that contains
// the last of the steps; it receives both.
func inside(v any, steps []any, change func(in any, last any) any) any {
	if len(steps) == 1 {
		return change(runtime.DeepCopyJSONValue(v), steps[0])
	}
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		out[steps[0].(string)] = inside(v[steps[0].(string)], steps[1:], change)
		return out
	case []any:
		out := slices.Clone(v)
		out[steps[0].(int)] = inside(v[steps[0].(int)], steps[1:], change)
		return out
	}
	return v
}

// step follows names and indexes into a value. It returns nil if a step does not exist.
func step(v any, steps []any) any {
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

func isScalar(v any) bool {
	kind := reflect.ValueOf(v).Kind()
	return v != nil && kind != reflect.Map && kind != reflect.Slice
}

// stepsText formats names and indexes, for example 0.tolerations.key.
func stepsText(steps []any) string {
	var parts []string
	for _, s := range steps {
		parts = append(parts, fmt.Sprint(s))
	}
	return strings.Join(parts, ".")
}
