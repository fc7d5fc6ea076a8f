package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// WaitGone waits until an object, its dependents and its pods are deleted. The
// error contains the remaining blockers.
func (c *Cluster) WaitGone(ctx context.Context, ref Ref, podLabels map[string]string) error {
	var away absence
	uid := c.deletions.of(ref)
	kinds := []Kind{ref.Kind}
	if leavesPods(ref.Kind) && len(podLabels) > 0 {
		kinds = append(kinds, podsWith(podLabels))
	}
	for {
		changed := c.signals(ref.Namespace, kinds...)
		obj, err := c.readUnlessDeleted(ctx, ref, uid)
		if err == nil && obj != nil {
			uid = obj.GetUID()
		}
		gone := IsNotFound(err) || err == nil && obj == nil
		if gone {
			err = nil
		}
		var pods []*corev1.Pod
		if gone && len(kinds) > 1 {
			pods, err = c.podsLeft(ctx, ref, podLabels, uid)
		}
		switch {
		case gone && err == nil && len(pods) == 0, gone && IsNotFound(err):
			return nil
		case ctx.Err() != nil:
			return c.blocked(ref, podLabels, uid, context.Cause(ctx))
		case gone && err == nil:
			away = absence{}
			c.wait(ctx, changed, quietTime) // for the pods, which a watch reports
			c.refreshQuiet(ctx, ref.Namespace, kinds...)
			continue
		case away.passes(err, c.clock.Now()):
			c.wait(ctx, changed, getInterval)
			continue
		case err != nil:
			return err
		}
		c.wait(ctx, changed, pause(0, c.watches(ref)))
		c.refreshQuiet(ctx, ref.Namespace, kinds...)
	}
}

// deletions contains the objects whose deletion was started in this run.
type deletions struct{ uids sync.Map } // types.UID by Ref.String

func (d *deletions) note(ref Ref, uid types.UID) { d.uids.Store(ref.String(), uid) }

// of returns the UID of the object whose deletion was started, or "".
func (d *deletions) of(ref Ref) types.UID {
	uid, _ := d.uids.Load(ref.String())
	known, _ := uid.(types.UID)
	return known
}

// readUnlessDeleted is Read, but returns nil for an object with that UID that
// the watch reported as deleted.
func (c *Cluster) readUnlessDeleted(ctx context.Context, ref Ref, uid types.UID) (*unstructured.Unstructured, error) {
	if uid != "" && c.cache.collection(ref.Kind, ref.Namespace).tellsDeleted(ref.Name, uid) {
		return nil, nil
	}
	return c.Read(ctx, ref)
}

// leavesPods reports whether pods may outlive an object of this kind after a
// foreground deletion. Operators need not mark pods as blocking the owner
// deletion, unlike the controllers of Kubernetes.
func leavesPods(of Kind) bool {
	return of.RunsPods() && of.Custom()
}

// podsLeft returns the remaining pods of a deleted object: pods that are being
// deleted, or that it owned, for a tensor server through the StatefulSet of its
// operator. Other pods with the same labels are not included. Without
// permission to read pods, there are none to wait for.
func (c *Cluster) podsLeft(ctx context.Context, ref Ref, podLabels map[string]string, uid types.UID) ([]*corev1.Pod,
	error) {
	pods, err := c.podsOf(ctx, ref.Namespace, podLabels)
	if ClassOf(err) == Denied {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		owned := slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
			return owner.UID == uid || ref.Kind.RunsTensorServer() && owner.Kind == kind.StatefulSet().Kind &&
				owner.Name == ref.Name
		})
		return pod.DeletionTimestamp == nil && !owned
	}), nil
}

// stillThere returns an error with the blockers of an object whose wait has
// ended.
func (c *Cluster) stillThere(ref Ref, podLabels map[string]string, cause error) error {
	return c.blocked(ref, podLabels, "", cause)
}

// blocked is stillThere for an object that may be deleted while its pods
// remain. The last read was interrupted, so it reads again with a short
// separate timeout.
func (c *Cluster) blocked(ref Ref, podLabels map[string]string, uid types.UID, cause error) error {
	moment := config.DialTimeout
	if errors.Is(cause, context.Canceled) {
		moment = time.Second // end soon after an interrupt
	}
	ctx, cancel := context.WithTimeout(c.cache.ctx, moment)
	defer cancel()
	e := &DeletionError{Ref: ref, Err: cause}
	obj, err := c.Get(ctx, ref)
	var pods []*corev1.Pod
	var unseen error
	switch withPods := ref.Kind.RunsPods() && len(podLabels) > 0; {
	case IsNotFound(err):
		if withPods && leavesPods(ref.Kind) {
			pods, unseen = c.podsLeft(ctx, ref, podLabels, uid)
		}
		if len(pods) == 0 && unseen == nil {
			return nil
		}
	case withPods:
		pods, _ = c.podsOf(ctx, ref.Namespace, podLabels) // without permission to read them, they are not listed
	}
	if err == nil {
		e.Finalizers = slices.DeleteFunc(obj.GetFinalizers(), func(finalizer string) bool {
			return finalizer == metav1.FinalizerDeleteDependents // set by foreground deletion, which waits for the pods
		})
	}
	for _, pod := range pods {
		e.Pods = append(e.Pods, RemainingPod{Name: pod.Name, Finalizers: pod.Finalizers})
	}
	slices.SortFunc(e.Pods, func(a, b RemainingPod) int { return strings.Compare(a.Name, b.Name) })
	return e
}

// DeletionError reports the blockers of a deletion.
type DeletionError struct {
	Ref        Ref
	Finalizers []string // of the object
	Pods       []RemainingPod
	Err        error // timeout or interrupt
}

// RemainingPod is a remaining pod with its finalizers.
type RemainingPod struct {
	Name       string
	Finalizers []string
}

func (e *DeletionError) Error() string {
	return fmt.Sprintf("%s is being deleted, but %s", e.Ref, e.Blockers())
}

func (e *DeletionError) Unwrap() error { return e.Err }

// Blockers describes the blockers of the deletion: "it is held by finalizer
// a/b; its pods remain: c, d (held by finalizer e/f)".
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
		return "the garbage collector of Kubernetes has not finished"
	}
	return strings.Join(blockers, "; ")
}

func heldBy(finalizers []string) string {
	named := make([]string, len(finalizers))
	for i, finalizer := range finalizers {
		named[i] = finalizer + remover(finalizer)
	}
	if len(finalizers) == 1 {
		return "held by finalizer " + named[0]
	}
	return "held by finalizers " + strings.Join(named, ", ")
}

// remover describes which component removes a finalizer, and when. It returns
// "" if unknown.
func remover(finalizer string) string {
	who := map[string]string{
		kind.RayGroup + "/gcs-ft-redis-cleanup-finalizer": "KubeRay, when its Job has emptied Redis",
		kind.KueueGroup + "/resource-in-use":              "Kueue, when nothing uses it",
		kind.KueueGroup + "/managed":                      "Kueue, when the group of the pod has finished",
		"batch.kubernetes.io/job-tracking":                "the Job controller, when it has counted the pod",
		"kubernetes.io/pvc-protection":                    "Kubernetes, when no pod uses the claim",
	}[finalizer]
	if who == "" {
		return ""
	}
	return " (which is removed by " + who + ")"
}
