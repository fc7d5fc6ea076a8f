package kube

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// LastChange returns the time of the last change of an object that the server has recorded, in seconds.
func LastChange(obj *unstructured.Unstructured) time.Time {
	last := obj.GetCreationTimestamp().Time
	for _, entry := range obj.GetManagedFields() {
		if entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// CreationHistory identifies the content of an object that only its creation by this provider has written, with or
// without UnfinishedAnnotation. It returns "" for any other object.
//
// The server records in managed fields who has written which fields, and when, in seconds
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers). Two writes of one manager in the same
// second therefore look like one. Since the creation, no other manager has written the object, and an apply of this
// provider for another state would change or remove CreationAnnotation.
func CreationHistory(obj *unstructured.Unstructured) (string, error) {
	entries, id := obj.GetManagedFields(), MarkedCreation(obj)
	if len(entries) != 1 || id == "" || entries[0].Time == nil {
		return "", nil
	}
	entry := entries[0] // of an apply by this provider, which owns the annotation
	set, err := fields.Decode(entry)
	if err != nil {
		return "", err
	}
	ignored := fieldpath.NewSet(annotationPath(UnfinishedAnnotation),
		fieldpath.MakePathOrDie("metadata", "annotations"))
	content := fields.Format(set.Difference(ignored))
	return fmt.Sprintf("%s %s %s", id, entry.Time.UTC().Format(time.RFC3339), content), nil
}
