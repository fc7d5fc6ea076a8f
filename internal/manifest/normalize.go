package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Key names an object among those of a compute: "Kind/namespace/name".
func Key(o *unstructured.Unstructured) string {
	return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// JSON is the normalized object as compact JSON with sorted keys. It fails only
// on what no JSON has, such as an infinite number.
func JSON(o *unstructured.Unstructured) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // people read the start-up script in plans
	if err := encoder.Encode(Normalize(o)); err != nil {
		return "", fmt.Errorf("encoding %s: %w", Key(o), err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Normalize returns the object in the one form that is applied and compared,
// sharing nothing with o:
//
//   - Nulls, and empty maps and lists in fields, are dropped, since the API
//     server stores none of them, but for the few that mean something to it (see
//     keepsEmpty). Items of lists are never dropped, but for nulls.
//   - Empty strings are kept, as zeros and false are: they are values. Applied,
//     they replace what another manager has set, and custom resources store them.
//   - Quantities are in canonical form: "0.5" and 0.5 become "500m".
//   - Whole numbers are int64, whatever type they had.
//
// Normalizing again changes nothing.
func Normalize(o *unstructured.Unstructured) map[string]any {
	return normalizeMap(o.Object, "")
}

// normalizeMap normalizes the map that is in the field parent.
func normalizeMap(m map[string]any, parent string) map[string]any {
	result := make(map[string]any, len(m))
	for key, value := range m {
		if text, ok := value.(string); ok && hasUserKeys(parent) {
			result[key] = text
			continue
		}
		if hasQuantities(parent) || isQuantity(key) {
			value = canonicalQuantity(value)
		}
		value = normalizeValue(value, key)
		if _, isText := value.(string); isText || !kind.IsEmpty(value) || value != nil && keepsEmpty(key) {
			result[key] = value
		}
	}
	return result
}

// JSONWithoutEmptyText is JSON without the empty strings in fields, as the first
// release of the provider wrote all objects.
func JSONWithoutEmptyText(o *unstructured.Unstructured) (string, error) {
	object, _ := withoutEmptyText(o.Object, "", false).(map[string]any)
	return JSON(&unstructured.Unstructured{Object: object})
}

// withoutEmptyText is an object without its empty strings, but for those in maps
// whose keys are the user's and, with variables, in environment variables. field
// is where value is.
func withoutEmptyText(value any, field string, variables bool) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, item := range value {
			if item != "" || hasUserKeys(field) || keepsEmpty(key) || variables && field == "env" {
				result[key] = withoutEmptyText(item, key, variables)
			}
		}
		return result
	case []any:
		if field != "env" { // whose items are known by it
			field = ""
		}
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = withoutEmptyText(item, field, variables)
		}
		return result
	default:
		return value
	}
}

func normalizeValue(value any, key string) any {
	switch value := value.(type) {
	case map[string]any:
		return normalizeMap(value, key)
	case []any:
		result := make([]any, 0, len(value))
		for _, item := range value {
			if item := normalizeValue(item, ""); item != nil {
				result = append(result, item)
			}
		}
		return result
	default:
		return kind.Number(value)
	}
}

// keepsEmpty reports whether the API tells an empty value of a field from none:
// an empty selector selects all, an empty storage class is none at all, and an
// emptyDir says by being there what the volume is. KubeRay requires
// rayStartParams.
func keepsEmpty(field string) bool {
	switch field {
	case "emptyDir", "labelSelector", "namespaceSelector", "podSelector", "rayStartParams", "storageClassName":
		return true
	default:
		return false
	}
}

// hasUserKeys reports whether a field is a map from strings of the user's to
// strings, in which an empty string is a value like any other.
func hasUserKeys(field string) bool {
	switch field {
	case "annotations", "data", "distributedConfig", "labels", "matchLabels", "nodeSelector", "rayStartParams",
		"selector", "stringData":
		return true
	default:
		return false
	}
}

// hasQuantities reports whether a field is a map of quantities.
func hasQuantities(field string) bool {
	switch field {
	case "limits", "overhead", "requests", "resources":
		return true
	default:
		return false
	}
}

func isQuantity(field string) bool {
	return field == "divisor" || field == "sizeLimit"
}

// canonicalQuantity leaves what is no quantity as it is, for the API server to
// judge.
func canonicalQuantity(value any) any {
	text, ok := value.(string)
	if !ok {
		switch n := kind.Number(value).(type) {
		case int64:
			text = strconv.FormatInt(n, 10)
		case float64:
			text = strconv.FormatFloat(n, 'f', -1, 64)
		default:
			return value
		}
	}
	q, err := ParseQuantity(text)
	if err != nil {
		return value
	}
	return q.String()
}
