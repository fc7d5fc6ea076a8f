package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// WaitReady waits until the workload is ready. It ends early with a
// *NotReadyError once a cause is seen that waiting cannot heal, and at once
// when ctx ends. podLabels select the workload's pods.
func (c *Cluster) WaitReady(ctx context.Context, ref Ref, podLabels map[string]string) error {
	var (
		seen firstSeen
		away absence
		last ready.Verdict
	)
	for {
		changed := c.signals(ref.Namespace, ref.Kind, ReplicaSet(), Pod(), Event())
		verdict, err := c.Assess(ctx, ref, podLabels)
		switch {
		case ctx.Err() != nil:
			// The look was cut short, so what was seen before says more.
			return c.notReady(ref, last, context.Cause(ctx))
		case away.passes(err, time.Now()):
			wait(ctx, changed, getInterval)
			continue
		case err != nil:
			return err
		case verdict.Ready:
			return nil
		}
		last = verdict
		left, terminal := seen.left(verdict.Cause, time.Now())
		if terminal && left <= 0 && !c.appeared(ctx, verdict.Cause.Missing) {
			return c.notReady(ref, verdict, nil)
		}
		wait(ctx, changed, pause(left, c.watches(ref)))
	}
}

// pause is how long to wait for a change before looking again, 0 for as long as
// it takes: until the rest of a grace period is over, if there is one, and not
// for long where no watch tells of changes.
func pause(left time.Duration, watched bool) time.Duration {
	left = max(left, 0)
	switch {
	case watched:
		return left
	case left == 0:
		return getInterval
	default:
		return min(left, getInterval)
	}
}

// maxAbsence is how long the API server may be away during a wait: one that is
// updated or restarted is back in less.
const maxAbsence = time.Minute

// absence remembers since when the API server cannot be reached.
type absence struct{ since time.Time }

// passes says whether err is an outage that may still pass.
func (a *absence) passes(err error, now time.Time) bool {
	if ClassOf(err) != Unreachable {
		a.since = time.Time{}
		return false
	}
	if a.since.IsZero() {
		a.since = now
	}
	return now.Sub(a.since) < maxAbsence
}

// Assess says how a workload is right now, and what blocks it.
func (c *Cluster) Assess(ctx context.Context, ref Ref, podLabels map[string]string) (ready.Verdict, error) {
	workload, err := c.Read(ctx, ref)
	if err != nil {
		return ready.Verdict{}, err
	}
	if verdict := ready.Assess(ready.Snapshot{Workload: workload}); verdict.Ready {
		return verdict, nil // what is ready needs no diagnosis
	}
	snapshot, err := c.snapshot(ctx, ref, workload, podLabels)
	if err != nil {
		return ready.Verdict{}, err
	}
	return ready.Assess(snapshot), nil
}

// snapshot gathers what a diagnosis needs. What may not be read is left out.
func (c *Cluster) snapshot(ctx context.Context, ref Ref, workload *unstructured.Unstructured, podLabels map[string]string) (ready.Snapshot, error) {
	s := ready.Snapshot{Workload: workload}
	var err error
	if s.Pods, err = c.podsOf(ctx, ref.Namespace, podLabels); err != nil && ClassOf(err) != Denied {
		return s, err
	}
	if s.ReplicaSets, err = c.replicaSetsOf(ctx, workload); err != nil && ClassOf(err) != Denied {
		return s, err
	}
	if slices.ContainsFunc(s.Pods, unscheduled) {
		s.Nodes = c.nodes(ctx)
		s.Autoscaler = c.Autoscaled(ctx)
		s.Claims = c.claimsOf(ctx, s.Pods)
	}
	if s.Events, err = c.warningsOf(ctx, ref, s); err != nil && ClassOf(err) != Denied {
		return s, err
	}
	return s, nil
}

func unscheduled(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse
	})
}

