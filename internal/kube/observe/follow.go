package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// Follow describes a wait for pods: of a workload, or for existing ones.
type Follow struct {
	// Workload is nil for existing pods without a workload of the provider.
	Workload  *kube.Ref
	Namespace string
	PodLabels map[string]string // they select the pods
	// Owns selects among the pods with these labels; nil selects all.
	Owns func(context.Context, *kube.Cluster, []*corev1.Pod) ([]*corev1.Pod, error)
	// Report is called with each verdict. It may be nil.
	Report func(ready.Verdict)
	// Replaced are the UIDs of pods that must be replaced before the wait ends: as
	// many new pods must be ready or complete. It may be empty.
	Replaced []types.UID
	// Others are the UIDs of the other pods that existed before, which replace none.
	Others []types.UID
	// Complete reports whether the wait ends only when the workload has run to its end.
	Complete bool
}

// settled reports whether a verdict ends the wait.
func (f Follow) settled(v ready.Verdict) bool {
	return v.Settled() && (v.Complete || !f.Complete || v.Suspended)
}

// Wait waits until the workload is ready or suspended, and returns the verdict on it. Without a workload, it waits
// until at least one pod has all labels, and all are ready. It also waits until the pods of Replaced are replaced. It
// ends early with a *NotReadyError for a permanent cause, and immediately when ctx ends.
func (f Follow) Wait(ctx context.Context, c *kube.Cluster) (ready.Verdict, error) {
	ref, watched := f.watched(ctx, c)
	return waitFor(ctx, c, ref, watched, f.settled, func() (ready.Verdict, []Interest, error) {
		verdict, concerned, err := f.assess(ctx, c)
		if err == nil && verdict.Settled() {
			verdict, err = f.replaced(ctx, c, verdict)
			concerned = append(slices.Clone(concerned), labelled(f.PodLabels))
			if f.Workload != nil {
				concerned = append(concerned, named(ref))
			}
		}
		if err == nil && f.Report != nil {
			f.Report(verdict)
		}
		return verdict, concerned, err
	})
}

// watched returns the object that a wait is about, and whether its changes are
// received.
func (f Follow) watched(ctx context.Context, c *kube.Cluster) (kube.Ref, func(kube.Ref) bool) {
	if f.Workload != nil {
		return *f.Workload, c.Store.Watches
	}
	pods := having(f.PodLabels, kind.Pod())
	return kube.Ref{Kind: pods, Namespace: f.Namespace, Name: labels.Set(f.PodLabels).String()},
		func(kube.Ref) bool { return c.Store.WatchesAll(ctx, pods, f.Namespace) }
}

// Assess returns the current verdict, with the cause that blocks the workload or the pods.
func (f Follow) Assess(ctx context.Context, c *kube.Cluster) (ready.Verdict, error) {
	verdict, _, err := f.assess(ctx, c)
	return verdict, err
}

// assess is Assess, and also returns the objects whose changes may change the verdict.
func (f Follow) assess(ctx context.Context, c *kube.Cluster) (ready.Verdict, []Interest, error) {
	if f.Workload != nil {
		return observe(ctx, c, *f.Workload, f.PodLabels)
	}
	return observePods(ctx, c, f.Namespace, f.PodLabels)
}

// replaced returns the settled verdict if the pods are replaced, and a verdict
// that is not settled otherwise: the status of a workload may not include the
// deletion of its pods yet.
func (f Follow) replaced(ctx context.Context, c *kube.Cluster, settled ready.Verdict) (ready.Verdict, error) {
	if len(f.Replaced) == 0 || settled.Suspended {
		return settled, nil
	}
	pods, err := podsOf(ctx, c, f.Namespace, f.PodLabels)
	if err == nil && f.Owns != nil {
		pods, err = f.Owns(ctx, c, pods)
	}
	if err != nil {
		return settled, err
	}
	return f.unlessMissing(pods, settled), nil
}

// unlessMissing returns the settled verdict if as many new pods are ready as were to be replaced, or if the workload is
// complete, and starts no more pods.
func (f Follow) unlessMissing(pods []*corev1.Pod, settled ready.Verdict) ready.Verdict {
	done, left := ReplacedCount(pods, f.Replaced, f.Others)
	if left == 0 && (done >= len(f.Replaced) || settled.Complete) {
		return settled
	}
	return ready.Verdict{Message: fmt.Sprintf("%d of %d pods replaced", min(done, len(f.Replaced)-left),
		len(f.Replaced))}
}

// ReplacedCount returns the number of new pods that are ready or complete, and the number of old pods that are left.
// The others also existed before.
func ReplacedCount(pods []*corev1.Pod, old, others []types.UID) (done, left int) {
	for _, pod := range pods {
		switch {
		case slices.Contains(old, pod.UID):
			left++
		case slices.Contains(others, pod.UID):
		case pod.DeletionTimestamp == nil && (ready.PodReady(pod) || pod.Status.Phase == corev1.PodSucceeded):
			done++
		}
	}
	return done, left
}

// WaitWhile waits while any pod with all labels of selector meets a condition.
// report is called with these pods.
func WaitWhile(
	ctx context.Context, c *kube.Cluster, namespace string, selector map[string]string,
	condition func(*corev1.Pod) bool, report func([]*corev1.Pod),
) error {
	watch := &Objects{Changes: c.Store, Namespace: namespace, Of: []Interest{labelled(selector)}}
	_, err := Until(ctx, c.Clock(), watch, func() (Step[any], error) {
		pods, err := podsOf(ctx, c, namespace, selector)
		if err != nil {
			return Step[any]{}, err
		}
		pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return !condition(pod) })
		if len(pods) > 0 {
			report(pods)
		}
		return Step[any]{Done: len(pods) == 0, Within: Recheck(true)}, nil
	})
	return err
}
