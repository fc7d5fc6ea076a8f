package observe

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
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
)

// WaitGone waits until the object with a UID, its dependents and its pods are
// deleted. Another object may have its name by then. The error contains the
// remaining blockers.
func WaitGone(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, uid types.UID, podLabels map[string]string,
) error {
	watch := &Objects{Changes: c.Store, Namespace: ref.Namespace, Of: []Interest{named(ref)}}
	withPods := leavesPods(ref.Kind) && len(podLabels) > 0
	if withPods {
		watch.Of = append(watch.Of, labelled(podLabels))
	}
	_, err := Until(ctx, c.Clock(), watch, func() (Step[any], error) {
		var live *unstructured.Unstructured
		var err error
		if !c.Store.SawDeletion(ref, uid) {
			live, err = c.Store.Get(ctx, ref)
		}
		switch {
		case err == nil && live != nil && live.GetUID() == uid:
			return Step[any]{Within: Recheck(c.Store.Watches(ref))}, nil
		case err != nil && !kube.IsNotFound(err):
			return Step[any]{}, err
		case !withPods:
			return Step[any]{Done: true}, nil
		}
		pods, err := podsLeft(ctx, c, ref, podLabels, uid)
		if kube.IsNotFound(err) {
			return Step[any]{Done: true}, nil
		}
		return Step[any]{Done: len(pods) == 0, Within: Recheck(true)}, err
	})
	return blocked(ctx, c, ref, uid, podLabels, err)
}

// WaitSecretGone waits until no Secret of that name has that UID. Secrets are in
// no shared list, so it reads the Secret periodically.
func WaitSecretGone(ctx context.Context, c *kube.Cluster, ref kube.Ref, uid types.UID) error {
	_, err := Until(ctx, c.Clock(), &Objects{}, func() (Step[any], error) {
		live, err := c.API.Get(ctx, ref)
		if kube.IsNotFound(err) || kube.ClassOf(err) == kube.Denied || err == nil && live.GetUID() != uid {
			return Step[any]{Done: true}, nil
		}
		return Step[any]{Within: getInterval}, err
	})
	return blocked(ctx, c, ref, uid, nil, err)
}

// leavesPods reports whether pods may outlive an object of this kind after a
// foreground deletion. Operators need not mark pods as blocking the owner
// deletion, unlike the controllers of Kubernetes.
func leavesPods(of kube.Kind) bool {
	return of.RunsPods() && of.Custom()
}

// podsLeft returns the remaining pods of a deleted object: pods that are being
// deleted, or that it owned, for a tensor server through the StatefulSet of its
// operator. Other pods with the same labels are not included. Without
// permission to read pods, there are none to wait for.
func podsLeft(
	ctx context.Context, c *kube.Cluster, ref kube.Ref, podLabels map[string]string, uid types.UID,
) ([]*corev1.Pod, error) {
	pods, err := podsOf(ctx, c, ref.Namespace, podLabels)
	if kube.ClassOf(err) == kube.Denied {
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

// blocked returns the result of the wait for a deletion. After a failure because
// the context has ended, it is an error with the blockers, or nil if there are
// none. The last read was interrupted, so it reads again with a short separate
// timeout.
func blocked(
	ended context.Context, c *kube.Cluster, ref kube.Ref, uid types.UID, podLabels map[string]string, failure error,
) error {
	if failure == nil || ended.Err() == nil {
		return failure
	}
	cause := context.Cause(ended)
	timeout := config.DialTimeout
	if errors.Is(cause, context.Canceled) {
		timeout = time.Second // end soon after an interrupt
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), timeout)
	defer cancel()
	e := &DeletionError{Ref: ref, Err: cause}
	obj, err := c.API.Get(ctx, ref)
	var unseen error
	switch withPods := ref.Kind.RunsPods() && len(podLabels) > 0; {
	case kube.IsNotFound(err), err == nil && obj.GetUID() != uid:
		obj = &unstructured.Unstructured{}
		if withPods && leavesPods(ref.Kind) {
			e.Pods, unseen = podsLeft(ctx, c, ref, podLabels, uid)
		}
		if len(e.Pods) == 0 && unseen == nil {
			return nil
		}
	case withPods:
		e.Pods, _ = podsOf(ctx, c, ref.Namespace, podLabels) // without permission to read them, they are not listed
	}
	if err == nil {
		e.Finalizers = slices.DeleteFunc(obj.GetFinalizers(), func(finalizer string) bool {
			return finalizer == metav1.FinalizerDeleteDependents // set by foreground deletion, which waits for the pods
		})
	}
	slices.SortFunc(e.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return e
}

// DeletionError reports the blockers of a deletion.
type DeletionError struct {
	Ref        kube.Ref
	Finalizers []string // of the object
	Pods       []*corev1.Pod
	Err        error // timeout or interrupt
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
		pods := kind.Each(e.Pods, func(pod *corev1.Pod) string {
			if len(pod.Finalizers) > 0 {
				return pod.Name + " (" + heldBy(pod.Finalizers) + ")"
			}
			return pod.Name
		})
		blockers = append(blockers, "its pods remain: "+strings.Join(pods, ", "))
	}
	if len(blockers) == 0 {
		return "the garbage collector of Kubernetes has not finished"
	}
	return strings.Join(blockers, "; ")
}

func heldBy(finalizers []string) string {
	named := kind.Each(finalizers, func(finalizer string) string { return finalizer + remover(finalizer) })
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
