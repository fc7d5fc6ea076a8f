package manifest

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
)

// WithTypedZeros returns live with the zeros in the pod templates of sent that live
// lacks and a typed client omits. The API server stores custom resources as they
// were sent, for example with `initialDelaySeconds: 0`. A controller that decodes the
// pod template into the types of k8s.io/api/core/v1 and writes it back, such as
// Kueue, omits this field, because these types do not distinguish it from no value.
// Objects of built-in kinds are returned unchanged: the API server stores them without
// such zeros.
func WithTypedZeros(sent map[string]any, live *unstructured.Unstructured) *unstructured.Unstructured {
	k, known := kindOfObject(live.GroupVersionKind(), nil)
	if !known || !k.Custom() {
		return live
	}
	filled := live.DeepCopy()
	for _, g := range k.Groups(sent) {
		template, sends := kind.Find(sent, g.Template)
		current, has := kind.Find(filled.Object, g.Template)
		if sends && has {
			fillZeros(reflect.TypeFor[corev1.PodTemplateSpec](), template, current)
		}
	}
	return filled
}

// fillZeros adds to the maps in live the zeros of sent that the encoding of typ, a
// type of the Kubernetes API, omits.
func fillZeros(typ reflect.Type, sent, live any) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return // quantities and times are encoded as strings
	}
	switch sent := sent.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		if ok && typ.Kind() == reflect.Struct {
			fillFields(typ, sent, live)
		}
	case []any:
		live, ok := live.([]any)
		if !ok || typ.Kind() != reflect.Slice {
			return
		}
		for i, item := range sent {
			if same, found := matchingItem(item, i, live); found {
				fillZeros(typ.Elem(), item, same)
			}
		}
	}
}

func fillFields(typ reflect.Type, sent, live map[string]any) {
	for field := range typ.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			fillFields(field.Type, sent, live)
			continue
		}
		value, sends := sent[name]
		current, has := live[name]
		switch {
		case !sends:
		case has:
			fillZeros(field.Type, value, current)
		case strings.Contains(options, "omitempty") && isZeroScalar(field.Type, value):
			live[name] = value
		}
	}
}

// isZeroScalar reports whether a value is the zero value of a type that does not
// distinguish it from no value.
func isZeroScalar(typ reflect.Type, value any) bool {
	switch typ.Kind() {
	case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64:
		return value != nil && reflect.ValueOf(value).IsZero()
	default:
		return false
	}
}

// matchingItem returns the item of a list with the mount path or name of the given item or, if that
// has none, with its index. Several mounts can have the name of one volume.
func matchingItem(item any, index int, list []any) (any, bool) {
	for _, key := range []string{"mountPath", "name"} {
		value, _ := kind.Find(item, []string{key})
		if value == nil {
			continue
		}
		index = slices.IndexFunc(list, func(other any) bool {
			theirs, _ := kind.Find(other, []string{key})
			return reflect.DeepEqual(theirs, value)
		})
		break
	}
	if index < 0 || index >= len(list) {
		return nil, false
	}
	return list[index], true
}
