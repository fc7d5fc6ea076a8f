package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// getInterval is the poll interval of a wait without permission to watch.
const getInterval = 2 * time.Second

// Step is the result of one check of a wait.
type Step[T any] struct {
	Value  T
	Done   bool          // the wait ends with Value
	Again  bool          // check again immediately, because the watch now reports more changes
	Within time.Duration // check again after this time even without a change; 0: only after a change
}

// Until calls check until it is done, again after each change, and returns its
// last value. Failures of the API server are tolerated for maxAbsence. If ctx
// ends, it returns the previous value, because the last check was interrupted,
// and an error.
func Until[T any](
	ctx context.Context, clock clock.WithDelayedExecution, watch *Objects, check func() (Step[T], error),
) (T, error) {
	var (
		away absence
		last T
	)
	defer watch.Stop()
	for {
		changed := watch.Changed() // before the check, so that no change in between is missed
		step, err := check()
		switch {
		case ctx.Err() != nil:
			return last, cmp.Or(err, context.Cause(ctx))
		case away.passes(err, clock.Now()):
			pause(ctx, clock, changed, getInterval)
			continue
		case err != nil:
			return last, err
		case step.Done:
			return step.Value, nil
		}
		last = step.Value
		if step.Again {
			continue
		}
		pause(ctx, clock, changed, step.Within)
		watch.Refresh(ctx)
	}
}

// pause returns at a change, at the end of ctx, or after d (0: never).
func pause(ctx context.Context, clock clock.WithDelayedExecution, changed <-chan struct{}, d time.Duration) {
	var end <-chan time.Time
	if d > 0 {
		timer := clock.NewTimer(d)
		defer timer.Stop()
		end = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-changed:
	case <-end:
	}
}

// maxAbsence is the maximum outage of the API server during a wait. An update
// or restart takes less time.
const maxAbsence = time.Minute

// absence contains the start of an outage during a wait.
type absence struct{ since time.Time }

// passes reports whether err is a problem of the API server that may be
// temporary.
func (a *absence) passes(err error, now time.Time) bool {
	if !kube.IsServerFailure(err) {
		a.since = time.Time{}
		return false
	}
	if a.since.IsZero() {
		a.since = now
	}
	return now.Sub(a.since) < maxAbsence
}

// Recheck returns the maximum time to wait for a change before the next read, because a watch can lose changes. It
// is short without a watch.
func Recheck(watched bool) time.Duration {
	if watched {
		return kube.RelistTime
	}
	return getInterval
}

// within is Recheck, but at most the rest of a grace period, if any.
func within(left time.Duration, watched bool) time.Duration {
	if left <= 0 {
		return Recheck(watched)
	}
	return min(left, Recheck(watched))
}

// Changes is the part of the client that reports changes of shared lists.
// *kube.Store implements it.
type Changes interface {
	Subscribe(of kube.Kind, namespace string, about func(*kube.Entry) bool, changed chan<- struct{}) (cancel func())
	RefreshOld(ctx context.Context, of kube.Kind, namespace string)
}

// Interest is the objects of a kind whose changes may affect a wait.
type Interest struct {
	Kind kube.Kind
	// About reports whether a change of an object matters. If it is nil, all do. A
	// wait for one of a thousand workloads would otherwise look at each change of
	// the others.
	About func(*kube.Entry) bool
	// Names are names that the objects belong to, see [kube.Store.List]: each
	// object for which About returns true belongs to one of them. If there are none,
	// any object may matter. They distinguish interests in the same kind.
	Names []string
}

// covers reports whether all changes of another interest of the same wait are also
// those of i.
func (i Interest) covers(other Interest) bool {
	return i.Kind.GroupVersionKind == other.Kind.GroupVersionKind &&
		i.Kind.LabelSelector == other.Kind.LabelSelector &&
		(i.About == nil || other.About != nil && slices.Equal(i.Names, other.Names))
}

// AllOf returns the interest in all objects of kinds.
func AllOf(kinds ...kube.Kind) []Interest {
	all := make([]Interest, len(kinds))
	for i, of := range kinds {
		all[i].Kind = of
	}
	return all
}

// Objects reports changes of objects in a namespace, which may affect a wait.
type Objects struct {
	Changes   Changes
	Namespace string
	Of        []Interest

	cancels []func()
}

// covers reports whether the watch reports all changes that matter to interests.
func (o *Objects) covers(interests []Interest) bool {
	return !slices.ContainsFunc(interests, func(one Interest) bool {
		return !slices.ContainsFunc(o.Of, func(mine Interest) bool { return mine.covers(one) })
	})
}

// Changed returns a channel that receives at the next change. It replaces the
// channel of the previous call.
func (o *Objects) Changed() <-chan struct{} {
	o.Stop()
	changed := make(chan struct{}, 1)
	for _, of := range o.Of {
		o.cancels = append(o.cancels, o.Changes.Subscribe(of.Kind, o.Namespace, of.About, changed))
	}
	return changed
}

// Stop ends the notifications.
func (o *Objects) Stop() {
	for _, cancel := range o.cancels {
		cancel()
	}
	o.cancels = nil
}

// Refresh reads again what a watch may have missed. Events and nodes are
// used only for the diagnosis.
func (o *Objects) Refresh(ctx context.Context) {
	for _, of := range o.Of {
		if gk := of.Kind.GroupKind(); gk != kind.Node().GroupKind() && gk != kind.Event().GroupKind() {
			o.Changes.RefreshOld(ctx, of.Kind, o.Namespace)
		}
	}
}
