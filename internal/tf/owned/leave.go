package owned

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/fields"
	"github.com/ktdev/terraform-provider-kt/internal/manifest"
)

// Leave gives up a field of an object, so that the next apply without it keeps its value instead of removing it. live
// is the current object.
func Leave(
	ctx context.Context, cluster *kube.Cluster, memory Memory, ref kube.Ref, live *unstructured.Unstructured,
	field []string,
) error {
	key := manifest.Key(live)
	if set, known := memory.applied(key); known {
		entry := memory[key]
		entry.Set = fields.Format(fields.Without(set, field))
		memory[key] = entry
	}
	leave := func(live *unstructured.Unstructured) ([]metav1.ManagedFieldsEntry, bool, error) {
		return fields.Leave(live, kube.Manager, field)
	}
	return cluster.SetRecords(ctx, ref, live, leave)
}
