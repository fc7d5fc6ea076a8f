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

// logLines is the number of log lines of a crashed container in an error.
const logLines = 20

// getInterval is the poll interval of a wait without permission to watch.
const getInterval = 2 * time.Second

// NotReadyError reports why a workload did not become ready.
type NotReadyError struct {
	Ref     Ref
	Verdict ready.Verdict
	// Logs are the last lines of the container of the cause.
	Logs []string
	// Err is the reason for the end of the wait, unless the cause ended it: a
	// timeout or an interrupt.
	Err error
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("%s is not ready: %s", e.Ref, e.Verdict.Message)
}

func (e *NotReadyError) Unwrap() error { return e.Err }

// IsPermanent reports whether err, from the end of a wait, is permanent: a
// permanent cause, or a deleted object. A timeout, an interrupt and problems of
// the API server are not.
func IsPermanent(err error) bool {
	if e, ok := errors.AsType[*NotReadyError](err); ok {
		return e.Err == nil && e.Verdict.Cause != nil && e.Verdict.Cause.Terminal
	}
	return IsNotFound(err)
}

// WaitReady waits until the workload is ready or suspended, and returns the
// verdict on it. It ends early with a *NotReadyError for a permanent cause, and
// immediately when ctx ends. podLabels select the pods of the workload.
func (c *Cluster) WaitReady(ctx context.Context, ref Ref, podLabels map[string]string) (ready.Verdict, error) {
	watched := func() bool { return c.watches(ref) }
	return c.waitFor(ctx, ref, watched, func() (ready.Verdict, []Kind, error) { return c.look(ctx, ref, podLabels) })
}

// WaitPods is WaitReady for existing pods without a workload of the provider:
// it waits until at least one pod has all labels of selector, and all are
// ready.
func (c *Cluster) WaitPods(ctx context.Context, namespace string, selector map[string]string) (ready.Verdict, error) {
	ref := Ref{Kind: podsWith(selector), Namespace: namespace, Name: labels.Set(selector).String()}
	watched := func() bool { return c.cache.collection(ref.Kind, namespace).ready(ctx) == nil }
	return c.waitFor(ctx, ref, watched, func() (ready.Verdict, []Kind, error) {
		verdict, err := c.AssessPods(ctx, namespace, selector)
		return verdict, []Kind{ref.Kind, kind.Event()}, err
	})
}

// waitFor calls look until the verdict is settled or permanent. Each call
// returns the kinds whose changes may affect the next one. watched reports
// whether their changes are received.
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
			// The read was interrupted, so the previous verdict is more useful.
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
			continue // changes of these during the read would be missed
		}
		c.wait(ctx, changed, pause(left, watched()))
		c.refreshQuiet(ctx, ref.Namespace, kinds...)
	}
}

// pause returns the maximum time to wait for a change before the next read: the
// rest of a grace period, if any, and a short time without a watch, or with a
// silent one.
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

// maxAbsence is the maximum outage of the API server during a wait. An update
// or restart takes less time.
const maxAbsence = time.Minute

// absence contains the start of an outage during a wait.
type absence struct{ since time.Time }

// passes reports whether err is a problem of the API server that may be
// temporary.
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

// aboutServer reports whether err is unrelated to the requested object: the
// server is unreachable, has an internal problem, or rejected the credentials.
func aboutServer(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Class == Unreachable || e.Class == Unauthorized || e.Class == Other)
}

// AboutServer reports whether err is a problem of the API server or the end of
// the run, and not of the object: a later run may succeed with the same
// request.
func AboutServer(err error) bool {
	return aboutServer(err) || ClassOf(err) == Canceled || OutcomeUnknown(err)
}

// UnobservedError ends a wait after an outage of maxAbsence. The state of the
// object is unknown; it may still become ready.
type UnobservedError struct {
	Ref Ref
	// Last is the last verdict, or the zero value.
	Last ready.Verdict
	Err  error // error of the server
}

func (e *UnobservedError) Error() string {
	return fmt.Sprintf("%s could not be observed for %v: %v", e.Ref, maxAbsence, e.Err)
}

func (e *UnobservedError) Unwrap() error { return e.Err }

// Explain returns a summary and a detail with the last known state and the
// problem of the server.
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

// unobserved converts an error of the API server to an [UnobservedError].
func unobserved(ref Ref, last ready.Verdict, err error) error {
	if !aboutServer(err) {
		return err
	}
	return &UnobservedError{Ref: ref, Last: last, Err: err}
}

// appeared reports whether an object whose absence was the cause exists now.
// Its consumer (the kubelet, the ReplicaSet controller) backs off, and may take
// a while to read it again. Only metadata is requested, without values of a
// Secret. A missing key is therefore treated as still missing.
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

// notReady returns the error, with the log lines of its cause. The context of
// the run may have ended, so the logs have a short separate timeout.
func (c *Cluster) notReady(ref Ref, verdict ready.Verdict, cause error) error {
	e := &NotReadyError{Ref: ref, Verdict: verdict, Err: cause}
	if verdict.Cause == nil || verdict.Cause.Logs == nil || errors.Is(cause, context.Canceled) {
		return e
	}
	ctx, cancel := context.WithTimeout(c.cache.ctx, config.DialTimeout)
	defer cancel()
	logs := verdict.Cause.Logs
	ended := logs.Previous || c.restarted(ctx, logs)
	for _, previous := range []bool{ended, !ended} { // the log of the other run is better than none
		if lines, err := c.Logs(ctx, logs.Namespace, logs.Pod, logs.Container, previous, logLines); err == nil &&
			len(lines) > 0 {
			e.Logs = lines
			break
		}
	}
	return e
}

// restarted reports whether a container was restarted since the cause, so that
// its log is now that of the previous run.
func (c *Cluster) restarted(ctx context.Context, logs *ready.LogRef) bool {
	obj, err := c.Get(ctx, Ref{Kind: kind.Pod(), Namespace: logs.Namespace, Name: logs.Pod})
	if err != nil {
		return false
	}
	pod := &corev1.Pod{}
	return Convert(obj, pod) == nil && ready.Restarts(pod, logs.Container) > logs.Restarts
}

// firstSeen contains the last cause, and the start of its uninterrupted
// observation.
type firstSeen struct {
	cause string
	since time.Time
}

// left returns the rest of the grace period, and whether the cause is permanent
// after it.
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

// signals are channels that are closed at a change that may affect a wait.
type signals []<-chan struct{}

// signals returns the signals of the kinds. They are created before the read,
// so that no change in between is missed.
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

// watches reports whether the shared watch receives changes of ref.
func (c *Cluster) watches(ref Ref) bool {
	col := c.cache.collection(ref.Kind, ref.Namespace)
	_, known := col.get(ref.Name)
	return known
}

// refreshQuiet lists the kinds with a silent watch again, because the watch may
// be cut. Events and nodes are used only for the diagnosis.
func (c *Cluster) refreshQuiet(ctx context.Context, namespace string, kinds ...Kind) {
	for _, of := range kinds {
		if of.ClusterScoped || of.GroupKind() == kind.Event().GroupKind() {
			continue
		}
		c.cache.collection(of, namespace).refreshQuiet(ctx)
	}
}

// wait returns at a change, at the end of ctx, or after d (0: never).
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