// claimsOf fetches the volume claims that the pods mount; a missing one maps to nil.
func (c *Cluster) claimsOf(ctx context.Context, pods []*corev1.Pod) map[string]*corev1.PersistentVolumeClaim {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	for _, pod := range pods {
		for _, volume := range pod.Spec.Volumes {
			if volume.PersistentVolumeClaim == nil {
				continue
			}
			name := volume.PersistentVolumeClaim.ClaimName
			if _, known := claims[name]; known {
				continue
			}
			obj, err := c.Get(ctx, Ref{Kind: PersistentVolumeClaim(), Namespace: pod.Namespace, Name: name})
			switch {
			case IsNotFound(err):
				claims[name] = nil
			case err == nil:
				claim := &corev1.PersistentVolumeClaim{}
				if convert(obj, claim) == nil {
					claims[name] = claim
				}
			}
		}
	}
	return claims
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
	_, err = conn.rest.Get().
		AbsPath("/api/v1/namespaces", missing.Namespace, strings.ToLower(missing.Kind)+"s", missing.Name).
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
	ctx, cancel := context.WithTimeout(c.cache.ctx, dialTimeout)
	defer cancel()
	logs := verdict.Cause.Logs
	for _, previous := range []bool{logs.Previous, !logs.Previous} { // the other run's log is better than none
		if lines, err := c.Logs(ctx, logs.Namespace, logs.Pod, logs.Container, previous, logLines); err == nil && len(lines) > 0 {
			e.Logs = lines
			break
		}
	}
	return e
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
// wait; those that are nil never are.
type signals [4]<-chan struct{}

// signals of the kinds, at most four. They are taken before looking, so that no
// change between is missed.
func (c *Cluster) signals(namespace string, kinds ...Kind) (changed signals) {
	for i, kind := range kinds {
		changed[i] = c.cache.collection(kind, namespace).changed()
	}
	return changed
}

// watches says whether changes of ref arrive by the shared watch.
func (c *Cluster) watches(ref Ref) bool {
	col := c.cache.collection(ref.Kind, ref.Namespace)
	_, known := col.get(ref.Name)
	return known
}

// wait returns at the first of: a change, the end of ctx, or after d (0: never).
func wait(ctx context.Context, changed signals, d time.Duration) {
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-ctx.Done():
	case <-timer:
	case <-changed[0]:
	case <-changed[1]:
	case <-changed[2]:
	case <-changed[3]:
	}
}

// WaitGone waits until an object whose deletion was started is gone, with all
// that it owned. The error names what still blocks it.
func (c *Cluster) WaitGone(ctx context.Context, ref Ref, podLabels map[string]string) error {
	var away absence
	for {
		changed := c.signals(ref.Namespace, ref.Kind)
		_, err := c.Read(ctx, ref)
		switch {
		case IsNotFound(err):
			return nil
		case ctx.Err() != nil:
			return c.stillThere(ref, podLabels, context.Cause(ctx))
		case away.passes(err, time.Now()):
			wait(ctx, changed, getInterval)
			continue
		case err != nil:
			return err
		}
		wait(ctx, changed, pause(0, c.watches(ref)))
	}
}

// stillThere says what holds an object for which there is no more time to wait.
// The look at it was cut short, so it gets another one with a moment of its own.
func (c *Cluster) stillThere(ref Ref, podLabels map[string]string, cause error) error {
	moment := dialTimeout
	if errors.Is(cause, context.Canceled) {
		moment = time.Second // who interrupts wants to see it end
	}
	ctx, cancel := context.WithTimeout(c.cache.ctx, moment)
	defer cancel()
	e := &DeletionError{Ref: ref, Err: cause}
	obj, err := c.Get(ctx, ref)
	if IsNotFound(err) {
		return nil
	}
	if err == nil {
		e.Finalizers = slices.DeleteFunc(obj.GetFinalizers(), func(finalizer string) bool {
			return finalizer == metav1.FinalizerDeleteDependents // our own way of deleting; it waits for the pods below
		})
	}
	if ref.Kind.Kind == Service().Kind || len(podLabels) == 0 {
		return e
	}
	pods, err := c.podsOf(ctx, ref.Namespace, podLabels)
	if err != nil {
		return e
	}
	for _, pod := range pods {
		e.Pods = append(e.Pods, RemainingPod{Name: pod.Name, Finalizers: pod.Finalizers})
	}
	slices.SortFunc(e.Pods, func(a, b RemainingPod) int { return strings.Compare(a.Name, b.Name) })
	return e
}

// DeletionError says what keeps a deleted object from going away.
type DeletionError struct {
	Ref        Ref
	Finalizers []string // of the object itself
	Pods       []RemainingPod
	Err        error // the time is up, or the run was interrupted
}

// RemainingPod is a pod that is still there, and what holds it, if anything does.
type RemainingPod struct {
	Name       string
	Finalizers []string
}

func (e *DeletionError) Error() string {
	return fmt.Sprintf("%s is being deleted, but %s", e.Ref, e.Blockers())
}

func (e *DeletionError) Unwrap() error { return e.Err }

// Blockers says what keeps the object: "it is held by finalizer a/b; its pods
// remain: c, d (held by finalizer e/f)".
func (e *DeletionError) Blockers() string {
	var blockers []string
	if len(e.Finalizers) > 0 {
		blockers = append(blockers, "it is "+heldBy(e.Finalizers))
	}
	if len(e.Pods) > 0 {
		pods := make([]string, len(e.Pods))
		for i, pod := range e.Pods {
			pods[i] = pod.Name
			if len(pod.Finalizers) > 0 {
				pods[i] += " (" + heldBy(pod.Finalizers) + ")"
			}
		}
		blockers = append(blockers, "its pods remain: "+strings.Join(pods, ", "))
	}
	if len(blockers) == 0 {
		return "Kubernetes' garbage collector has not finished"
	}
	return strings.Join(blockers, "; ")
}

func heldBy(finalizers []string) string {
	if len(finalizers) == 1 {
		return "held by finalizer " + finalizers[0]
	}
	return "held by finalizers " + strings.Join(finalizers, ", ")
}
