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

	"github.com/ktdev/terraform-provider-kt/internal/kind"
	"github.com/ktdev/terraform-provider-kt/internal/kube/config"
	"github.com/ktdev/terraform-provider-kt/internal/kube/ready"
)

// stayGrace is how long pods that nobody has begun to delete may hold a claim
// that is to go: what runs them may be deleted by the same run.
const stayGrace = 30 * time.Second

// WaitUnused waits until no pod holds a claim, before its deletion begins: once
// it has begun nothing stops it, and with the last pod the data goes. It ends
// with an *InUseError after a while with pods that nobody deletes, and when ctx
// ends. Without the right to see pods it does not wait: Kubernetes keeps a claim
// in use by itself.
func (c *Cluster) WaitUnused(ctx context.Context, claim Ref) error {
	var (
		away    absence
		staying time.Time // since when there are pods that nobody deletes
		last    []*corev1.Pod
	)
	for {
		changed := c.signals(claim.Namespace, anyPod())
		pods, err := c.podsHolding(ctx, claim)
		switch {
		case ctx.Err() != nil && len(last) > 0:
			return &InUseError{Claim: claim, Pods: last, Err: context.Cause(ctx)}
		case ClassOf(err) == Denied:
			return nil
		case away.passes(err, c.clock.Now()):
			c.wait(ctx, changed, getInterval)
			continue
		case err != nil:
			return err
		case len(pods) == 0:
			return nil
		}
		last = pods
		left := time.Duration(0)
		if slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }) {
			if staying.IsZero() {
				staying = c.clock.Now()
			}
			if left = stayGrace - c.clock.Since(staying); left <= 0 {
				return &InUseError{Claim: claim, Pods: pods}
			}
		} else {
			staying = time.Time{}
		}
		c.wait(ctx, changed, pause(left, true))
		c.refreshQuiet(ctx, claim.Namespace, anyPod())
	}
}

// WaitClaimGone is WaitGone for a claim, whose error names the pods that hold it.
func (c *Cluster) WaitClaimGone(ctx context.Context, claim Ref) error {
	err := c.WaitGone(ctx, claim, nil)
	deletion, ok := errors.AsType[*DeletionError](err)
	if !ok || errors.Is(err, context.Canceled) {
		return err
	}
	ctx, cancel := context.WithTimeout(c.cache.ctx, config.DialTimeout)
	defer cancel()
	if pods, podsErr := c.podsHolding(ctx, claim); podsErr == nil {
		for _, pod := range pods {
			deletion.Pods = append(deletion.Pods, RemainingPod{Name: pod.Name, Finalizers: pod.Finalizers})
		}
	}
	return err
}

// anyPod is every Pod, where [Pod] is those of Kubetorch services.
func anyPod() Kind {
	k := kind.Pod()
	k.LabelSelector = ""
	return k
}

// podsHolding returns the pods for which Kubernetes keeps a claim: those that
// have been given a node, ended ones included (podUsesPVC of its
// pvc-protection-controller).
func (c *Cluster) podsHolding(ctx context.Context, claim Ref) ([]*corev1.Pod, error) {
	col := c.cache.collection(anyPod(), claim.Namespace)
	if err := col.ready(ctx); err != nil {
		return nil, err
	}
	pods, err := decodeAll[corev1.Pod](col.filter(func(*entry) bool { return true }))
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return pod.Spec.NodeName == "" || !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim.Name
		})
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, err
}

// InUseError says which pods hold a claim that was to be deleted.
type InUseError struct {
	Claim Ref
	Pods  []*corev1.Pod
	Err   error // why the wait ended, nil where only its grace period was over
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("%s is in use by %s", e.Claim, e.holders())
}

func (e *InUseError) Unwrap() error { return e.Err }

// Explain names the pods and what runs them.
func (e *InUseError) Explain() (summary, detail string) {
	why := ""
	switch {
	case errors.Is(e.Err, context.Canceled):
		why = " The wait for them was interrupted."
	case e.Err != nil:
		why = " " + e.Err.Error()
	}
	cause := ready.Cause{
		Summary: fmt.Sprintf("It is mounted by %s. Nothing was deleted: its data is still there.%s", e.holders(), why),
		Object:  e.Claim.String(),
		Hint: "Stop what runs these pods, or delete them; then destroy again. A compute that is destroyed too goes " +
			"first if it names the volume by `kt_volume.….ref`. One that stays and only gives the volume up is changed after " +
			"it: apply the compute first, with `-target`, or give the volume `lifecycle { create_before_destroy = true }` " +
			"while both are in the configuration.",
		Command: fmt.Sprintf("kubectl -n %s describe persistentvolumeclaim %s", e.Claim.Namespace, e.Claim.Name),
	}
	return e.Claim.String() + " is in use", ready.Explain(&cause, nil)
}

// holders lists pods with what runs them, the first few.
func (e *InUseError) holders() string {
	const most = 5
	var names []string
	for _, pod := range e.Pods[:min(len(e.Pods), most)] {
		name := "Pod " + pod.Name
		var notes []string
		if owner := ownerOf(pod); owner != "" {
			notes = append(notes, "of "+owner)
		}
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			notes = append(notes, "ended, but not deleted")
		}
		if pod.DeletionTimestamp != nil {
			notes = append(notes, "being deleted")
		}
		if len(notes) > 0 {
			name += " (" + strings.Join(notes, ", ") + ")"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(e.Pods) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// ownerOf names what runs a pod, "" for nothing: the Deployment of a ReplicaSet
// by the name that its controller gives.
func ownerOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return ""
	}
	if i := strings.LastIndexByte(owner.Name, '-'); owner.Kind == kind.ReplicaSet().Kind && i > 0 &&
		pod.Labels["pod-template-hash"] == owner.Name[i+1:] {
		return "Deployment " + owner.Name[:i]
	}
	return owner.Kind + " " + owner.Name
}
