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

// WithTypedZeros returns live with the zeros of sent that a typed client leaves
// out of a pod template, where live lacks them. The API server stores a custom
// resource as it was sent, so that `initialDelaySeconds: 0` is in it. A controller
// that decodes the pod template into the types of k8s.io/api/core/v1 and writes it
// back, as Kueue does, leaves it out: to these types it is the same as no value.
// Objects of built-in kinds are returned as they are: what the API server itself
// stores of them has no such zeros.
func WithTypedZeros(sent map[string]any, live *unstructured.Unstructured) *unstructured.Unstructured {
	k, known := kindOfObject(live.GroupVersionKind(), nil)
	if !known || !k.Custom() {
		return live
	}
	filled := live.DeepCopy()
	for _, g := range k.Groups(sent) {
		template, sends := kind.Find(sent, g.Template)
		is, has := kind.Find(filled.Object, g.Template)
		if sends && has {
			fillZeros(reflect.TypeFor[corev1.PodTemplateSpec](), template, is)
		}
	}
	return filled
}

// fillZeros puts into the maps of is the zeros of sent that kind, a type of the
// Kubernetes API, does not write.
func fillZeros(kind reflect.Type, sent, is any) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if reflect.PointerTo(kind).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return // quantities and times are written as texts
	}
	switch sent := sent.(type) {
	case map[string]any:
		is, ok := is.(map[string]any)
		if ok && kind.Kind() == reflect.Struct {
			fillFields(kind, sent, is)
		}
	case []any:
		is, ok := is.([]any)
		if !ok || kind.Kind() != reflect.Slice {
			return
		}
		for i, item := range sent {
			if twin, found := twinOf(item, i, is); found {
				fillZeros(kind.Elem(), item, twin)
			}
		}
	}
}

func fillFields(kind reflect.Type, sent, is map[string]any) {
	for field := range kind.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			fillFields(field.Type, sent, is)
			continue
		}
		value, sends := sent[name]
		live, has := is[name]
		switch {
		case !sends:
		case has:
			fillZeros(field.Type, value, live)
		case strings.Contains(options, "omitempty") && isZeroScalar(field.Type, value):
			is[name] = value
		}
	}
}

// isZeroScalar reports whether a value is the zero of a type that has no other way
// to say that there is none.
func isZeroScalar(kind reflect.Type, value any) bool {
	switch kind.Kind() {
	case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64:
		return value != nil && reflect.ValueOf(value).IsZero()
	default:
		return false
	}
}

// twinOf finds the item of a list that has the name of the given one, or where it
// has none, the place.
func twinOf(item any, place int, list []any) (any, bool) {
	if named, _ := item.(map[string]any); named["name"] != nil {
		i := slices.IndexFunc(list, func(other any) bool {
			o, _ := other.(map[string]any)
			return reflect.DeepEqual(o["name"], named["name"])
		})
		if i < 0 {
			return nil, false
		}
		return list[i], true
	}
	if place >= len(list) {
		return nil, false
	}
	return list[place], true
}
