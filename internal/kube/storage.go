package kube

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// StorageClasses returns all storage classes, by one shared list.
func (c *Cluster) StorageClasses(ctx context.Context) ([]*storagev1.StorageClass, error) {
	classes, err := ReadAllAs[storagev1.StorageClass](ctx, c, kind.StorageClass(), "",
		func(*Entry) bool { return true })
	slices.SortFunc(classes, func(a, b *storagev1.StorageClass) int { return strings.Compare(a.Name, b.Name) })
	return classes, err
}

// StorageClassNamed returns one storage class. A NotFound is always a response
// of the server.
func (c *Cluster) StorageClassNamed(ctx context.Context, name string) (*storagev1.StorageClass, error) {
	obj, err := c.Read(ctx, Ref{Kind: kind.StorageClass(), Name: name})
	if err != nil {
		return nil, err
	}
	class := &storagev1.StorageClass{}
	return class, Convert(obj, class)
}

// WaitClaim waits until a claim is bound and has the requested size, and
// returns the verdict on it. It does not wait for a claim whose class waits for
// the first consumer, unless consumer is set. The wait ends early with a
// *NotReadyError for a permanent cause, and immediately when ctx ends.
func (c *Cluster) WaitClaim(ctx context.Context, ref Ref, consumer bool) (ready.Verdict, error) {
	var (
		seen firstSeen
		away absence
		last ready.Verdict
	)
	for {
		changed := c.signals(ref.Namespace, ref.Kind, kind.Event())
		verdict, err := c.assessClaim(ctx, ref)
		switch {
		case ctx.Err() != nil:
			// The read was interrupted, so the previous verdict is more useful.
			return last, &NotReadyError{Ref: ref, Verdict: last, Err: context.Cause(ctx)}
		case away.passes(err, c.clock.Now()):
			c.wait(ctx, changed, getInterval)
			continue
		case err != nil:
			return last, unobserved(ref, last, err)
		case verdict.Ready, verdict.Cause.Reason == ready.ReasonWaitsForConsumer && !consumer:
			return verdict, nil
		}
		last = verdict
		left, terminal := seen.left(verdict.Cause, c.clock.Now())
		if terminal && left <= 0 {
			return verdict, &NotReadyError{Ref: ref, Verdict: verdict}
		}
		c.wait(ctx, changed, pause(left, c.watches(ref)))
		c.refreshQuiet(ctx, ref.Namespace, ref.Kind)
	}
}

// assessClaim reads the state of a claim. Objects without read permission are
// left out.
func (c *Cluster) assessClaim(ctx context.Context, ref Ref) (ready.Verdict, error) {
	obj, err := c.Read(ctx, ref)
	if err != nil {
		return ready.Verdict{}, err
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := Convert(obj, claim); err != nil {
		return ready.Verdict{}, err
	}
	s := ready.ClaimSnapshot{Claim: claim}
	if verdict := ready.AssessClaim(s); verdict.Ready {
		return verdict, nil // a ready claim needs no diagnosis
	}
	if name := claim.Spec.StorageClassName; name != nil && *name != "" {
		class, err := c.StorageClassNamed(ctx, *name)
		if s.ClassMissing = IsNotFound(err); err == nil {
			s.Class = class
		}
	}
	if name := claim.Spec.VolumeName; name != "" && claim.Status.Phase != corev1.ClaimBound && !bindCompleted(claim) {
		obj, err := c.Get(ctx, Ref{Kind: kind.PersistentVolume(), Name: name})
		volume := &corev1.PersistentVolume{}
		if s.VolumeMissing = IsNotFound(err); err == nil && Convert(obj, volume) == nil {
			s.Volume = volume
		}
	}
	if s.Events, err = c.warningsAbout(ctx, claim); err != nil && !softly(err) {
		return ready.Verdict{}, err
	}
	return ready.AssessClaim(s), nil
}

// bindCompleted reports whether Kubernetes has bound a claim and is about to
// update its status, so that its volume needs no diagnosis. It returns false
// for a claim that has lost its volume since.
func bindCompleted(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Status.Phase != corev1.ClaimLost && claim.Annotations["pv.kubernetes.io/bind-completed"] == "yes"
}

// warningsAbout returns the warning events of a claim, without those of a
// former claim of the same name.
func (c *Cluster) warningsAbout(ctx context.Context, claim *corev1.PersistentVolumeClaim) ([]*corev1.Event, error) {
	events, err := ReadAllAs[corev1.Event](ctx, c, kind.Event(), claim.Namespace,
		func(e *Entry) bool { return strings.HasPrefix(e.Name, claim.Name+".") })
	return slices.DeleteFunc(events, func(event *corev1.Event) bool {
		about := event.InvolvedObject
		return about.Kind != kind.PersistentVolumeClaim().Kind || about.Name != claim.Name ||
			(about.UID != "" && about.UID != claim.UID)
	}), err
}
