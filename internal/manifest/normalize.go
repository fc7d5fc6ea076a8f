package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// Key returns the key of an object in the attribute manifests: "Kind/namespace/name".
func Key(o *unstructured.Unstructured) string {
	return o.GetKind() + "/" + o.GetNamespace() + "/" + o.GetName()
}

// NewObject returns a normalized object.
func NewObject(
	of kind.Kind, namespace, name string, labels, annotations, spec map[string]any,
) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: normalize(newObject(of, namespace, name, labels, annotations, spec))}
}

func newObject(of kind.Kind, namespace, name string, labels, annotations, spec map[string]any) map[string]any {
	object := of.Named(namespace, name).Object
	kind.SetAt(object, []string{"metadata", "labels"}, labels)
	kind.SetAt(object, []string{"metadata", "annotations"}, annotations)
	object["spec"] = spec
	return object
}

// JSON encodes the normalized object as compact JSON with sorted keys. It fails only
// for values that JSON does not support, such as an infinite number.
func JSON(o *unstructured.Unstructured) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // plans show the startup script
	if err := encoder.Encode(Normalize(o)); err != nil {
		return "", fmt.Errorf("encoding %s: %w", Key(o), err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Normalize returns the object in the form that is applied and compared. It shares
// no data with o:
//
//   - Fields that are null, or an empty map or list, are removed, because the API
//     server does not store them. Fields whose empty value has a meaning stay (see
//     keepsEmpty). Of the items of lists, only nulls are removed.
//   - Empty strings stay, like zeros and false: they are values. Applied, they
//     replace the value of another manager, and custom resources store them.
//   - Quantities are in canonical form: "0.5" and 0.5 become "500m". See
//     canonicalizeQuantities for the fields.
//   - Integers are int64, regardless of their type.
//
// Normalizing again changes nothing.
func Normalize(o *unstructured.Unstructured) map[string]any {
	return normalize(o.Object)
}

func normalize(object map[string]any) map[string]any {
	result := normalizeMap(object, "")
	canonicalizeQuantities(result)
	return result
}

// normalizeMap normalizes the map in the field parent.
func normalizeMap(m map[string]any, parent string) map[string]any {
	result := make(map[string]any, len(m))
	for key, value := range m {
		if text, ok := value.(string); ok && hasUserKeys(parent) {
			result[key] = text
			continue
		}
		value = normalizeValue(value, key)
		if _, isText := value.(string); isText || !kind.IsEmpty(value) || value != nil && keepsEmpty(key) {
			result[key] = value
		}
	}
	return result
}

// withoutEmptyText returns an object without its empty strings, except those in
// maps with keys of the user and in environment variables. field is the field that
// contains value.
func withoutEmptyText(value any, field string) any {
	switch value := value.(type) {
	case map[string]any:
		result := make(map[string]any, len(value))
		for key, item := range value {
			if item != "" || hasUserKeys(field) || keepsEmpty(key) || field == "env" {
				result[key] = withoutEmptyText(item, key)
			}
		}
		return result
	case []any:
		if field != "env" { // identifies environment variables
			field = ""
		}
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = withoutEmptyText(item, field)
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

// keepsEmpty reports whether an empty value of a field differs from no value: an
// empty selector selects everything, an empty storage class disables provisioning,
// and emptyDir is the type of a volume. KubeRay requires rayStartParams, an empty elasticPolicy makes a PyTorchJob
// elastic, and canary and blueGreen are strategies of an Argo Rollout.
func keepsEmpty(field string) bool {
	return slices.Contains([]string{"blueGreen", "canary", "elasticPolicy", "emptyDir", "labelSelector",
		"namespaceSelector", "podSelector", "rayStartParams", "storageClassName"}, field)
}

// hasUserKeys reports whether a field is a map of strings with keys of the user, in
// which an empty string is a value.
func hasUserKeys(field string) bool {
	return slices.Contains([]string{"annotations", "data", "distributedConfig", "labels", "matchLabels", "nodeSelector",
		"rayStartParams", "selector", "stringData"}, field)
}
