package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/manifest"
	"github.com/ktdev/terraform-provider-kt/internal/manifest/sensitive"
	"github.com/ktdev/terraform-provider-kt/internal/resources/compute"
	"github.com/ktdev/terraform-provider-kt/internal/tf/decode"
)

// sentence returns the text of an error as a sentence. The text may start with the name of an attribute.
func sentence(err error) string {
	text := err.Error()
	for _, article := range []string{"a ", "the "} {
		if strings.HasPrefix(text, article) {
			text = strings.ToUpper(text[:1]) + text[1:]
		}
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") || strings.Contains(text, "\n") {
		return text
	}
	return text + "."
}

// computeDescription describes the parameter that workloadDemands decodes.
const computeDescription = "A [`kt_compute`](../resources/compute.md), or an object with its arguments, as for " +
	"[`manifests`](manifests.md)."

// workloadDemands returns the demands of the pods of a compute: a resource, whose attribute manifests contains the
// applied or planned objects, or an object with the arguments of one. It returns false if they are unknown.
func workloadDemands(ctx context.Context, raw tftypes.Value) ([]manifest.GroupDemand, bool, error) {
	var attributes map[string]tftypes.Value
	if !raw.Type().Is(tftypes.Object{}) || raw.As(&attributes) != nil {
		return nil, false, fmt.Errorf("a compute must be an object")
	}
	texts, known, err := manifestsOf(ctx, raw, attributes)
	if err != nil || !known {
		return nil, false, err
	}
	var podTemplate []string
	if path, _ := attribute[string](raw, "pod_template_path"); path != "" {
		podTemplate = strings.Split(path, ".")
	}
	hidden, _ := attribute[map[string]tftypes.Value](raw, "sensitive_values")
	objects := make(map[string]*unstructured.Unstructured, len(texts))
	for key, text := range texts {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON([]byte(text)); err != nil {
			return nil, false, fmt.Errorf("manifests[%q] is not a Kubernetes object", key)
		}
		role := manifest.RoleOf(object.GroupVersionKind())
		if role != manifest.RoleWorkload && role != manifest.RoleAutoscaler {
			continue
		}
		if err := reveal(object, hidden[key]); err != nil {
			return nil, false, fmt.Errorf("manifests[%q] %w", key, err)
		}
		objects[key] = object
	}
	var demands []manifest.GroupDemand
	for _, object := range objects {
		if manifest.RoleOf(object.GroupVersionKind()) == manifest.RoleWorkload {
			demands = append(demands, manifest.ScaledDemands(object, objects, podTemplate...)...)
		}
	}
	return demands, true, nil
}

// reveal replaces the placeholders in an object by its values in the attribute sensitive_values, since they may stand
// for numbers of pods and GPUs.
func reveal(object *unstructured.Unstructured, hidden tftypes.Value) error {
	var text string
	if hidden.IsKnown() && !hidden.IsNull() && hidden.As(&text) == nil {
		var values sensitive.Values
		err := json.Unmarshal([]byte(text), &values)
		if err == nil {
			err = sensitive.Show(object.Object, values)
		}
		if err != nil {
			return fmt.Errorf("does not match sensitive_values: %w", err)
		}
	}
	if sensitive.HasPlaceholder(object.Object) {
		return errors.New("contains placeholders for hidden values: pass the complete compute, with sensitive_values")
	}
	return nil
}

// attribute returns an attribute of an object or an element of a map. It is false unless it is known and of this type.
func attribute[T any](object tftypes.Value, name string) (value T, ok bool) {
	attributes, _ := decode.Entries(object)
	found, ok := attributes[name]
	return value, ok && found.IsKnown() && !found.IsNull() && found.As(&value) == nil
}

// manifestsOf returns the known elements of the attribute manifests, or the rendered objects if it is not set.
func manifestsOf(
	ctx context.Context, raw tftypes.Value, attributes map[string]tftypes.Value,
) (map[string]string, bool, error) {
	present, ok := attributes["manifests"]
	switch {
	case !ok || present.IsNull():
		return compute.Manifests(ctx, raw)
	case !present.IsKnown():
		return nil, false, nil
	}
	var elements map[string]tftypes.Value
	if err := present.As(&elements); err != nil {
		return nil, false, fmt.Errorf("manifests must be a map")
	}
	out := make(map[string]string, len(elements))
	for key, element := range elements {
		// The registration with Kubetorch, which has no pods, can be unknown or null in the plan of a new compute.
		if !element.IsKnown() || element.IsNull() {
			continue
		}
		var text string
		if err := element.As(&text); err != nil {
			return nil, false, fmt.Errorf("manifests[%q] must be a string", key)
		}
		out[key] = text
	}
	return out, true, nil
}
