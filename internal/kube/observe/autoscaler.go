package observe

import (
	"context"

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
		return ready.AssessAutoscaler(autoscaler), []Interest{named(ref)}, nil
	})
	return limited, err
}
