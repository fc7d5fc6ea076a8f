package observe

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// refuted reports whether a permanent cause does not end the wait for a workload:
//
//   - The missing object exists now. Its consumer (the kubelet, the ReplicaSet controller) backs off, and may take a
//     while to read it again.
//   - Only an event reports the missing object or a missing key of it, and the object has the key or cannot be read.
//   - Only an event, or a condition that may be outdated, reports that pods are rejected, and the API server accepts
//     them in a dry run. Without permission for it, the report counts: the pods have been missing for the grace period.
//     The dry run also shows whether a ServiceAccount exists that cannot be read.
//
// Everything else is the status of an object, or is retried by a component that writes nothing but events: a volume
// that is not provisioned or expanded must have failed twice, and its claim is still pending.
func refuted(ctx context.Context, c *kube.Cluster, workload kube.Ref, cause *ready.Cause) bool {
	missing := cause.Missing
	switch {
	case missing != nil && missing.Key != "":
		return cause.Claimed && !lacksKey(ctx, c, missing)
	case missing != nil:
		exists, err := c.API.Exists(ctx, refOf(missing))
		return exists || cause.Claimed && err != nil &&
			(missing.Kind != "ServiceAccount" || accepts(ctx, c, workload))
	default:
		return cause.Claimed && accepts(ctx, c, workload)
	}
}

func refOf(missing *ready.Ref) kube.Ref {
	ref := kube.Ref{Kind: kind.StorageClass(), Namespace: missing.Namespace, Name: missing.Name}
	if missing.Kind != ref.Kind.Kind {
		ref.Kind = kind.Guess(corev1.SchemeGroupVersion.WithKind(missing.Kind))
	}
	return ref
}

// lacksKey reports whether a Secret or ConfigMap does not exist, or could be read and does not have the key.
func lacksKey(ctx context.Context, c *kube.Cluster, missing *ready.Ref) bool {
	obj, err := c.API.Get(ctx, refOf(missing))
	if err != nil {
		return kube.IsNotFound(err)
	}
	return !slices.ContainsFunc([]string{"data", "binaryData"}, func(field string) bool {
		_, found, _ := unstructured.NestedFieldNoCopy(obj.Object, field, missing.Key)
		return found
	})
}

// accepts reports whether the API server accepts pods of all templates of a workload, in a dry run.
func accepts(ctx context.Context, c *kube.Cluster, workload kube.Ref) bool {
	obj, err := c.API.Get(ctx, workload)
	if err != nil {
		return false
	}
	templates := kind.PodTemplates(obj.Object)
	for _, path := range templates {
		template := kind.FieldsAt(obj.Object, path...)
		pod := kind.Pod().Named(workload.Namespace, workload.Name+"-dry-run")
		pod.SetLabels(kind.TextsAt(template, "metadata", "labels"))
		pod.SetAnnotations(kind.TextsAt(template, "metadata", "annotations"))
		pod.Object["spec"] = template["spec"]
		if _, _, err := c.DryRunNew(ctx, pod); err != nil {
			return false
		}
	}
	return len(templates) > 0
}
