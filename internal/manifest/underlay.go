package manifest

import (
	"reflect"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// underlay merges our fields under those of the user and returns the result, which shares no data with either. field
// is the name of the field that contains both. The user's fields take precedence:
//
//   - Maps are merged key by key. A key that the user sets to null stays absent. An empty value, which the API treats
//     as absent, is replaced.
//   - Lists of named items are merged item by item. Items with the same name are merged, or the user's item is used
//     alone if the two cannot be combined (see itemKeys). Our other items are appended.
//   - To other lists, our items are appended unless the list contains them.
//   - A probe or a hook for which the user sets a handler is not merged. Neither is a resource for which the user sets
//     a request or a limit, if the two must be equal.
//
// Merging again changes nothing. Both arguments are plain JSON.
func underlay(field string, user, ours map[string]any) map[string]any {
	result := make(map[string]any, len(user)+len(ours))
	for key, value := range user {
		result[key] = kind.Copy(value)
	}
	for key, value := range ours {
		theirs, ok := user[key]
		if !ok || theirs != nil && !hasUserKeys(field) && kind.IsEmpty(normalizeValue(theirs, key)) {
			result[key] = kind.Copy(value)
		} else {
			result[key] = underlayValue(key, theirs, value)
		}
	}
	return result
}

func underlayValue(field string, user, ours any) any {
	switch theirs := user.(type) {
	case map[string]any:
		ours, ok := ours.(map[string]any)
		switch {
		case !ok || (isProbe(field) || field == "preStop") && hasHandler(theirs):
			return kind.Copy(user)
		case field == "resources":
			ours = withoutExtendedOf(ours, theirs)
		}
		return underlay(field, theirs, ours)
	case []any:
		ours, ok := ours.([]any)
		switch {
		case !ok:
			return kind.Copy(user)
		case field == "nodeSelectorTerms":
			return everyTerm(theirs, ours)
		}
		return underlayList(field, theirs, ours)
	default:
		return user
	}
}

// itemKeys returns the fields that identify the items of a list, and whether an item of the user is used alone.
// Merging two volumes or variables with the same name could result in two sources.
func itemKeys(field string) (keys []string, alone bool) {
	switch field {
	case "env", "volumes":
		return []string{"name"}, true
	case "volumeMounts":
		return []string{"mountPath"}, true
	case "tolerations":
		return []string{"key"}, true
	case "ports":
		return []string{"containerPort", "name"}, false
	default:
		return []string{"name"}, false
	}
}

func underlayList(field string, user, ours []any) []any {
	keys, alone := itemKeys(field)
	result, _ := kind.Copy(user).([]any)
	for _, item := range ours {
		same := slices.IndexFunc(user, func(theirs any) bool {
			return sameItem(keys, theirs, item) || reflect.DeepEqual(normalizeValue(theirs, ""),
				normalizeValue(item, ""))
		})
		switch {
		case same < 0:
			result = append(result, kind.Copy(item))
		case !alone:
			result[same] = underlayValue("", user[same], item)
		}
	}
	return result
}

func sameItem(keys []string, a, b any) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		a, _ := kind.Find(a, []string{key})
		b, _ := kind.Find(b, []string{key})
		return a != nil && reflect.DeepEqual(kind.Number(a), kind.Number(b))
	})
}

// everyTerm adds our expressions to each term of the user. Terms are alternatives, so a separate term of ours would
// allow nodes that the user excludes.
func everyTerm(user, ours []any) []any {
	if len(user) == 0 {
		result, _ := kind.Copy(ours).([]any)
		return result
	}
	result := make([]any, len(user))
	for i, term := range user {
		result[i] = kind.Copy(term)
		for _, item := range ours {
			result[i] = underlayValue("", result[i], item)
		}
	}
	return result
}

func isProbe(field string) bool {
	return field == "livenessProbe" || field == "readinessProbe" || field == "startupProbe"
}

func hasHandler(probe map[string]any) bool {
	return slices.ContainsFunc([]string{"exec", "grpc", "httpGet", "sleep", "tcpSocket"}, func(handler string) bool {
		return probe[handler] != nil
	})
}

// withoutExtendedOf omits our numbers of GPUs and other extended resources that the user sets, because request and
// limit must be equal.
func withoutExtendedOf(ours, user map[string]any) map[string]any {
	result, _ := kind.Copy(ours).(map[string]any)
	for _, list := range []string{"limits", "requests"} {
		for name := range kind.FieldsAt(user, list) {
			if isExtended(name) {
				kind.SetAt(result, []string{"limits", name}, nil)
				kind.SetAt(result, []string{"requests", name}, nil)
			}
		}
	}
	return result
}
