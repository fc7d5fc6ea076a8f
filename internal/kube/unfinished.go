package kube

import (
	"cmp"
	"crypto/rand"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// UnfinishedAnnotation marks an object from its creation until the state is
// expected to contain it. Its value is a random ID of the creation. If a run is
// killed, the annotation remains, and the next run takes the object over. An
// object without it belongs to some state.
const UnfinishedAnnotation = "kt.dev/unfinished"

// CreationAnnotation is on all objects that the creation of a resource made, with
// the value of UnfinishedAnnotation. It distinguishes them from objects of
// another state if the response to their creation was lost, or if they were
// restored from a backup. Later applies keep it.
const CreationAnnotation = "kt.dev/creation"

// annotationPath returns the path of an annotation in managed fields.
func annotationPath(name string) fieldpath.Path {
	return fieldpath.MakePathOrDie("metadata", "annotations", name)
}

// NewCreationID returns a random value for UnfinishedAnnotation.
func NewCreationID() string { return strings.ToLower(rand.Text()) }

// MarkUnfinished returns a copy of obj with UnfinishedAnnotation.
func MarkUnfinished(obj *unstructured.Unstructured, id string) *unstructured.Unstructured {
	return annotated(obj, UnfinishedAnnotation, id)
}

// withoutUnfinished returns obj, or a copy of it without UnfinishedAnnotation.
func withoutUnfinished(obj *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := obj.GetAnnotations()
	if _, marked := annotations[UnfinishedAnnotation]; !marked {
		return obj
	}
	out := obj.DeepCopy()
	if delete(annotations, UnfinishedAnnotation); len(annotations) == 0 {
		annotations = nil
	}
	out.SetAnnotations(annotations)
	return out
}

// MarkCreation returns a copy of obj with CreationAnnotation.
func MarkCreation(obj *unstructured.Unstructured, id string) *unstructured.Unstructured {
	return annotated(obj, CreationAnnotation, id)
}

func annotated(obj *unstructured.Unstructured, name, value string) *unstructured.Unstructured {
	out := obj.DeepCopy()
	kind.SetAt(out.Object, []string{"metadata", "annotations", name}, value)
	return out
}

// OwnedFields returns the fields of obj that the provider owns by server-side
// apply, without the annotations about its creation, and whether it owns any.
func OwnedFields(obj *unstructured.Unstructured) (*fieldpath.Set, bool, error) {
	set, ours, err := fields.Owned(obj)
	if !ours {
		return nil, false, err
	}
	return set.Difference(CreationFields()), true, nil
}

// CreationFields returns the paths of the annotations about a creation, which OwnedFields omits.
func CreationFields() *fieldpath.Set {
	return fieldpath.NewSet(annotationPath(UnfinishedAnnotation), annotationPath(CreationAnnotation))
}

// UnfinishedCreation returns the ID of the unfinished creation of obj, or "" if
// its creation was completed or not by the provider. Annotations of other
// clients do not count: a rollback copies those of an old ReplicaSet.
func UnfinishedCreation(obj *unstructured.Unstructured) string {
	return ownAnnotation(obj, UnfinishedAnnotation)
}

// CreationOf returns the ID of the creation of obj, or "" if unknown.
func CreationOf(obj *unstructured.Unstructured) string {
	return cmp.Or(UnfinishedCreation(obj), MarkedCreation(obj))
}

// MarkedCreation returns the id in CreationAnnotation, "" without the annotation.
func MarkedCreation(obj *unstructured.Unstructured) string {
	return ownAnnotation(obj, CreationAnnotation)
}

// ownAnnotation returns the value of an annotation that the provider applied,
// or "".
func ownAnnotation(obj *unstructured.Unstructured, name string) string {
	value := obj.GetAnnotations()[name]
	if value == "" {
		return ""
	}
	set, ours, _ := fields.Owned(obj)
	if !ours || !set.Has(annotationPath(name)) {
		return ""
	}
	return value
}
