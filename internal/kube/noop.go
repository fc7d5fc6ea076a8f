package kube

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
)

// noopAttempts limits the dry runs of ApplyChangesNothing for an object that
// others change continuously.
const noopAttempts = 5

// ApplyChangesNothing reports, by a dry run, whether Apply would leave the object
// unchanged, apart from managedFields and UnfinishedAnnotation, which any later
// run removes. It compares the result only with the
// version on which the server based it: a controller can change the object
// between the read and the dry run, and the shared watch can lag behind.
func (c *Cluster) ApplyChangesNothing(ctx context.Context, obj *unstructured.Unstructured) (bool, error) {
	ref, err := c.Discovery.RefOf(ctx, obj)
	if err != nil {
		return false, err
	}
	read := c.Store.Get
	for range noopAttempts {
		live, err := read(ctx, ref)
		if err != nil {
			return false, err
		}
		after, err := c.DryRun(ctx, obj)
		if err != nil {
			return false, err
		}
		if fields.SameContent(withoutUnfinished(live), withoutUnfinished(after)) {
			return true, nil
		}
		if after.GetResourceVersion() == live.GetResourceVersion() {
			return false, nil
		}
		read = c.API.Get
	}
	return false, nil
}
