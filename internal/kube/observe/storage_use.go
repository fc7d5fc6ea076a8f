package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ktdev/terraform-provider-kt/internal/advice"
	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// stayGrace is the time that pods which are not being deleted may use a claim
// to be deleted. The same run may still delete their workload.
const stayGrace = 30 * time.Second

// WaitUnused waits until no pod uses a claim, before its deletion starts: a
// started deletion cannot be stopped, and the data is lost with the last pod.
// It returns an *InUseError if pods that are not being deleted remain, and when
// ctx ends. Without permission to read pods it does not wait: Kubernetes
// protects a claim in use.
func WaitUnused(ctx context.Context, c *kube.Cluster, claim kube.Ref) error {
	var staying time.Time // start of the time with pods that are not being deleted
	watch := &Objects{Changes: c.Store, Namespace: claim.Namespace, Of: AllOf(kind.Pod().All())}
	pods, err := Until(ctx, c.Clock(), watch, func() (Step[[]*corev1.Pod], error) {
		pods, err := podsHolding(ctx, c, claim)
		switch {
		case kube.ClassOf(err) == kube.Denied:
			return Step[[]*corev1.Pod]{Done: true}, nil
		case err != nil:
			return Step[[]*corev1.Pod]{}, err
		}
		left := stayGrace
		switch {
		case !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }):
			staying = time.Time{}
		case staying.IsZero():
			staying = c.Clock().Now()
		default:
			left -= c.Clock().Since(staying)
		}
		return Step[[]*corev1.Pod]{Value: pods, Done: len(pods) == 0 || left <= 0, Within: within(left, true)}, nil
	})
	switch {
	case len(pods) == 0, err != nil && ctx.Err() == nil:
		return err
	case err != nil:
		err = context.Cause(ctx)
	}
	return &InUseError{Claim: claim, Pods: pods, Err: err}
}

// WaitClaimGone is WaitGone for a claim. Its error contains the pods that use
// the claim.
func WaitClaimGone(ctx context.Context, c *kube.Cluster, claim kube.Ref, uid types.UID) error {
	err := WaitGone(ctx, c, claim, uid, nil)
	deletion, ok := errors.AsType[*DeletionError](err)
	if !ok || errors.Is(err, context.Canceled) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), config.DialTimeout)
	defer cancel()
	deletion.Pods, _ = podsHolding(ctx, c, claim) // without permission to read them, they are not listed
	return err
}

// podsHolding returns the pods for which Kubernetes protects a claim: all pods
// with a node, including completed ones (podUsesPVC of the
// pvc-protection-controller).
func podsHolding(ctx context.Context, c *kube.Cluster, claim kube.Ref) ([]*corev1.Pod, error) {
	pods, err := kube.ListAs[corev1.Pod](ctx, c.Store, kind.Pod().All(), claim.Namespace, nil)
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" || !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
		})
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, err
}

// InUseError reports the pods that use a claim to be deleted.
type InUseError struct {
	Claim kube.Ref
	Pods  []*corev1.Pod
	Err   error // reason for the end of the wait, nil for the end of its grace period
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use by %s", e.Claim, e.holders())
}

func (e *InUseError) Unwrap() error { return e.Err }

// Explain returns a summary and a detail with the pods and their controllers.
func (e *InUseError) Explain() (summary string, cause ready.Cause) {
	why := ""
	switch {
	case errors.Is(e.Err, context.Canceled):
		why = " The wait for them was interrupted."
	case e.Err != nil:
		why = " " + e.Err.Error()
	}
	return e.Claim.String() + " is in use", ready.Cause{
		Summary: fmt.Sprintf("It is mounted by %s. Nothing was deleted, and its data is preserved.%s", e.holders(),
			why),
		Object:  e.Claim.String(),
		Hint:    advice.Of("Stop the workloads of these pods, or delete the pods. Then %s.", advice.DeleteAgain),
		Command: ready.Kubectl(e.Claim.Namespace, "describe", "persistentvolumeclaim", e.Claim.Name),
	}
}

// holders formats the first pods with their controllers.
func (e *InUseError) holders() string {
	var names []string
	for _, pod := range e.Pods {
		name := "Pod " + pod.Name
		var notes []string
		if owner := ownerOf(pod); owner != "" {
			notes = append(notes, "of "+owner)
		}
		if ready.PodEnded(pod) {
			notes = append(notes, "completed, but not deleted")
		}
		if pod.DeletionTimestamp != nil {
			notes = append(notes, "being deleted")
		}
		if len(notes) > 0 {
			name += " (" + strings.Join(notes, ", ") + ")"
		}
		names = append(names, name)
	}
	return ready.Listed(names, 5)
}

// ownerOf returns the name of the controller of a pod, or "": for a ReplicaSet,
// its Deployment by the naming scheme.
func ownerOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return ""
	}
	if i := strings.LastIndexByte(owner.Name, '-'); owner.Kind == kind.ReplicaSet().Kind && i > 0 &&
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == owner.Name[i+1:] {
		return "Deployment " + owner.Name[:i]
	}
	return owner.Kind + " " + owner.Name
}
