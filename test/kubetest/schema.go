package kubetest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// objectSchema is the schema of all objects of a [Server]. Below spec and status, maps have any fields, and a list has
// one owner.
const objectSchema = `
types:
- name: object
  map:
    fields:
    - {name: metadata, type: {namedType: metadata}}
    - {name: data, type: {namedType: any}}
    - {name: spec, type: {namedType: any}}
    - {name: status, type: {namedType: any}}
    elementType: {scalar: untyped}
- name: metadata
  map:
    fields:
    - {name: annotations, type: {namedType: any}}
    - {name: labels, type: {namedType: any}}
    elementType: {namedType: any}
- name: any
  scalar: untyped
  list: {elementType: {namedType: any}, elementRelationship: atomic}
  map: {elementType: {namedType: any}, elementRelationship: separable}
`

// fieldManager returns the field manager of Kubernetes for a kind.
func fieldManager(of schema.GroupVersionKind) (*managedfields.FieldManager, error) {
	parser, err := typed.NewParser(objectSchema)
	if err != nil {
		return nil, err
	}
	return managedfieldstest.NewFakeFieldManager(converter{parser.Type("object")}, of), nil
}

// converter is a [managedfields.TypeConverter] with one type.
type converter struct{ object typed.ParseableType }

func (c converter) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	content, _ := obj.(*unstructured.Unstructured)
	return c.object.FromUnstructured(content.Object, options...)
}

func (c converter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	content, _ := value.AsValue().Unstructured().(map[string]any)
	return &unstructured.Unstructured{Object: content}, nil
}
