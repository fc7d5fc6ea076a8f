package observe

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"k8s.io/utils/clock"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
)

// getInterval is the poll interval of a wait without permission to watch.
const getInterval = 2 * time.Second

// Watch reports changes that may affect a wait.
type Watch interface {
	// Changed returns channels. One of them is closed at the next change.
	Changed() []<-chan struct{}
	// Refresh reads again what a silent watch may have missed.
	Refresh(ctx context.Context)
}

// Step is the result of one check of a wait.
type Step[T any] struct {
	Value  T
	Done   bool          // the wait ends with Value
	Again  bool          // check again immediately, because the Watch now reports more changes
	Within time.Duration // check again after this time even without a change; 0: only after a change
}

// Until calls check until it is done, again after each change, and returns its
// last value. Failures of the API server are tolerated for maxAbsence. If ctx
// ends, it returns the previous value, because the last check was interrupted,
// and an error.
func Until[T any](
	ctx context.Context, clock clock.WithDelayedExecution, watch Watch, check func() (Step[T], error),
) (T, error) {
	var (
		away absence
		last T
	)
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
func pause(ctx context.Context, clock clock.WithDelayedExecution, changed []<-chan struct{}, d time.Duration) {
	cases := make([]reflect.SelectCase, 0, len(changed)+2)
	for _, end := range append(changed, ctx.Done()) {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(end)})
	}
	if d > 0 {
		timer := clock.NewTimer(d)
		defer timer.Stop()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(timer.C())})
	}
	reflect.Select(cases)
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

// within returns the maximum time to wait for a change before the next read: the
// rest of a grace period, if any, and a short time without a watch, or with a
// silent one.
func within(left time.Duration, watched bool) time.Duration {
	longest := kube.QuietTime
	if !watched {
		longest = getInterval
	}
	if left <= 0 {
		return longest
	}
	return min(left, longest)
}

// Changes is the part of the client that reports changes of shared lists.
// *kube.Cluster implements it.
type Changes interface {
	Changed(kind kube.Kind, namespace string) <-chan struct{}
	RefreshQuiet(ctx context.Context, kind kube.Kind, namespace string)
}

// Kinds is the Watch of all objects of some kinds in a namespace.
type Kinds struct {
	Changes   Changes
	Namespace string
	Kinds     []kube.Kind
}

// Changed implements [Watch].
func (k *Kinds) Changed() []<-chan struct{} {
	changed := make([]<-chan struct{}, len(k.Kinds))
	for i, of := range k.Kinds {
		changed[i] = k.Changes.Changed(of, k.Namespace)
	}
	return changed
}

// Refresh implements [Watch]. Events and nodes are used only for the diagnosis.
func (k *Kinds) Refresh(ctx context.Context) {
	for _, of := range k.Kinds {
		if of.GroupKind() != kind.Node().GroupKind() && of.GroupKind() != kind.Event().GroupKind() {
			k.Changes.RefreshQuiet(ctx, of, k.Namespace)
		}
	}
}
