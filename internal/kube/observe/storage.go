package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// StorageClasses returns all storage classes in no order, by one shared list.
func StorageClasses(ctx context.Context, store *kube.Store) ([]*storagev1.StorageClass, error) {
	return kube.ListAs[storagev1.StorageClass](ctx, store, kind.StorageClass(), "", nil)
}

// StorageClassNamed returns one storage class. A NotFound is always a response
// of the server.
func StorageClassNamed(ctx context.Context, c *kube.Cluster, name string) (*storagev1.StorageClass, error) {
	return kube.As[storagev1.StorageClass](c.Store.Get(ctx, kube.Ref{Kind: kind.StorageClass(), Name: name}))
}

// WaitClaim waits until a claim is bound and has the requested size, and
// returns the verdict on it. It does not wait for a claim whose class waits for
// the first consumer, unless consumer is set. The wait ends early with a
// *NotReadyError for a permanent cause, and immediately when ctx ends.
func WaitClaim(ctx context.Context, c *kube.Cluster, ref kube.Ref, consumer bool) (ready.Verdict, error) {
	settled := func(verdict ready.Verdict) bool {
		return verdict.Ready ||
			verdict.Cause != nil && verdict.Cause.Reason == ready.ReasonWaitsForConsumer && !consumer
	}
	return waitFor(ctx, c, ref, c.Store.Watches, settled, func() (ready.Verdict, []Interest, error) {
		verdict, err := assessClaim(ctx, c, ref)
		events := eventsNamedAfter(ready.Snapshot{Workload: ref.Kind.Named(ref.Namespace, ref.Name)})
		return verdict, []Interest{named(ref), events}, err
	})
}

// assessClaim reads the state of a claim. Objects without read permission are
// left out.
func assessClaim(ctx context.Context, c *kube.Cluster, ref kube.Ref) (ready.Verdict, error) {
	obj, err := c.Store.Get(ctx, ref)
	claim, err := kube.As[corev1.PersistentVolumeClaim](obj, err)
	if err != nil {
		return ready.Verdict{}, err
	}
	s := ready.ClaimSnapshot{Claim: claim}
	if verdict := ready.AssessClaim(s); verdict.Ready {
		return verdict, nil // a ready claim needs no diagnosis
	}
	if name := claim.Spec.StorageClassName; name != nil && *name != "" {
		class, err := StorageClassNamed(ctx, c, *name)
		if s.ClassMissing = kube.IsNotFound(err); err == nil {
			s.Class = class
		}
	}
	// A claim that Kubernetes has bound, and of which it is about to update the status, needs no diagnosis of its
	// volume, unless it has lost the volume since.
	pending := claim.Status.Phase != corev1.ClaimBound && claim.Annotations[kind.BindCompletedAnnotation] != "yes"
	if name := claim.Spec.VolumeName; name != "" && (pending || claim.Status.Phase == corev1.ClaimLost) {
		ref := kube.Ref{Kind: kind.PersistentVolume(), Name: name}
		volume, err := kube.As[corev1.PersistentVolume](c.API.Get(ctx, ref))
		if s.VolumeMissing = kube.IsNotFound(err); err == nil {
			s.Volume = volume
		}
	}
	s.Events, err = eventsOf(ctx, c, kind.Event(), ref.Namespace, ready.Snapshot{Workload: obj})
	if err != nil && !isIgnorable(err) {
		return ready.Verdict{}, err
	}
	return ready.AssessClaim(s), nil
}
