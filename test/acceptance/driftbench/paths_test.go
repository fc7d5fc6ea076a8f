package driftbench_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

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

// stepsText formats names and indexes, for example 0.tolerations.key.
func stepsText(steps []any) string {
	var parts []string
	for _, s := range steps {
		parts = append(parts, fmt.Sprint(s))
	}
	return strings.Join(parts, ".")
}

func isScalar(v any) bool {
	kind := reflect.ValueOf(v).Kind()
	return v != nil && kind != reflect.Map && kind != reflect.Slice
}
