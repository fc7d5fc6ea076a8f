package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// logLines is how many of a crashed container's last lines an error shows.
const logLines = 20

// getInterval is how often an object is fetched while waiting for it without
// the right to watch, the one case that a watch cannot serve.
const getInterval = 2 * time.Second

// NotReadyError says why a workload did not become ready.
type NotReadyError struct {
	Ref     Ref
	Verdict ready.Verdict
	// Logs are the last lines of the container that the cause points at.
	Logs []string
	// Err is why the wait ended where the cause alone didn't end it: the time
	// is up, or the run was interrupted.
	Err error
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("%s is not ready: %s", e.Ref, e.Verdict.Message)
}

func (e *NotReadyError) Unwrap() error { return e.Err }

// IsPermanent says whether err, the end of a wait, tells that more waiting
// cannot help: by a terminal cause, or because the object was deleted. The end
// of a time limit, an interruption and trouble with the API server tell nothing
// of the object.
func IsPermanent(err error) bool {
	if e, ok := errors.AsType[*NotReadyError](err); ok {
		return e.Err == nil && e.Verdict.Cause != nil && e.Verdict.Cause.Terminal
	}
	return IsNotFound(err)
}

// WaitReady waits until the workload is ready, or suspended, and returns the
// verdict on it. It ends early with a *NotReadyError once a cause is seen that
// waiting cannot heal, and at once when ctx ends. podLabels select the
// workload's pods.
func (c *Cluster) WaitReady(ctx context.Context, ref Ref, podLabels map[string]string) (ready.Verdict, error) {
	watched := func() bool { return c.watches(ref) }
	return c.waitFor(ctx, ref, watched, func() (ready.Verdict, []Kind, error) { return c.look(ctx, ref, podLabels) })
}

// WaitPods is WaitReady for pods that exist without a workload of ours: it waits
// until some have all labels of selector, and are ready.
func (c *Cluster) WaitPods(ctx context.Context, namespace string, selector map[string]string) (ready.Verdict, error) {
	ref := Ref{Kind: podsWith(selector), Namespace: namespace, Name: labels.Set(selector).String()}
	watched := func() bool { return c.cache.collection(ref.Kind, namespace).ready(ctx) == nil }
	return c.waitFor(ctx, ref, watched, func() (ready.Verdict, []Kind, error) {
		verdict, err := c.AssessPods(ctx, namespace, selector)
		return verdict, []Kind{ref.Kind, kind.Event()}, err
	})
}

// waitFor looks until it is settled, or never will be. Each look says changes of
// which kinds may matter to the next one; watched is whether they are told of.
func (c *Cluster) waitFor(
	ctx context.Context, ref Ref, watched func() bool, look func() (ready.Verdict, []Kind, error),
) (ready.Verdict, error) {
	var (
		seen  firstSeen
		away  absence
		last  ready.Verdict
		kinds = []Kind{ref.Kind}
	)
	for {
		changed := c.signals(ref.Namespace, kinds...)
		verdict, concerned, err := look()
		switch {
		case ctx.Err() != nil:
			// The look was cut short, so what was seen before says more.
			return last, c.notReady(ref, last, context.Cause(ctx))
		case away.passes(err, c.clock.Now()):
			c.wait(ctx, changed, getInterval)
			continue
		case err != nil:
			return last, unobserved(ref, last, err)
		case verdict.Settled():
			return verdict, nil
		}
		last = verdict
		left, terminal := seen.left(verdict.Cause, c.clock.Now())
		if terminal && left <= 0 && !c.appeared(ctx, verdict.Cause.Missing) {
			return verdict, c.notReady(ref, verdict, nil)
		}
		if len(concerned) > len(kinds) {
			kinds = concerned
			continue // what changed of these while looking would not be noticed
		}
		c.wait(ctx, changed, pause(left, watched()))
		c.refreshQuiet(ctx, ref.Namespace, kinds...)
	}
}

// pause is how long to wait for a change before looking again: until the rest of
// a grace period is over, if there is one, and not for long where no watch tells of
// changes, or where it has told of none for a while.
func pause(left time.Duration, watched bool) time.Duration {
	longest := quietTime
	if !watched {
		longest = getInterval
	}
	if left <= 0 {
		return longest
	}
	return min(left, longest)
}

// maxAbsence is how long the API server may be away during a wait: one that is
// updated or restarted is back in less.
const maxAbsence = time.Minute

// absence remembers since when the API server does not say how an object is.
type absence struct{ since time.Time }

// passes says whether err is trouble with the API server that may still pass.
func (a *absence) passes(err error, now time.Time) bool {
	if !aboutServer(err) {
		a.since = time.Time{}
		return false
	}
	if a.since.IsZero() {
		a.since = now
	}
	return now.Sub(a.since) < maxAbsence
}

// aboutServer says whether err tells nothing of the object that was asked for:
// the server is away, has trouble of its own, or did not accept the credentials.
func aboutServer(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Class == Unreachable || e.Class == Unauthorized || e.Class == Other)
}

// AboutServer says whether err, of a request that failed, tells of trouble with the
// API server or of the end of the run, and not of the object: a later run may
// succeed with the very same request.
func AboutServer(err error) bool {
	return aboutServer(err) || ClassOf(err) == Canceled || OutcomeUnknown(err)
}

// UnobservedError ends a wait in which the API server has not said for maxAbsence
// how the object is. It says nothing about the object: that is as it was, and goes
// on becoming ready or not.
type UnobservedError struct {
	Ref Ref
	// Last is what was seen before, the zero value for nothing.
	Last ready.Verdict
	Err  error // why the server did not say
}

func (e *UnobservedError) Error() string {
	return fmt.Sprintf("%s could not be observed for %v: %v", e.Ref, maxAbsence, e.Err)
}

