package observe

import (
	"context"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// WaitAutoscaler waits until a HorizontalPodAutoscaler or a ScaledObject of KEDA can compute a number of pods. limited
// is not nil if it needs more pods than its maximum. The wait ends early with a *NotReadyError for a permanent cause.
func WaitAutoscaler(ctx context.Context, c *kube.Cluster, ref kube.Ref) (limited *ready.Cause, err error) {
	watched := func() bool { return c.Store.Watches(ref) }
	_, err = waitFor(ctx, c, ref, watched, ready.Verdict.Settled, func() (ready.Verdict, []Interest, error) {
		autoscaler, err := c.Store.GetShared(ctx, ref)
		if err != nil {
			return ready.Verdict{}, nil, err
		}
		limited = ready.AtMaximum(autoscaler)
		known := ready.Snapshot{Workload: autoscaler}
		events, err := eventsOf(ctx, c, kind.Event(), ref.Namespace, known)
		if err != nil && !isIgnorable(err) {
			return ready.Verdict{}, nil, err
		}
		return ready.AssessAutoscaler(autoscaler, events, c.Clock().Now()),
			[]Interest{named(ref), eventsNamedAfter(known)}, nil
	})
	return limited, err
}
