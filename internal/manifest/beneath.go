package manifest

import (
	"reflect"
	"slices"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// beneath merges our fields under the user's and returns the result, which
// shares nothing with either; field is where both are. The user wins:
//
//   - Maps are merged key by key; what the user sets to null stays away, and
//     what is empty, which the API takes for nothing, gives way.
//   - Lists of named items are merged item by item: what is named alike is
//     merged, or is the user's alone where two halves make no whole (see
//     itemKeys). Ours that are not there follow the user's.
//   - Of other lists, our items are appended unless they are there.
//   - A probe with a handler of the user's is his alone, and so is a resource
//     that he sets a request or a limit of, if both must be equal.
//
// Merging again changes nothing. Both arguments are plain JSON.
func beneath(field string, user, ours map[string]any) map[string]any {
	result := make(map[string]any, len(user)+len(ours))
	for key, value := range user {
		result[key] = kind.Copy(value)
	}
	for key, value := range ours {
		theirs, ok := user[key]
		if !ok || theirs != nil && !hasUserKeys(field) && kind.IsEmpty(normalizeValue(theirs, key)) {
			result[key] = kind.Copy(value)
		} else {
			result[key] = beneathValue(key, theirs, value)
		}
	}
	return result
}

func beneathValue(field string, user, ours any) any {
	switch theirs := user.(type) {
	case map[string]any:
		ours, ok := ours.(map[string]any)
		switch {
		case !ok || isProbe(field) && hasHandler(theirs):
			return kind.Copy(user)
		case field == "resources":
			ours = withoutGPUsOf(ours, theirs)
		}
		return beneath(field, theirs, ours)
	case []any:
		ours, ok := ours.([]any)
		switch {
		case !ok:
			return kind.Copy(user)
		case field == "nodeSelectorTerms":
			return everyTerm(theirs, ours)
		}
		return beneathList(field, theirs, ours)
	default:
		return user
	}
}

// itemKeys are the fields that name the items of a list, and whether an item of
// the user's stands alone: of two volumes or variables of one name, the one
// would get a second source from the other.
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

func beneathList(field string, user, ours []any) []any {
	keys, alone := itemKeys(field)
	result, _ := kind.Copy(user).([]any)
	for _, item := range ours {
		same := slices.IndexFunc(user, func(theirs any) bool {
			return sameItem(keys, theirs, item) || reflect.DeepEqual(normalizeValue(theirs, ""), normalizeValue(item, ""))
		})
		switch {
		case same < 0:
			result = append(result, kind.Copy(item))
		case !alone:
			result[same] = beneathValue("", user[same], item)
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

// everyTerm adds our expressions to each term of the user's. Terms are
// alternatives, so that one of ours beside his would let pods go where he
// forbids it.
func everyTerm(user, ours []any) []any {
	if len(user) == 0 {
		result, _ := kind.Copy(ours).([]any)
		return result
	}
	result := make([]any, len(user))
	for i, term := range user {
		result[i] = kind.Copy(term)
		for _, item := range ours {
			result[i] = beneathValue("", result[i], item)
		}
	}
	return result
}

func isProbe(field string) bool {
	return field == "livenessProbe" || field == "readinessProbe" || field == "startupProbe"
}

func hasHandler(probe map[string]any) bool {
	return slices.ContainsFunc([]string{"exec", "grpc", "httpGet", "tcpSocket"}, func(handler string) bool {
		return probe[handler] != nil
	})
}

// withoutGPUsOf leaves our number of GPUs out where the user gives one, since
// request and limit must be equal.
func withoutGPUsOf(ours, user map[string]any) map[string]any {
	gpus := string(gpuResource)
	if _, ok := kind.Find(user, []string{"limits", gpus}); !ok {
		if _, ok := kind.Find(user, []string{"requests", gpus}); !ok {
			return ours
		}
	}
	ours, _ = kind.Copy(ours).(map[string]any)
	kind.SetAt(ours, []string{"limits", gpus}, nil)
	kind.SetAt(ours, []string{"requests", gpus}, nil)
	return ours
}
