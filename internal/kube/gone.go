package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
