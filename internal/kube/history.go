package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// HistoryOf returns a hash of the writes to an object that the server has
// recorded in its managed fields, or "" if it records none. It changes with every
// write that changes a field, except the removal of UnfinishedAnnotation: the
// server records who has written which fields, and when, in seconds
// (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers).
// Two writes of one manager in the same second have the same hash.
func HistoryOf(obj *unstructured.Unstructured) (string, error) {
	entries := obj.GetManagedFields()
	if len(entries) == 0 {
		return "", nil
	}
	hash := sha256.New()
	ignored := fieldpath.NewSet(annotationPath(UnfinishedAnnotation),
		fieldpath.MakePathOrDie("metadata", "annotations"))
	for _, entry := range entries {
		set, err := fields.Decode(entry)
		if err != nil {
			return "", err
		}
		raw := fields.Format(set.Difference(ignored))
		fmt.Fprintf(hash, "%q %s %q %v %s\n", entry.Manager, entry.Operation, entry.Subresource, entry.Time, raw)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