func (e *UnobservedError) Unwrap() error { return e.Err }

// Explain says what is known of the object, and what the server's trouble is.
func (e *UnobservedError) Explain() (summary, detail string) {
	_, trouble := "", ready.Cause{Summary: e.Err.Error()}
	if failed, ok := errors.AsType[*Error](e.Err); ok {
		_, trouble = failed.explanation()
	}
	seen := "It was not seen before."
	if e.Last.Message != "" {
		seen = "Before that it was seen: " + e.Last.Message + "."
	}
	trouble.Summary = fmt.Sprintf("The API server has not said for %v how it is. %s The failure is one of the API "+
		"server or of the way to it, not of the object.\n\n%s", maxAbsence, seen, trouble.Summary)
	trouble.Object = e.Ref.String()
	return fmt.Sprintf("The state of %s is not known", e.Ref), ready.Explain(&trouble, nil)
}

// unobserved makes an error of trouble with the API server an [UnobservedError].
func unobserved(ref Ref, last ready.Verdict, err error) error {
	if !aboutServer(err) {
		return err
	}
	return &UnobservedError{Ref: ref, Last: last, Err: err}
}

// appeared says whether an object whose absence was the cause is there by now:
// who waits for it (the kubelet, the ReplicaSet controller) backs off, and may
// take a while to look again. Only metadata is asked for, so that no value of a
// Secret comes here; and so a missing key is taken for missing still.
func (c *Cluster) appeared(ctx context.Context, missing *ready.Ref) bool {
	if missing == nil || missing.Key != "" {
		return false
	}
	conn, err := c.connect()
	if err != nil {
		return false
	}
	path := []string{"/api/v1/namespaces", missing.Namespace, strings.ToLower(missing.Kind) + "s", missing.Name}
	if missing.Kind == kind.StorageClass().Kind {
		path = []string{"/apis/storage.k8s.io/v1/storageclasses", missing.Name}
	}
	_, err = conn.rest.Get().
		AbsPath(path...).
		SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		DoRaw(ctx)
	return err == nil
}

// notReady builds the error, with the log lines that its cause points at. The
// run's own context may be over, so the logs get a moment of their own.
func (c *Cluster) notReady(ref Ref, verdict ready.Verdict, cause error) error {
	e := &NotReadyError{Ref: ref, Verdict: verdict, Err: cause}
	if verdict.Cause == nil || verdict.Cause.Logs == nil || errors.Is(cause, context.Canceled) {
		return e
	}
	ctx, cancel := context.WithTimeout(c.cache.ctx, config.DialTimeout)
	defer cancel()
	logs := verdict.Cause.Logs
	ended := logs.Previous || c.restarted(ctx, logs)
	for _, previous := range []bool{ended, !ended} { // the other run's log is better than none
		if lines, err := c.Logs(ctx, logs.Namespace, logs.Pod, logs.Container, previous, logLines); err == nil &&
			len(lines) > 0 {
			e.Logs = lines
			break
		}
	}
	return e
}

// restarted says whether a container was restarted since its log was pointed at,
// so that the log meant is now that of the previous run.
func (c *Cluster) restarted(ctx context.Context, logs *ready.LogRef) bool {
	obj, err := c.Get(ctx, Ref{Kind: kind.Pod(), Namespace: logs.Namespace, Name: logs.Pod})
	if err != nil {
		return false
	}
	pod := &corev1.Pod{}
	return convert(obj, pod) == nil && ready.Restarts(pod, logs.Container) > logs.Restarts
}

// firstSeen remembers the last cause, and when it was first seen without a break.
type firstSeen struct {
	cause string
	since time.Time
}

// left returns how long the cause still has to heal, and whether it is one
// that cannot heal after that.
func (f *firstSeen) left(cause *ready.Cause, now time.Time) (time.Duration, bool) {
	if cause == nil {
		*f = firstSeen{}
		return 0, false
	}
	if key := cause.Key(); f.cause != key {
		*f = firstSeen{cause: key, since: now}
	}
	return cause.Grace - now.Sub(f.since), cause.Terminal
}

// signals are channels of which each is closed at a change that may matter to a
// wait.
type signals []<-chan struct{}

// signals returns those of the kinds. They are taken before looking, so that no
// change between is missed.
func (c *Cluster) signals(namespace string, kinds ...Kind) signals {
	changed := make(signals, len(kinds))
	for i, kind := range kinds {
		within := namespace
		if kind.ClusterScoped {
			within = ""
		}
		changed[i] = c.cache.collection(kind, within).changed()
	}
	return changed
}

// watches says whether changes of ref arrive by the shared watch.
func (c *Cluster) watches(ref Ref) bool {
	col := c.cache.collection(ref.Kind, ref.Namespace)
	_, known := col.get(ref.Name)
	return known
}

// refreshQuiet lists those kinds again of which nothing was heard for a while: a
// watch that is silent may be cut. Events and nodes serve the diagnosis alone.
func (c *Cluster) refreshQuiet(ctx context.Context, namespace string, kinds ...Kind) {
	for _, of := range kinds {
		if of.ClusterScoped || of.GroupKind() == kind.Event().GroupKind() {
			continue
		}
		c.cache.collection(of, namespace).refreshQuiet(ctx)
	}
}

// wait returns at the first of: a change, the end of ctx, or after d (0: never).
func (c *Cluster) wait(ctx context.Context, changed signals, d time.Duration) {
	ends := append(signals{ctx.Done()}, changed...)
	cases := make([]reflect.SelectCase, 0, len(ends)+1)
	for _, end := range ends {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(end)})
	}
	if d > 0 {
		timer := c.clock.NewTimer(d)
		defer timer.Stop()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(timer.C())})
	}
	reflect.Select(cases)
}
