package manifest

import "github.com/ktdev/terraform-provider-kt/internal/kind"

// MergeTemplate merges over into base recursively and returns the result, which
// shares no data with either:
//
//   - Maps are merged key by key.
//   - A null in over removes the key.
//   - Lists of maps are merged item by item if every item of both lists has a
//     unique name: items with the same name are merged, others are appended. If
//     every item has a mountPath, it is the name, as in Kubernetes. Kubetorch
//     replaces these lists, so that a template silently removes the container.
//   - Other lists and values are replaced.
//
// Merging the same template again changes nothing. Both arguments are plain
// JSON: maps, slices, strings, numbers, booleans and nil.
func MergeTemplate(base, over map[string]any) map[string]any {
	result := make(map[string]any, len(base)+len(over))
	for key, value := range base {
		if _, ok := over[key]; !ok {
			result[key] = kind.Copy(value)
		}
	}
	for key, value := range over {
		if value != nil {
			result[key] = mergeValue(base[key], value)
		}
	}
	return result
}

func mergeValue(base, over any) any {
	switch over := over.(type) {
	case map[string]any:
		base, _ := base.(map[string]any)
		return MergeTemplate(base, over)
	case []any:
		base, _ := base.([]any)
		return mergeLists(base, over)
	default:
		return over
	}
}

func mergeLists(base, over []any) []any {
	pairs, named := kind.Pair([]string{"mountPath", "name"}, over, base)
	if !named {
		base = []any{}
	}
	result, _ := kind.Copy(base).([]any)
	for i, item := range over {
		if !named || pairs[i] < 0 {
			result = append(result, mergeValue(nil, item))
		} else {
			result[pairs[i]] = mergeValue(base[pairs[i]], item)
		}
	}
	return result
}
