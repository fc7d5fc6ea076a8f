package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// WaitAutoscaler waits until a HorizontalPodAutoscaler or a ScaledObject of KEDA can compute a number of pods. limited
// is not nil if it needs more pods than its maximum. The wait ends early with a *NotReadyError for a permanent cause.
func WaitAutoscaler(ctx context.Context, c *kube.Cluster, ref kube.Ref) (limited *ready.Cause, err error) {
	_, err = waitFor(ctx, c, ref, c.Store.Watches, ready.Verdict.Settled, func() (ready.Verdict, []Interest, error) {
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
		verdict := ready.AssessAutoscaler(autoscaler, events, c.Clock().Now())
		if verdict.Ready && ref.Kind.GroupKind() == kind.ScaledObject().GroupKind() {
			// Only an event shows that a trigger fails, and the watch of events may be behind that of ScaledObjects.
			events = nil
			err = kube.Each(ctx, c.API, kube.Ref{Kind: kind.Event(), Namespace: ref.Namespace},
				metav1.ListOptions{FieldSelector: "involvedObject.name=" + ref.Name},
				func(event *corev1.Event) { events = append(events, event) })
			if err != nil && !isIgnorable(err) {
				return ready.Verdict{}, nil, err
			}
			verdict = ready.AssessAutoscaler(autoscaler, events, c.Clock().Now())
		}
		return verdict, []Interest{named(ref), eventsNamedAfter(known)}, nil
	})
	return limited, err
}
