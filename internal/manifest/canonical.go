package manifest

import (
	"strconv"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// canonicalizeQuantities rewrites the quantities of a normalized object in canonical form, in place. It recognizes the
// types of Kubernetes that contain quantities wherever they are embedded: containers, pod specs, volumes and claim
// templates. Any other field, such as limits of a custom resource, stays as it is: its text may be something else, such
// as the version "1.10".
func canonicalizeQuantities(object map[string]any) {
	spec, _ := object["spec"].(map[string]any)
	switch of := gvkOf(object).GroupKind(); {
	case of == kind.PersistentVolumeClaim().GroupKind():
		canonicalRequirements(spec)
	case kind.WorkloadOf(of).Server != nil:
		canonicalList(spec, "resources")
	}
	canonicalizeEmbedded(object, "")
}

// canonicalizeEmbedded rewrites the quantities of the embedded types in value. field is the field that contains it, or
// the list that does.
func canonicalizeEmbedded(value any, field string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			canonicalizeEmbedded(item, field)
		}
	case map[string]any:
		switch field {
		case "containers", "initContainers", "ephemeralContainers", "autoscalerOptions": // the last one of a RayCluster
			canonicalRequirements(value)
		case "volumeClaimTemplate", "volumeClaimTemplates":
			canonicalRequirements(kind.FieldsAt(value, "spec"))
		case "emptyDir":
			canonicalField(value, "sizeLimit")
		case "resourceFieldRef":
			canonicalField(value, "divisor")
		}
		if _, pod := value["containers"].([]any); pod {
			canonicalRequirements(value)
			canonicalList(value, "overhead")
		}
		for name, inner := range value {
			canonicalizeEmbedded(inner, name)
		}
	}
}

// canonicalRequirements rewrites the requests and limits in the field resources.
func canonicalRequirements(of map[string]any) {
	resources, _ := of["resources"].(map[string]any)
	canonicalList(resources, "requests")
	canonicalList(resources, "limits")
}

// canonicalList rewrites the quantities of a map by resource.
func canonicalList(of map[string]any, field string) {
	list, _ := of[field].(map[string]any)
	for name := range list {
		canonicalField(list, name)
	}
}

// canonicalField rewrites one quantity. It leaves other values, so that the API server rejects them.
func canonicalField(of map[string]any, field string) {
	var text string
	switch value := of[field].(type) {
	case string:
		text = value
	case int64:
		text = strconv.FormatInt(value, 10)
	case float64:
		text = strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return
	}
	if q, err := ParseQuantity(text); err == nil {
		of[field] = q.String()
	}
}
