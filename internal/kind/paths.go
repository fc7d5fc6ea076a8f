package kind

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"k8s.io/apimachinery/pkg/runtime"
)

// Find returns the value at a path of keys and, in lists, of indexes.
func Find(value any, path []string) (any, bool) {
	for _, step := range path {
		switch in := value.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			value = in[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// MapAt returns the map at a path. It creates missing maps on the path, but not
// items of lists. It returns nil if the path contains another type.
func MapAt(root map[string]any, path []string) map[string]any {
	var at any = root
	for _, step := range path {
		next, ok := Find(at, []string{step})
		if in, isMap := at.(map[string]any); isMap && (!ok || next == nil) {
			next = map[string]any{}
			in[step] = next
		}
		at = next
	}
	m, _ := at.(map[string]any)
	return m
}

// SetAt sets the value at a path, or removes it if value is nil. It does nothing
// if the path contains another type than a map.
func SetAt(root map[string]any, path []string, value any) {
	parent, key := path[:len(path)-1], path[len(path)-1]
	if value == nil {
		delete(FieldsAt(root, parent...), key)
		return
	}
	if in := MapAt(root, parent); in != nil {
		in[key] = value
	}
}

// NumberAt returns the integer at a path; false if there is none, or if the path
// is nil.
func NumberAt(root map[string]any, path []string) (int64, bool) {
	if path == nil {
		return 0, false
	}
	value, _ := Find(root, path)
	n, ok := Number(value).(int64)
	return n, ok
}

// TextAt returns the string at a path, or "" if there is none.
func TextAt(root any, path ...string) string {
	value, _ := Find(root, path)
	text, _ := value.(string)
	return text
}

// ListAt returns the maps in the list at a path; other items are nil.
func ListAt(root map[string]any, path ...string) []map[string]any {
	value, _ := Find(root, path)
	list, _ := value.([]any)
	maps := make([]map[string]any, len(list))
	for i, item := range list {
		maps[i], _ = item.(map[string]any)
	}
	return maps
}

// FieldsAt returns the map at a path, or nil if there is none.
func FieldsAt(root any, path ...string) map[string]any {
	value, _ := Find(root, path)
	fields, _ := value.(map[string]any)
	return fields
}

// TextsAt returns the strings in the map at a path.
func TextsAt(root map[string]any, path ...string) map[string]string {
	m := FieldsAt(root, path...)
	texts := make(map[string]string, len(m))
	for key, value := range m {
		if text, ok := value.(string); ok {
			texts[key] = text
		}
	}
	return texts
}

// Under joins a path and keys below it.
func Under(path []string, steps ...string) []string {
	return append(slices.Clip(path), steps...)
}

// SetDefault sets a key that is missing or empty.
func SetDefault(root map[string]any, value any, path ...string) {
	if there, _ := Find(root, path); IsEmpty(there) {
		SetAt(root, path, value)
	}
}

// IsEmpty reports whether a value is nil, or an empty string, map or list.
func IsEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	default:
		return false
	}
}

// Number normalizes a number for comparisons: an integer becomes an int64,
// regardless of its type. Other values are returned unchanged.
func Number(value any) any {
	switch n := value.(type) {
	case int:
		return int64(n)
	case int32:
		return int64(n)
	case float32:
		return Number(float64(n))
	case float64:
		// Beyond 2^53, a float64 does not represent every integer.
		if n == math.Trunc(n) && math.Abs(n) <= 1<<53 {
			return int64(n)
		}
		return n
	case json.Number:
		if whole, err := n.Int64(); err == nil {
			return whole
		}
		if float, err := n.Float64(); err == nil {
			return Number(float)
		}
		return n.String()
	default:
		return value
	}
}

// Copy returns a copy of a JSON value that shares no map or list with it.
func Copy(value any) any { return runtime.DeepCopyJSONValue(value) }

// Texts returns a new map with the entries of all maps. Later ones override earlier
// ones.
func Texts(all ...map[string]string) map[string]any {
	result := map[string]any{}
	for _, m := range all {
		for key, value := range m {
			result[key] = value
		}
	}
	return result
}

// PodTemplates returns the paths of all pod templates in an object: maps with spec.containers.
func PodTemplates(object map[string]any) [][]string { return podTemplates(object, nil) }

func podTemplates(value any, at []string) [][]string {
	var found [][]string
	switch value := value.(type) {
	case map[string]any:
		if _, isList := FieldsAt(value, "spec")["containers"].([]any); isList && len(at) > 0 {
			found = append(found, at)
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if key != "status" || len(at) > 0 {
				found = append(found, podTemplates(value[key], append(slices.Clone(at), key))...)
			}
		}
	case []any:
		for i, item := range value {
			found = append(found, podTemplates(item, append(slices.Clone(at), strconv.Itoa(i)))...)
		}
	}
	return found
}

// IndexNamed returns the index of the item with a name in a list, or -1. No item has the name "".
func IndexNamed(list []any, name string) int {
	return slices.IndexFunc(list, func(item any) bool { return name != "" && TextAt(item, "name") == name })
}

// Pointer formats a path as a JSON pointer (RFC 6901).
func Pointer(path []string) string {
	var text strings.Builder
	for _, step := range path {
		text.WriteString("/" + jsonpointer.Escape(step))
	}
	return text.String()
}
